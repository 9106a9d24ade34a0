/* SPDX-License-Identifier: MIT */
/* The meaning of a user's arguments. Any thread. */
#ifndef RS_HV_CLI_ARGS_H
#define RS_HV_CLI_ARGS_H

#include "base/error.h"
#include <stdint.h>

/* "512", "64K", "16M", "1G" in bytes. -EINVAL. */
int rs_cli_parse_size(const char *text, uint64_t *out, struct rs_error *err);

/* The path of the bundled demo guest; to be freed. -EIO: it is not in its place. */
int rs_cli_find_demo(char **out, struct rs_error *err);

#endif
