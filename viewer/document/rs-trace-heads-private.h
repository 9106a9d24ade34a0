/* SPDX-License-Identifier: MIT */
/*
 * The time that a timeline gives the records of each ring: that of the latest so far
 * (rs-trace-timeline.h), and how many have had it.
 */
#ifndef RS_TRACE_HEADS_PRIVATE_H
#define RS_TRACE_HEADS_PRIVATE_H

#include "rs-trace-decoder.h"

G_BEGIN_DECLS

typedef struct {
	guint64 ns;     /* of the last record */
	guint64 events; /* that have this time */
	guint64 others; /* losses and boots likewise */
} RsTraceHead;

typedef struct _RsTraceHeads RsTraceHeads;

RsTraceHeads *rs_trace_heads_new(void);
void rs_trace_heads_free(RsTraceHeads *heads);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceHeads, rs_trace_heads_free)

/* Forgets all. */
void rs_trace_heads_clear(RsTraceHeads *heads);
/* That of a ring, which is 0 at first. Valid until the next call. */
RsTraceHead *rs_trace_heads_get(RsTraceHeads *heads, guint source, guint ring);
/* Counts a record, and returns what its ring has then. */
const RsTraceHead *rs_trace_heads_take(RsTraceHeads *heads, const RsTraceRecord *record);

G_END_DECLS

#endif
