/* SPDX-License-Identifier: MIT */
/*
 * Records of several rings in the order of time, while they are being written. docs/adr/0002-ring.md says
 * why it works: what was read in one round is safe to show once every ring has been read again.
 *
 *	rs_trace_merger_begin_round()
 *	for each ring: read all, rs_trace_merger_push() each record and loss
 *	rs_trace_merger_end_round(in flight, now)     records come out here
 *
 * A ring in flight (a producer is in the middle of a record) does not count as read; it holds the
 * others back for hold_us at most. A loss comes out right before the ring's next record.
 * What is held is copied and bounded: beyond max_bytes the oldest come out early, which can cost order, never records.
 * One thread at a time.
 */
#ifndef RS_TRACE_MERGER_H
#define RS_TRACE_MERGER_H

#include "rs-trace-decoder.h"

G_BEGIN_DECLS

typedef struct _RsTraceMerger RsTraceMerger;

/* `n_rings` 1..RS_MAX_CPUS. `hold_us` 0: 1 s. `max_bytes` 0: 64 MiB. */
RsTraceMerger *rs_trace_merger_new(guint n_rings, gint64 hold_us, gsize max_bytes,
				   RsTraceRecordFunc record, gpointer data);
/* What is held is dropped: flush first. */
void rs_trace_merger_free(RsTraceMerger *merger);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceMerger, rs_trace_merger_free)

void rs_trace_merger_begin_round(RsTraceMerger *merger);
/* Copies the record and its payload. record->ring must be below n_rings. */
void rs_trace_merger_push(RsTraceMerger *merger, const RsTraceRecord *record);
/* Bit r of `in_flight`: ring r. `now_us` is a monotonic clock (g_get_monotonic_time). */
void rs_trace_merger_end_round(RsTraceMerger *merger, guint64 in_flight, gint64 now_us);
/* Lets everything out: the trace has ended. */
void rs_trace_merger_flush(RsTraceMerger *merger);
/* Bytes held now. */
gsize rs_trace_merger_held(const RsTraceMerger *merger);

G_END_DECLS

#endif
