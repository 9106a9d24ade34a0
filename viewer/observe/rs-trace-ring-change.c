/* SPDX-License-Identifier: MIT */
#include "rs-trace-ring-change.h"
#include "rs-trace-ring-info.h"
#include "rs-trace-ring-private.h"

#include <string.h>
#include <sys/mman.h>

#define ZEROED_MAX (16u << 20) /* bytes in one call, of memory that cannot be given back */

guint64 rs_trace_ring_max_bytes(const RsTraceRegion *region)
{
	return (guint64)region->header.ring_room * region->header.ring_page_size;
}

/*
 * Looks at where the ring is. FALSE: it is on its way to its other place, or no agent has told of
 * it. As long as the word says RS_WORD_CLOSED, what was offered must stay. The shape changes only
 * meanwhile. So if it is the same before and after, an open word belongs to it.
 */
static gboolean look(const RsTraceRingPlace *place, guint64 *shape, RsTraceRingPosition *at)
{
	*shape = rs_load_acquire(&place->state->shape);
	rs_trace_ring_locate(place, at);
	return *shape && rs_word_offset(at->word) != RS_WORD_CLOSED &&
	       rs_load_acquire(&place->state->shape) == *shape;
}

/*
 * Whether nobody writes into the place that the ring has left: all that was reserved there is
 * committed, and nobody can reserve more.
 */
static gboolean is_complete(const RsTraceRingPlace *place, const RsTraceRingPosition *at)
{
	const RsTraceRingSpan *old = &at->before;
	const gint64 first = MAX(old->begin, at->now.begin - (gint64)old->n_pages);

	for (gint64 seq = first; seq < at->now.begin; seq++) {
		const struct rs_ring_page *page = rs_trace_ring_page(place, at, seq);

		/* Acquire: pairs with the last producer's commit. What we do comes after it. */
		if (!page || rs_load_acquire(&page->committed) +
					     rs_load_acquire(&page->committed_remote) -
					     rs_trace_ring_lap_base(place, at, seq) !=
				     place->page_size)
			return FALSE;
	}
	return TRUE;
}

/* Whether what lies in the place that the ring has left may still be of use to a reader. */
static gboolean is_wanted(const RsTraceRegion *region, const RsTraceRingPlace *place,
			  const RsTraceRingPosition *at, gboolean needed)
{
	if (rs_trace_region_ring_mode(region) == RS_MODE_DROP &&
	    rs_load(&place->ctl->consumed) < (guint64)at->now.begin)
		return TRUE;
	return !needed && at->seq - at->now.begin + 1 < (gint64)at->now.n_pages;
}

/*
 * Makes the bytes read as zero, and gives their memory back if the system can. Returns whether it
 * could.
 */
static gboolean empty(const guint8 *at, guint64 size)
{
	void *bytes = (void *)(uintptr_t)at;

	if (!madvise(bytes, size, MADV_REMOVE))
		return TRUE;
	memset(bytes, 0, size);
	return FALSE;
}

/* False: the place that the ring has left is still needed. */
static gboolean give_back(const RsTraceRegion *region, const RsTraceRingPlace *place,
			  const RsTraceRingPosition *at, gboolean needed, RsTraceRingChange *out)
{
	const guint64 size = (guint64)at->before.n_pages * place->page_size;

	if (!at->before.n_pages)
		return TRUE;
	/* The rest waits for the next call: somebody else is waiting for the session. */
	if (out->zeroed >= ZEROED_MAX)
		return FALSE;
	if (is_wanted(region, place, at, needed) || !is_complete(place, at))
		return FALSE;
	rs_store_release(&place->ctl->gone, (guint64)at->now.begin);
	/* Whoever has copied zeroes finds that the page is gone when it looks again. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (empty(at->before.pages, size))
		out->returned += size;
	else
		out->zeroed += size;
	return TRUE;
}

static void change_ring(const RsTraceRegion *region, guint ring, guint pages, gboolean hurry,
			RsTraceRingChange *out)
{
	RsTraceRingPosition at;
	RsTraceRingPlace place;
	guint64 shape, change, offered;
	gboolean another, arrived, free;

	rs_trace_ring_place(region, ring, &place);
	arrived = look(&place, &shape, &at);
	change = rs_shape_change(shape);
	out->changes += change;
	another = pages && at.now.n_pages != pages;
	free = arrived && give_back(region, &place, &at, another && hurry, out);
	offered = rs_load(&place.ctl->shape);
	if (!another && pages) {
		out->changed++;
		return;
	}
	if (!another)
		return;
	/* What was offered stays until the ring has it: it may be about to take it. */
	if (free && rs_shape_change(offered) <= change) {
		offered = RS_SHAPE(change + 1, (guint)__builtin_ctz(pages));
		rs_store_release(&place.ctl->shape, offered);
	}
	if (rs_shape_change(offered) == change + 1 && 1u << rs_shape_log(offered) == pages)
		out->offered++;
	else
		out->held++;
}

void rs_trace_ring_change(const RsTraceRegion *region, guint pages, gboolean hurry,
			  RsTraceRingChange *out)
{
	*out = (RsTraceRingChange){0};
	if (!region->header.ring_room)
		return;
	for (guint ring = 0; ring < region->header.ring_count; ring++)
		change_ring(region, ring, pages, hurry, out);
}

guint64 rs_trace_ring_clear(const RsTraceRegion *region, guint ring)
{
	RsTraceRingPosition at;
	RsTraceRingPlace place;
	RsTraceRingInfo info;

	if (ring >= region->header.ring_count)
		return 0;
	rs_trace_ring_info(region, ring, &info);
	rs_trace_ring_place(region, ring, &place);
	rs_trace_ring_locate(&place, &at);
	if (at.seq < 0)
		return 0;
	rs_store(&place.ctl->cleared_records, rs_trace_ring_total(&place, &at));
	/* Release: who sees the position sees how many records lie before it. */
	rs_store_release(&place.ctl->cleared, (guint64)at.seq * (place.page_size / RS_RING_UNIT) +
						      at.offset / RS_RING_UNIT);
	return info.entries;
}
