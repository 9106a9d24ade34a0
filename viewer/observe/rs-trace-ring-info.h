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
	guint64 entries;   /* records that can still be read */
	guint64 overrun;   /* records overwritten */
	guint64 dropped;   /* records refused */
	guint64 bytes;     /* bytes of pages that can still be read */
	guint64 skipped;   /* pages passed over by the producer */
	guint64 too_large; /* records cut */
	guint64 oldest_ts; /* event clock of the oldest page; 0: empty */
	guint64 newest_ts; /* event clock of a record near the newest; 0: empty */
} RsTraceRingInfo;

/* All zero when the region has no such ring. */
void rs_trace_ring_info(const RsTraceRegion *region, guint ring, RsTraceRingInfo *out);

G_END_DECLS

#endif
