/* SPDX-License-Identifier: MIT */
/*
 * Where a guest's serial console goes. It is written in whole lines, so that it does not break the
 * lines of a trace on a terminal. What goes to a terminal is escaped, since the guest is not
 * trusted with it. Threads: any.
 */
#ifndef RS_HV_TARGET_SERIAL_H
#define RS_HV_TARGET_SERIAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct rs_serial;

/* `path` is made anew; NULL: a duplicate of `fd`; with `fd` -1 too: nowhere. */
int rs_serial_create(const char *path, int fd, struct rs_serial **out, struct rs_error *err);
/* May wait for who reads it, until a signal comes and *give_up is true (atomic). */
void rs_serial_put(struct rs_serial *serial, const void *bytes, size_t size, const bool *give_up);
/* Writes an unfinished line too. `wait`: else it does nothing while somebody writes. */
void rs_serial_flush(struct rs_serial *serial, bool wait, const bool *give_up);
/* NULL is accepted. */
void rs_serial_destroy(struct rs_serial *serial);

#endif
