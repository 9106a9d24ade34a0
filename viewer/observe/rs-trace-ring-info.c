/* SPDX-License-Identifier: MIT */
#include "rs-trace-ring-info.h"
#include "rs-trace-ring-private.h"

#include <string.h>

void rs_trace_ring_place(const RsTraceRegion *region, guint ring, RsTraceRingPlace *out)
{
	const struct rs_region_header *h = &region->header;

	out->state = rs_trace_region_element(region, RS_SEC_RING_STATE, ring);
	out->ctl = rs_trace_region_element(region, RS_SEC_RING_CTL, ring);
	out->pages = (const guint8 *)rs_trace_region_section(region, RS_SEC_RINGS, NULL) +
		     (guint64)ring * h->ring_pages * h->ring_page_size;
	out->page_size = h->ring_page_size;
	out->n_pages = h->ring_pages;
}

/* The number nearest to `near` whose low 18 bits are `bits`. */
static gint64 extend_page(gint64 near, guint32 bits)
{
	int32_t diff = (int32_t)((bits - (guint32)near) << (32 - RS_WORD_PAGE_BITS));

	return near + (diff >> (32 - RS_WORD_PAGE_BITS));
}

static guint64 extend_records(guint64 near, guint32 bits)
{
	return near + (guint64)(gint64)(int32_t)(bits - (guint32)near);
}

void rs_trace_ring_locate(const RsTraceRingPlace *place, RsTraceRingPosition *out)
{
	/*
	 * These words are the guest's. Sequence numbers of 2^62 and more are invalid. They are cut,
	 * so that the arithmetic below cannot overflow.
	 */
	const guint64 sane = (1ull << 62) - 1;
	guint64 pages = rs_load_acquire(&place->state->pages) & sane, before;
	int tries = 4;

	/*
	 * The word has 18 bits of the page's number, and `pages` tells the other bits. If we were
	 * stopped between the two loads, and the producer filled very many pages meanwhile, they do
	 * not belong together. Then look again.
	 */
	do {
		before = pages;
		out->word = rs_load_acquire(&place->state->word);
		pages = rs_load_acquire(&place->state->pages) & sane;
	} while (pages - before > RS_WORD_PAGE_MASK / 4 && --tries);
	out->seq = extend_page((gint64)pages - 1, rs_word_page(out->word));
	if (out->seq < -1)
		out->seq = -1;
	out->offset = MIN(rs_word_offset(out->word) * RS_RING_UNIT, place->page_size);
}

guint64 rs_trace_ring_total(const RsTraceRingPlace *place, const RsTraceRingPosition *at)
{
	return extend_records(rs_load(&place->state->records), rs_word_records(at->word));
}

gboolean rs_trace_ring_find_cleared(const RsTraceRingPlace *place, const RsTraceRingPosition *at,
				    gint64 *seq, guint *offset)
{
	const guint units = place->page_size / RS_RING_UNIT;
	const guint64 cleared = rs_load_acquire(&place->ctl->cleared);
	const guint64 end = (guint64)MAX(at->seq, 0) * units + at->offset / RS_RING_UNIT;

	if (!cleared || at->seq < 0 || cleared > end)
		return FALSE;
	*seq = (gint64)(cleared / units);
	*offset = (guint)(cleared % units) * RS_RING_UNIT;
	return TRUE;
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

/* What was passed over is no longer there for who begins. */
static void leave_out_cleared(const RsTraceRingPlace *place, const RsTraceRingPosition *at,
			      gint64 first, RsTraceRingInfo *out)
{
	const struct rs_ring_page *page;
	guint64 before;
	guint offset;
	gint64 seq;

	if (!rs_trace_ring_find_cleared(place, at, &seq, &offset) || seq < first)
		return;
	before = MIN(rs_load(&place->ctl->cleared_records), out->records);
	out->entries = MIN(out->entries, out->records - before);
	out->bytes = (guint64)(at->seq - seq) * place->page_size + at->offset - offset;
	page = rs_trace_ring_page(place, seq);
	if (!out->entries)
		out->oldest_ts = 0;
	else if ((gint64)rs_load(&page->seq) == seq)
		out->oldest_ts = rs_load(&page->ts);
}

void rs_trace_ring_info(const RsTraceRegion *region, guint ring, RsTraceRingInfo *out)
{
	const struct rs_region_header *h = &region->header;
	const struct rs_ring_page *oldest;
	RsTraceRingPosition at;
	RsTraceRingPlace place;
	gboolean drop;
	gint64 first;

	memset(out, 0, sizeof(*out));
	if (ring >= h->ring_count)
		return;
	rs_trace_ring_place(region, ring, &place);
	drop = rs_trace_region_ring_mode(region) == RS_MODE_DROP;
	rs_trace_ring_locate(&place, &at);
	out->dropped = rs_load(&place.state->dropped);
	out->skipped = rs_load(&place.state->skipped);
	out->too_large = rs_load(&place.state->too_large);
	if (at.seq < 0)
		return;
	out->records = rs_trace_ring_total(&place, &at);
	out->newest_ts = rs_load(&place.state->last_ts);
	first = MAX(at.seq - place.n_pages + 1, 0);
	if (drop)
		first = MAX(first, (gint64)MIN(rs_load(&place.ctl->consumed), (guint64)at.seq));
	out->bytes = (guint64)(at.seq - first) * place.page_size + at.offset;
	out->entries = out->records;
	for (gint64 seq = first; seq <= at.seq && seq < first + RS_TRACE_SKIP_LOOKAHEAD; seq++) {
		guint64 before;

		oldest = rs_trace_ring_page(&place, seq);
		if ((gint64)rs_load(&oldest->seq) != seq)
			continue; /* the page was skipped, or is just being begun */
		before = MIN(rs_load(&oldest->records), out->records);
		out->entries = out->records - before;
		out->oldest_ts = rs_load(&oldest->ts);
		if (!drop)
			out->overrun = before;
		break;
	}
	leave_out_cleared(&place, &at, first, out);
}
