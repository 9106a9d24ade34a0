/* SPDX-License-Identifier: MIT */
/*
 * A thread that loses something when it waits for a core, as one that empties rings which refuse
 * records while they are full. Called on that thread; no header of the library.
 */
#ifndef RS_TRACE_URGENT_H
#define RS_TRACE_URGENT_H

#include <glib.h>

G_BEGIN_DECLS

/* What the thread was allowed. */
typedef enum {
	RS_TRACE_URGENT_NOT,
	RS_TRACE_URGENT_NICE, /* a better nice value, within RLIMIT_NICE */
	RS_TRACE_URGENT_REAL, /* it runs before all threads that are not of real time */
} RsTraceUrgent;

/*
 * Asks for the most that is allowed. Threads that it starts later are not urgent. A thread of real
 * time that never sleeps would leave nothing of its core to others: see rs_trace_urgent_rest().
 */
RsTraceUrgent rs_trace_urgent_ask(void);
/*
 * Called before a thread goes on. *since is when it slept last, in monotonic us; 0: it has just
 * slept. Sleeps for a tenth of the time, so that others have the core for that.
 */
void rs_trace_urgent_rest(gint64 *since);

G_END_DECLS

#endif
