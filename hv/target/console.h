/* SPDX-License-Identifier: MIT */
/*
 * Where a guest's serial console goes. A thread of the console's own writes it, since it may be
 * that nobody reads there. Then the guest has to wait, and nobody else: what is not written yet is
 * bounded. It is written in whole lines, so that it does not break the lines of a trace on a
 * terminal. What goes to a terminal is escaped, since the guest is not trusted with it.
 *
 * Threads: put: any; the others: the target's.
 */
#ifndef RS_HV_TARGET_CONSOLE_H
#define RS_HV_TARGET_CONSOLE_H

#include "base/error.h"
#include "target/target.h"

#include <stdbool.h>
#include <stddef.h>

struct rs_console;

/* Writes to a duplicate of `fd`. */
int rs_console_create(int fd, struct rs_console **out, struct rs_error *err);

/* The end of a socket at which the guest's device writes. It stays the console's. */
int rs_console_guest_end(const struct rs_console *console);
/*
 * Writes there. Waits for the console's reader until a signal comes and *give_up is true (atomic).
 * NULL is accepted.
 */
void rs_console_put(struct rs_console *console, const void *bytes, size_t size,
		    const bool *give_up);

/*
 * The guest has ended. `done` is called on the context once all is written, or after 300 ms: if
 * somebody reads at all, the guest's last words come before its end. The rest is written for as
 * long as the console exists. Once only. NULL is accepted, and has nothing to write.
 */
void rs_console_finish(struct rs_console *console, GMainContext *context, void (*done)(void *data),
		       void *data);

/* Fills in what the console counts. NULL is accepted. */
void rs_console_stats(struct rs_console *console, struct rs_target_stats *out);

/*
 * `done` is not called from now on. What is not written is lost. If `done` was not called before,
 * this waits for up to 300 ms until it is written. NULL is accepted.
 */
void rs_console_free(struct rs_console *console);

#endif
