/* SPDX-License-Identifier: MIT */
/*
 * How much a ring holds, as its producer says. For `stat`: the records themselves are not read.
 *
 * Any thread. Trust: the figures are the guest's. Each word is read once and bounded by what is
 * possible.
 */
#ifndef RS_TRACE_RING_INFO_H
#define RS_TRACE_RING_INFO_H

#include "rs-trace-region.h"

G_BEGIN_DECLS

typedef struct {
	guint64 records;   /* ever reserved */
	guint64 entries;   /* records that a reader who begins now gets */
	guint64 overrun;   /* records overwritten */
	guint64 dropped;   /* records refused */
	guint64 bytes;     /* of pages, for these */
	guint64 skipped;   /* pages passed over by the producer */
	guint64 too_large; /* records cut */
	guint64 oldest_ts; /* event clock of the oldest page; 0: empty */
	guint64 newest_ts; /* event clock of a record near the newest; 0: empty */
	guint pages;       /* that the ring has now */
} RsTraceRingInfo;

/* All zero when the region has no such ring. */
void rs_trace_ring_info(const RsTraceRegion *region, guint ring, RsTraceRingInfo *out);

/* The pages that a ring of the region may hold at once, also while their number changes. */
guint rs_trace_ring_most_pages(const RsTraceRegion *region);

G_END_DECLS

#endif
