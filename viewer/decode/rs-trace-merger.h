/* SPDX-License-Identifier: MIT */
/*
 * Puts the records of several rings in the order of time, while they are being written. Each ring
 * is a lane here. Several sources may share a merger: each has its own lanes. docs/adr/0002-ring.md
 * says why it works: records read in one round may be shown once every ring has been read again.
 *
 * Times are hostile. A lane with wrong times, early or late, does not change the order of others.
 *
 * 	rs_trace_merger_begin_round()
 * 	for each ring: read all, rs_trace_merger_push() each record and loss,
 * 	               rs_trace_merger_in_flight() if it was not read to its end
 * 	rs_trace_merger_end_round(now)               records come out here
 *
 * A ring is in flight while a producer is in the middle of a record. It holds back the records of
 * other rings for hold_us at most. A loss comes out right before the next record of its ring.
 *
 * Records are copied into chunks that are used again. Their memory is bounded: beyond max_bytes the
 * oldest records come out early. This can cost order, but no record is lost. One thread at a time.
 */
#ifndef RS_TRACE_MERGER_H
#define RS_TRACE_MERGER_H

#include "rs-trace-decoder.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

typedef struct _RsTraceMerger RsTraceMerger;

/* It has no lanes yet. `hold_us` 0: 1 s. `max_bytes` 0: 64 MiB. */
RsTraceMerger *rs_trace_merger_new(gint64 hold_us, gsize max_bytes, RsTraceRecordFunc record,
				   gpointer data);
/* Drops the records that the merger holds: flush first. */
void rs_trace_merger_free(RsTraceMerger *merger);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceMerger, rs_trace_merger_free)

/* Makes `n` more lanes, one after the other, between rounds; returns the first. */
guint rs_trace_merger_add_lanes(RsTraceMerger *merger, guint n);
/* Gives lanes back, between rounds. Records that they hold still come out in the order of time. */
void rs_trace_merger_remove_lanes(RsTraceMerger *merger, guint first, guint n);
/* Whether one of these lanes holds a record. */
gboolean rs_trace_merger_lanes_held(const RsTraceMerger *merger, guint first, guint n);

void rs_trace_merger_begin_round(RsTraceMerger *merger);
/* Copies the record and its payload. */
void rs_trace_merger_push(RsTraceMerger *merger, guint lane, const RsTraceRecord *record);
/* This lane's ring was not read to its end in this round. */
void rs_trace_merger_in_flight(RsTraceMerger *merger, guint lane);
/* `now_us` is a monotonic clock (g_get_monotonic_time). */
void rs_trace_merger_end_round(RsTraceMerger *merger, gint64 now_us);
/* Lets everything out: the trace has ended. */
void rs_trace_merger_flush(RsTraceMerger *merger);
/* Bytes of records held now. */
gsize rs_trace_merger_held(const RsTraceMerger *merger);

#pragma GCC visibility pop
G_END_DECLS

#endif
