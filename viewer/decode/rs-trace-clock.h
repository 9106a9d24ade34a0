/* SPDX-License-Identifier: MIT */
/*
 * Event clock ticks to nanoseconds, by the epochs of struct rs_control. Where an epoch is missing
 * or makes no sense, a plain rate stands in; with none, a tick is a nanosecond.
 *
 * The numbers may come from a trace file or from pages that a guest could write: any value is
 * survived. One thread at a time.
 */
#ifndef RS_TRACE_CLOCK_H
#define RS_TRACE_CLOCK_H

#include <glib.h>
#include <ringside/control.h>

G_BEGIN_DECLS

typedef struct {
	guint n_epochs; /* epochs ever begun */
	struct rs_clock_epoch epochs[RS_CLOCK_EPOCHS];
	guint64 hz; /* fallback; 0: unknown */
} RsTraceClock;

void rs_trace_clock_init(RsTraceClock *clock, guint64 hz);
/* Takes over the epochs of a private copy of the control page; again whenever they may have grown. */
void rs_trace_clock_set_epochs(RsTraceClock *clock, const struct rs_control *control);
/* `epoch` as a page names it. Saturates at both ends of 64 bits. */
guint64 rs_trace_clock_ns(const RsTraceClock *clock, guint epoch, guint64 ticks);

G_END_DECLS

#endif
