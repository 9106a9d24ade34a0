/* SPDX-License-Identifier: MIT */
/*
 * A thread that loses something when it waits for a core, as one that empties rings which refuse
 * records while they are full. Called on that thread; no header of the library.
 */
#ifndef RS_TRACE_URGENT_H
#define RS_TRACE_URGENT_H

#include <glib.h>

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

typedef enum {
	RS_TRACE_URGENT_NOT,
	RS_TRACE_URGENT_NICE, /* a nice value that gives it three times the share that it had */
	RS_TRACE_URGENT_REAL, /* it runs before all threads that are not of real time */
} RsTraceUrgent;

/*
 * Asks for `most`, or for what comes next to it, and returns what was allowed. Threads that it
 * starts later are not of real time. One that is of real time stays as it is.
 *
 * A thread of real time that never sleeps would leave nothing of its core to others, so it calls
 * rs_trace_urgent_rest(). It is not for work that takes more than a core has, such as compressing.
 */
RsTraceUrgent rs_trace_urgent_ask(RsTraceUrgent most);
/*
 * Called before a thread goes on. *since is when it slept last, in monotonic us; 0: it has just
 * slept. Sleeps for a tenth of the time, in parts of a ms at least.
 */
void rs_trace_urgent_rest(gint64 *since);

#pragma GCC visibility pop
G_END_DECLS

#endif
