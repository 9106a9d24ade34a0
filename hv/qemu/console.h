/* SPDX-License-Identifier: MIT */
/*
 * A way for QEMU's serial console through our process. QEMU itself opens its console anew, and
 * writes to it what the guest says. That is not good for a terminal, which would obey the guest's
 * escapes, nor possible for a file that only its owner may open.
 *
 * Threads: a thread of the console's own writes; the functions are called on the target's thread.
 */
#ifndef RS_HV_QEMU_CONSOLE_H
#define RS_HV_QEMU_CONSOLE_H

#include "base/error.h"

#include <stdbool.h>

struct rs_qemu_console;

/* Whether QEMU must not have `fd` itself. */
bool rs_qemu_console_is_due(int fd);
/* What is written to the socket *guest, which the caller closes, goes to `fd`, which is copied. */
int rs_qemu_console_create(int fd, int *guest, struct rs_qemu_console **out, struct rs_error *err);
/*
 * After QEMU's end: waits until all is written, for half a second at most. It may be that nobody
 * reads a pipe or terminal. NULL is accepted.
 */
void rs_qemu_console_finish(struct rs_qemu_console *console);
/* Finishes if need be. NULL is accepted. */
void rs_qemu_console_free(struct rs_qemu_console *console);

#endif
