/* SPDX-License-Identifier: MIT */
#include "rs-trace-ring-info.h"
#include "rs-trace-ring-private.h"

#include <string.h>

void rs_trace_ring_place(const RsTraceRegion *region, guint ring, RsTraceRingPlace *out)
{
	const struct rs_region_header *h = &region->header;

	out->state = rs_trace_region_element(region, RS_SEC_RING_STATE, ring);
	out->ctl = rs_trace_region_element(region, RS_SEC_RING_CTL, ring);
	out->first = out->later = rs_trace_region_section(region, RS_SEC_RINGS, NULL);
	out->first += rs_region_place_offset(h, ring, 0);
	out->later += rs_region_place_offset(h, ring, 2);
	out->page_size = h->ring_page_size;
	out->first_pages = h->ring_pages;
	out->room = h->ring_room;
}

guint rs_trace_ring_most_pages(const RsTraceRegion *region)
{
	const struct rs_region_header *h = &region->header;

	return h->ring_room ? 2 * h->ring_room : h->ring_pages;
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

/*
 * The place to which a change led, of which the guest has told what it holds. FALSE: that is
 * impossible.
 */
static gboolean take_span(const RsTraceRingPlace *place, guint64 change, guint64 told,
			  RsTraceRingSpan *out)
{
	const guint log = rs_shape_log(told);

	if (1u << log < RS_RING_PAGES_MIN ||
	    1u << log > (change ? place->room : place->first_pages))
		return FALSE;
	*out = (RsTraceRingSpan){
		.pages = change ? place->later + (change & 1) * place->room * place->page_size
				: place->first,
		.n_pages = 1u << log,
		.begin = (gint64)rs_place_begin(told),
	};
	return TRUE;
}

/* Where the ring is and was. These words are the guest's, too, but for `gone`. */
static void find_spans(const RsTraceRingPlace *place, RsTraceRingPosition *out)
{
	/* Read after the word: what the word names was told before. */
	const guint64 shape = rs_load_acquire(&place->state->shape);
	const guint64 change = rs_shape_change(shape);
	const guint64 now = rs_load(&place->state->place[change & 1]);
	const guint64 before = rs_load(&place->state->place[(change & 1) ^ 1]);
	RsTraceRingSpan *old = &out->before;

	*old = (RsTraceRingSpan){0};
	/* An agent that knows nothing of shapes, or one that lies. */
	if (!place->room || !take_span(place, change, now, &out->now))
		out->now = (RsTraceRingSpan){.pages = place->first, .n_pages = place->first_pages};
	out->now.oldest = MAX(out->now.begin, out->seq - (gint64)out->now.n_pages + 1);
	if (!out->now.begin || !change || !take_span(place, change - 1, before, old))
		return;
	old->oldest = MAX(old->begin, out->now.begin - (gint64)old->n_pages);
	old->oldest = MAX(old->oldest,
			  (gint64)MIN(rs_load_acquire(&place->ctl->gone), (guint64)G_MAXINT64));
	if (old->oldest >= out->now.begin)
		old->n_pages = 0;
}

gint64 rs_trace_ring_first_there(const RsTraceRingPosition *at, gint64 seq)
{
	if (at->before.n_pages && seq < at->now.begin)
		return MAX(seq, at->before.oldest);
	return MAX(seq, at->now.oldest);
}

static const RsTraceRingSpan *span_of(const RsTraceRingPosition *at, gint64 seq)
{
	return seq < at->now.begin ? &at->before : &at->now;
}

const struct rs_ring_page *rs_trace_ring_page(const RsTraceRingPlace *place,
					      const RsTraceRingPosition *at, gint64 seq)
{
	const RsTraceRingSpan *span = span_of(at, seq);

	if (!span->n_pages || seq < span->oldest)
		return NULL;
	return (const void *)(span->pages +
			      (guint64)(seq & (span->n_pages - 1)) * place->page_size);
}

guint32 rs_trace_ring_lap_base(const RsTraceRingPlace *place, const RsTraceRingPosition *at,
			       gint64 seq)
{
	const RsTraceRingSpan *span = span_of(at, seq);

	return span->n_pages
		       ? (guint32)((guint64)(seq - span->begin) / span->n_pages * place->page_size)
		       : 0;
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
	find_spans(place, out);
}

/* Bytes of the pages from `first` on that are there. */
static guint64 count_bytes(const RsTraceRingPlace *place, const RsTraceRingPosition *at,
			   gint64 first)
{
	guint64 pages = (guint64)(at->seq - MAX(first, at->now.oldest));

	if (at->seq < at->now.oldest)
		pages = (guint64)(at->seq - first);
	else if (first < at->now.begin)
		pages += (guint64)(at->now.begin - first);
	return pages * place->page_size + at->offset;
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
	out->bytes = count_bytes(place, at, seq) - offset;
	page = rs_trace_ring_page(place, at, seq);
	if (!out->entries)
		out->oldest_ts = 0;
	else if (page && (gint64)rs_load(&page->seq) == seq)
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
	out->pages = at.now.n_pages;
	if (at.seq < 0)
		return;
	out->records = rs_trace_ring_total(&place, &at);
	out->newest_ts = rs_load(&place.state->last_ts);
	first = rs_trace_ring_first_there(&at, 0);
	if (drop)
		first = MAX(first, (gint64)MIN(rs_load(&place.ctl->consumed), (guint64)at.seq));
	out->bytes = count_bytes(&place, &at, first);
	out->entries = out->records;
	for (gint64 seq = first; seq <= at.seq && seq < first + RS_TRACE_SKIP_LOOKAHEAD; seq++) {
		guint64 before;

		oldest = rs_trace_ring_page(&place, &at, seq);
		if (!oldest || (gint64)rs_load(&oldest->seq) != seq)
			continue; /* it was skipped or overwritten, or is just being begun */
		before = MIN(rs_load(&oldest->records), out->records);
		out->entries = out->records - before;
		out->oldest_ts = rs_load(&oldest->ts);
		if (!drop)
			out->overrun = before;
		break;
	}
	leave_out_cleared(&place, &at, first, out);
}
