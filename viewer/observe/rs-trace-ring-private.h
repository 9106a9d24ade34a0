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
	const guint8 *pages;               /* guest memory */
	guint page_size, n_pages;
} RsTraceRingPlace;

/* A consistent look at where the producer is. */
typedef struct {
	guint64 word;
	gint64 seq;   /* full number of the current page, -1 before the first */
	guint offset; /* bytes in it */
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
/* Records ever reserved. */
guint64 rs_trace_ring_total(const RsTraceRingPlace *place, const RsTraceRingPosition *at);

#pragma GCC visibility pop

static inline const struct rs_ring_page *rs_trace_ring_page(const RsTraceRingPlace *place,
							    gint64 seq)
{
	return (const void *)(place->pages +
			      (guint64)(seq & (place->n_pages - 1)) * place->page_size);
}

#endif
