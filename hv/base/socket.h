/* SPDX-License-Identifier: MIT */
/*
 * Unix sockets by their path, which must fit into an address (-ENAMETOOLONG). The descriptors are
 * closed at exec. Any thread.
 */
#ifndef RS_HV_BASE_SOCKET_H
#define RS_HV_BASE_SOCKET_H

#include "base/error.h"

#include <stdbool.h>

/*
 * Listens in place of what is at the path. `waiting`: peers that may wait to be accepted.
 * `is_blocking`: so is the descriptor. A descriptor, or -errno.
 */
int rs_socket_listen(const char *path, int waiting, bool is_blocking, struct rs_error *err);

/*
 * A connection, which is not blocking, or -errno. Does not wait: -ETIMEDOUT: somebody listens and
 * does not accept; -ENOENT, -ECONNREFUSED: nobody listens.
 */
int rs_socket_connect(const char *path, struct rs_error *err);

#endif
