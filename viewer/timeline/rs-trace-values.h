/* SPDX-License-Identifier: MIT */
/*
 * Values of a counter by time. They say the least and the most of any stretch without a look at
 * each one. A value holds until the next one, of whichever ring. Rings may be ahead of each other.
 *
 * A whole number takes as many bits as the numbers around it differ by, and so does its time: some
 * three to six bytes together. All values of the process have RS_TRACE_VALUES_MAX together: what
 * comes after that is counted, and not kept. So is what comes after the 256th of values that fall
 * back in time ever farther.
 *
 * Threads: one thread appends. Any other looks between rs_trace_values_lock() and
 * rs_trace_values_unlock(); functions that take const values want that. Trust: values and times may
 * be anything; NaN counts as 0. A time of a ring that goes back counts as the last one. Of values
 * of one time that which was appended last holds.
 *
 * To look at n columns takes some n steps if values were appended in the order of time, however
 * many rings they are of, and up to 256 times as many if they were not.
 */
#ifndef RS_TRACE_VALUES_H
#define RS_TRACE_VALUES_H

#include <glib.h>

G_BEGIN_DECLS

#define RS_TRACE_VALUES_MAX ((gsize)1536 << 20) /* bytes */

typedef struct _RsTraceValues RsTraceValues;

typedef struct {
	gboolean has;       /* there is a value by then */
	double least, most; /* that it had in the column, with the one that held at its begin */
	double last;        /* that it has at the end */
} RsTraceValueColumn;

RsTraceValues *rs_trace_values_new(void);
/* These get nothing more when all values of the process have so many bytes. */
RsTraceValues *rs_trace_values_new_within(gsize most);
RsTraceValues *rs_trace_values_ref(RsTraceValues *values);
/* Any thread. NULL is accepted. */
void rs_trace_values_unref(RsTraceValues *values);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceValues, rs_trace_values_unref)

/* ---- the appending thread ---- */

/* It may be seen only after rs_trace_values_flush(), which this calls from time to time. */
void rs_trace_values_append(RsTraceValues *values, guint source, guint ring, guint64 ns,
			    double value);
void rs_trace_values_flush(RsTraceValues *values);

/* ---- all threads ---- */

void rs_trace_values_lock(const RsTraceValues *values);
void rs_trace_values_unlock(const RsTraceValues *values);

/* How many are kept, how many there was no room for, and bytes of memory, about. */
guint64 rs_trace_values_count(const RsTraceValues *values);
guint64 rs_trace_values_missing(const RsTraceValues *values);
gsize rs_trace_values_size(const RsTraceValues *values);
/* The latest one before `ns`, of all rings. FALSE: there is none. `when` may be NULL. */
gboolean rs_trace_values_held(const RsTraceValues *values, guint64 ns, double *value,
			      guint64 *when);
/* Fills out[0..n-1]: of each stretch [edges[i], edges[i+1]). Edges do not go back. */
void rs_trace_values_columns(const RsTraceValues *values, const guint64 *edges, guint n,
			     RsTraceValueColumn *out);

G_END_DECLS

#endif
