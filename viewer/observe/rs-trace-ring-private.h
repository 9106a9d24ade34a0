/* SPDX-License-Identifier: MIT */
/*
 * Where a ring lies in its region, and where its producer writes. For rs-trace-ring.c and
 * rs-trace-ring-info.c. Each word of the guest is read once.
 */
#ifndef RS_TRACE_RING_PRIVATE_H
#define RS_TRACE_RING_PRIVATE_H

#include "rs-trace-region.h"

#include <ringside/atomic.h>

/*
 * A page header says how many pages before it were skipped. A reader looks for one in at most this
 * many pages.
 */
#define RS_TRACE_SKIP_LOOKAHEAD 64

typedef struct {
	const struct rs_ring_state *state; /* guest memory */
	struct rs_ring_ctl *ctl;           /* the host's, in the region */
	const guint8 *first;               /* guest memory: the pages that it has at first */
	const guint8 *later;               /* likewise: its two places of later changes */
	guint page_size;
	guint first_pages; /* that the ring has at first */
	guint room;        /* pages of each of the later places; 0: there are none */
} RsTraceRingPlace;

/* Pages from number `begin` on lie in one place, which has room for n_pages, a power of two. */
typedef struct {
	const guint8 *pages; /* guest memory */
	guint n_pages;
	gint64 begin;
	gint64 oldest; /* the first one that may still be there */
} RsTraceRingSpan;

/* A consistent look at where the producer is. */
typedef struct {
	guint64 word;
	gint64 seq;   /* full number of the current page, -1 before the first */
	guint offset; /* bytes in it */
	RsTraceRingSpan now;
	RsTraceRingSpan before; /* the pages before now.begin; n_pages 0: none is there any more */
} RsTraceRingPosition;

#pragma GCC visibility push(hidden) /* not for outsiders */

/* `ring` is below the region's ring_count. */
void rs_trace_ring_place(const RsTraceRegion *region, guint ring, RsTraceRingPlace *out);
void rs_trace_ring_locate(const RsTraceRingPlace *place, RsTraceRingPosition *out);
/*
 * Whether the session has passed over what lies before page *seq, byte *offset, of which a reader
 * that begins shows nothing. `at`: where the producer is. A ring that went back has no such place.
 */
gboolean rs_trace_ring_find_cleared(const RsTraceRingPlace *place, const RsTraceRingPosition *at,
				    gint64 *seq, guint *offset);
/* The first page from `seq` on that may still be there, or may come. */
gint64 rs_trace_ring_first_there(const RsTraceRingPosition *at, gint64 seq);
/* Where page `seq` lies. NULL: it has been overwritten, or its place was given back. */
const struct rs_ring_page *rs_trace_ring_page(const RsTraceRingPlace *place,
					      const RsTraceRingPosition *at, gint64 seq);
/* The value of its `committed` at the start of its lap. */
guint32 rs_trace_ring_lap_base(const RsTraceRingPlace *place, const RsTraceRingPosition *at,
			       gint64 seq);
/* Records ever reserved. */
guint64 rs_trace_ring_total(const RsTraceRingPlace *place, const RsTraceRingPosition *at);

#pragma GCC visibility pop

#endif
