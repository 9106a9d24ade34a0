/* SPDX-License-Identifier: MIT */
#include "rs-trace-ring.h"
#include "rs-trace-page.h"
#include "rs-trace-ring-info.h"
#include "rs-trace-ring-private.h"

#include <string.h>

#define PATIENCE_NS 1000000000ull

struct _RsTraceRing {
	const RsTraceRegion *region;
	RsTraceRingPlace place;
	guint ring;
	gboolean consumer;
	RsTraceConsumers *consumers; /* NULL: we are the only one */
	guint reader;
	gboolean whole;
	guint64 patience_ns;

	/* Cursor: the page that is being read, and the place in it. */
	gint64 seq;
	guint32 offset; /* in bytes; 0: the page's header has not been read */
	/* What the counters were before `last`, or at the cursor if there is no such page. */
	guint64 records, dropped;
	gboolean counted; /* the two above are known; FALSE at first, unless from record 0 */

	gint64 stuck_seq; /* page that waits for a producer, and since when */
	guint64 stuck_since;

	RsTraceRingStats stats;
	guint64 handed; /* records in pages before `last` that were handed out */
	/*
	 * A copy of the page that was handed out last. Its records are counted only if records
	 * after it are lost. So the next page is copied to another place.
	 */
	guint8 *last; /* page_size bytes, 8-byte aligned */
	guint64 last_seq;
	guint last_from; /* bytes: where what was handed out of it begins */
	guint last_to;   /* bytes; 0: there is none */
	guint8 *spare;   /* for the next page */
};

/*
 * Copies [from, to) of a page word by word: the producer may be writing here. Then the copy is
 * useless, which the caller notices, but this is no data race.
 */
static void copy_words(guint8 *out, const guint8 *page, guint32 from, guint32 to)
{
	const guint64 *in = (const void *)page;
	guint64 *words = (void *)out;

	for (guint32 i = from / 8; i < to / 8; i++)
		words[i] = rs_load(&in[i]);
}

static void begin_at(RsTraceRing *r, gint64 seq)
{
	r->seq = MAX(seq, 0);
	r->offset = 0;
}

/*
 * Pairs with the producer's acquire in its switch: our copies were made before this. In mode
 * overwrite nobody looks at it, but the mode may change at any time.
 */
static void publish(RsTraceRing *r)
{
	if (r->consumer && r->consumers)
		rs_trace_consumers_publish(r->consumers, r->reader, r->ring, (guint64)r->seq);
	else if (r->consumer)
		rs_store_release(&r->place.ctl->consumed, (guint64)r->seq);
}

static void next_page(RsTraceRing *r)
{
	begin_at(r, r->seq + 1);
	publish(r);
}

/* The ring went back: begins anew at the oldest page that can be there. */
static void resync(RsTraceRing *r, const RsTraceRingPosition *at)
{
	r->stats.resyncs++;
	begin_at(r, rs_trace_ring_first_there(at, 0));
	r->counted = FALSE;
	publish(r);
}

/* Whether a later page says that the producer skipped page `seq`. */
static gboolean was_skipped(const RsTraceRing *r, gint64 seq, const RsTraceRingPosition *at)
{
	for (gint64 k = 1; k <= RS_TRACE_SKIP_LOOKAHEAD && seq + k <= at->seq; k++) {
		const struct rs_ring_page *p = rs_trace_ring_page(&r->place, at, seq + k);

		if (p && (gint64)rs_load(&p->seq) == seq + k)
			return rs_load(&p->skipped) >= k;
	}
	return FALSE;
}

/* Records in the page that was handed out last. Called only if they matter. */
static guint count_last(const RsTraceRing *r, gboolean *bad)
{
	return r->last_to
		       ? rs_trace_page_count(r->last, rs_trace_page_first(r->last), r->last_to, bad)
		       : 0;
}

/*
 * Whether the cursor is at the page right after the last one, and the header of that page says what
 * the last one held. The page must have been read to its end. If it is invalid from some place on,
 * the decoder finds that place, and says what was lost behind it.
 */
static gboolean is_next(const RsTraceRing *r, gboolean bad)
{
	return r->last_to && (guint64)r->seq == r->last_seq + 1 &&
	       (r->last_to == r->place.page_size || bad);
}

guint64 rs_trace_ring_records(const RsTraceRing *r)
{
	guint last = r->last_to ? rs_trace_page_count(r->last, r->last_from, r->last_to, NULL) : 0;

	return r->handed + last;
}

/*
 * The cursor has reached another page. Counts what was handed out of the last one: by this page's
 * header if that says it, so that nobody needs to look into pages.
 */
static void count_handed(RsTraceRing *r, const struct rs_ring_page *h)
{
	const guint most = r->place.page_size / RS_RING_UNIT;

	if (is_next(r, FALSE) && r->last_from == rs_trace_page_first(r->last) && r->counted)
		r->handed += MIN(MAX(h->records, r->records) - r->records, most);
	else
		r->handed = rs_trace_ring_records(r);
}

/*
 * Uses the header of a page that the cursor has reached. Returns how many records were lost before
 * it.
 */
static guint64 begin_page(RsTraceRing *r, const struct rs_ring_page *h)
{
	gboolean bad = FALSE;
	guint64 lost = 0;

	if (!is_next(r, bad))
		r->records += count_last(r, &bad);
	if (is_next(r, bad))
		r->records = h->records;
	if (r->counted) {
		/* A counter that went back is a lie or a reboot. Then the loss is unknown. */
		lost = MAX(h->records, r->records) - r->records;
		lost += MAX(h->dropped, r->dropped) - r->dropped;
	}
	r->records = h->records;
	r->dropped = h->dropped;
	r->counted = TRUE;
	r->stats.lost += lost;
	return lost;
}

/* Makes the page in `spare` the last one, and hands it out from its first record on. */
static void hand_out_new(RsTraceRing *r, guint to, RsTraceChunk *out)
{
	guint8 *page = r->spare;

	count_handed(r, (const struct rs_ring_page *)page);
	out->lost = begin_page(r, (const struct rs_ring_page *)page);
	out->records = r->handed;
	out->from = r->last_from = MIN(rs_trace_page_first(page), to);
	r->spare = r->last;
	r->last = page;
	r->last_seq = (guint64)r->seq;
	/* If the header lies about its size, no record is found in the page. All are lost. */
	r->last_to = out->from < to ? to : 0;
}

/* Hands out the page in `spare` from the cursor on. Records before it do not count as lost. */
static void hand_out_joined(RsTraceRing *r, guint to, RsTraceChunk *out)
{
	r->counted = FALSE;
	hand_out_new(r, to, out);
	out->from = r->last_from = r->offset;
}

/*
 * Takes [offset, to) of page r->seq, which lies at `shared` and is known to be committed. FALSE:
 * the ring has come round to the page meanwhile, or has given it back, so the copy is useless.
 */
static gboolean take(RsTraceRing *r, const struct rs_ring_page *shared, guint32 to,
		     RsTraceChunk *out, gboolean *torn)
{
	gboolean grown = r->offset && r->last_to; /* what was handed out last is of this page */
	RsTraceRingPosition again;
	struct rs_ring_page *h;

	/* Allocated only now, since a region may have a thousand rings that nobody writes. */
	if (!r->last) {
		r->last = g_malloc0(r->place.page_size);
		r->spare = g_malloc0(r->place.page_size);
	}
	/*
	 * To decode records, one needs all marks of the page, also those before the cursor. What
	 * was handed out before stays as it was, so that its records can be counted.
	 */
	h = (void *)(grown ? r->last : r->spare);
	copy_words((guint8 *)h, (const guint8 *)shared, grown ? r->offset : 0, to);
	rs_rmb(); /* pairs with the rs_wmb after the producer's CAS onto a page */
	rs_trace_ring_locate(&r->place, &again);
	if (again.seq < r->seq || rs_trace_ring_page(&r->place, &again, r->seq) != shared)
		return FALSE;
	*torn = (gint64)h->seq != r->seq; /* committed, but the header has another number */
	if (*torn)
		return TRUE;

	*out = (RsTraceChunk){.ring = r->ring, .from = r->offset, .to = to, .page = (guint8 *)h};
	h->committed = to;
	h->committed_remote = 0;
	out->records = r->handed;
	if (grown)
		r->last_to = to;
	else if (r->offset)
		hand_out_joined(r, to, out);
	else
		hand_out_new(r, to, out);
	r->offset = to;
	if (to == r->place.page_size)
		next_page(r);
	return TRUE;
}

static gboolean lost_patience(RsTraceRing *r, guint64 now_ns)
{
	if (r->stuck_seq != r->seq) {
		r->stuck_seq = r->seq;
		r->stuck_since = now_ns;
	}
	return now_ns - r->stuck_since >= r->patience_ns;
}

/* Looks at one page once. RS_TRACE_RING_DATA with out->page NULL: call again. */
static RsTraceRingStatus step(RsTraceRing *r, guint64 now_ns, RsTraceChunk *out)
{
	const struct rs_ring_page *shared;
	RsTraceRingPosition at;
	guint32 committed, want;
	gboolean torn = FALSE;

	out->page = NULL;
	rs_trace_ring_locate(&r->place, &at);
	if (at.seq < r->seq) {
		if (at.seq == r->seq - 1 && !r->offset)
			return RS_TRACE_RING_IDLE;
		resync(r, &at);
		return at.seq < 0 ? RS_TRACE_RING_IDLE : RS_TRACE_RING_DATA;
	}
	shared = rs_trace_ring_page(&r->place, &at, r->seq);
	if (!shared) {
		begin_at(r, rs_trace_ring_first_there(&at, r->seq));
		return RS_TRACE_RING_DATA;
	}

	committed = rs_load_acquire(&shared->committed) +
		    rs_load_acquire(&shared->committed_remote) -
		    rs_trace_ring_lap_base(&r->place, &at, r->seq);
	/*
	 * Read after `committed`: if both are equal, all records were complete when `committed` was
	 * read.
	 */
	rs_trace_ring_locate(&r->place, &at);
	if (at.seq == r->seq) {
		want = at.offset;
		if (r->whole && want != r->place.page_size)
			return RS_TRACE_RING_IDLE;
		if (committed != want)
			return lost_patience(r, now_ns) ? RS_TRACE_RING_IDLE
							: RS_TRACE_RING_IN_FLIGHT;
		if (want <= MAX(r->offset, RS_RING_PAGE_HEADER)) {
			r->stuck_seq = -1;
			return RS_TRACE_RING_IDLE;
		}
		if (!take(r, shared, want, out, &torn))
			return RS_TRACE_RING_DATA;
		if (torn) {
			r->stats.bad_pages++;
			next_page(r);
		}
		r->stuck_seq = -1;
		return RS_TRACE_RING_DATA;
	}
	if (at.seq < r->seq || rs_trace_ring_page(&r->place, &at, r->seq) != shared)
		return RS_TRACE_RING_DATA;

	if (committed != r->place.page_size) {
		if (was_skipped(r, r->seq, &at)) {
			next_page(r);
			return RS_TRACE_RING_DATA;
		}
		if (!lost_patience(r, now_ns))
			return RS_TRACE_RING_IN_FLIGHT;
		r->stats.stuck++;
		next_page(r);
		return RS_TRACE_RING_DATA;
	}
	if (r->offset == r->place.page_size)
		next_page(r);
	else if (take(r, shared, r->place.page_size, out, &torn) && torn)
		next_page(r);
	return RS_TRACE_RING_DATA;
}

RsTraceRingStatus rs_trace_ring_next(RsTraceRing *r, guint64 now_ns, RsTraceChunk *out)
{
	/* A guest could make us go from page to page for ever. One lap in a call is enough. */
	for (guint32 tries = 0; tries < rs_trace_ring_most_pages(r->region) + 16; tries++) {
		RsTraceRingStatus status = step(r, now_ns, out);

		if (status != RS_TRACE_RING_DATA)
			return status;
		if (out->page && (out->to > out->from || out->lost))
			return RS_TRACE_RING_DATA;
	}
	return RS_TRACE_RING_IDLE;
}

guint64 rs_trace_ring_pending_loss(RsTraceRing *r)
{
	RsTraceRingPosition at;
	guint64 total, known, dropped;

	rs_trace_ring_locate(&r->place, &at);
	if (at.seq < 0)
		return rs_load(&r->place.state->dropped);
	if (!r->counted)
		return 0;
	known = r->records + count_last(r, NULL);
	total = rs_trace_ring_total(&r->place, &at);
	dropped = rs_load(&r->place.state->dropped);
	return MAX(total, known) - known + MAX(dropped, r->dropped) - r->dropped;
}

void rs_trace_ring_written(const RsTraceRing *r, RsTraceRingMark *out)
{
	RsTraceRingPosition at;

	rs_trace_ring_locate(&r->place, &at);
	*out = (RsTraceRingMark){.seq = at.seq, .offset = at.offset};
}

void rs_trace_ring_set_whole(RsTraceRing *r, gboolean whole)
{
	r->whole = whole;
}

void rs_trace_ring_arm(RsTraceRing *r, guint32 bytes)
{
	guint32 units = r->place.page_size / RS_RING_UNIT;
	guint64 from = (guint64)r->seq * units + r->offset / RS_RING_UNIT;
	guint32 armed = rs_load(&r->place.ctl->wake_armed);

	if (!r->region->writable)
		return;
	rs_store(&r->place.ctl->wake_from, from);
	rs_store(&r->place.ctl->wake_units, MAX(bytes / RS_RING_UNIT, 1));
	/* Pairs with the acquire load in the producer's check. */
	if (armed == rs_load(&r->place.state->wake_seen))
		armed++;
	rs_store_release(&r->place.ctl->wake_armed, armed);
	/* A full barrier: the caller's next look at the word must come after this store. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

guint rs_trace_ring_bytes(const RsTraceRing *r)
{
	RsTraceRingPosition at;

	rs_trace_ring_locate(&r->place, &at);
	return (guint)MIN(((guint64)at.now.n_pages + at.before.n_pages) * r->place.page_size,
			  G_MAXUINT32);
}

void rs_trace_ring_stats(const RsTraceRing *r, RsTraceRingStats *out)
{
	*out = r->stats;
}

/*
 * Begins behind what the session has passed over, if that is later: what lies before is not lost.
 */
static void pass_over_cleared(RsTraceRing *r, const RsTraceRingPosition *at)
{
	guint offset;
	gint64 seq;

	if (!rs_trace_ring_find_cleared(&r->place, at, &seq, &offset) || seq < r->seq)
		return;
	begin_at(r, seq);
	if (offset > RS_RING_PAGE_HEADER)
		r->offset = offset;
}

static void start_at(RsTraceRing *r, RsTraceFrom from)
{
	RsTraceRingPosition at;

	rs_trace_ring_locate(&r->place, &at);
	r->stuck_seq = -1;
	switch (from) {
	case RS_TRACE_FROM_START:
		begin_at(r, 0);
		r->counted = TRUE;
		break;
	case RS_TRACE_FROM_OLDEST:
		begin_at(r, rs_trace_ring_first_there(&at, 0));
		if (rs_trace_region_ring_mode(r->region) == RS_MODE_DROP)
			begin_at(r, (gint64)MIN(rs_load(&r->place.ctl->consumed),
						(guint64)MAX(at.seq, 0)));
		pass_over_cleared(r, &at);
		break;
	case RS_TRACE_FROM_NOW:
		begin_at(r, at.seq);
		/*
		 * Begins in the middle of a page, as if all before had been read: earlier records
		 * are not lost.
		 */
		if (at.seq >= 0 && at.offset > RS_RING_PAGE_HEADER) {
			r->offset = at.offset;
			r->records = rs_trace_ring_total(&r->place, &at);
			r->dropped = rs_load(&r->place.state->dropped);
			r->counted = TRUE;
		}
		break;
	}
}

RsTraceRing *rs_trace_ring_new(const RsTraceRegion *region, const RsTraceRingConfig *config,
			       GError **error)
{
	const struct rs_region_header *h = &region->header;
	RsTraceRing *r;

	if (config->ring >= h->ring_count) {
		g_set_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_NO_RING,
			    "no ring %u: the region has %u", config->ring, h->ring_count);
		return NULL;
	}
	if (config->consumer && !region->writable) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_READ_ONLY,
				    "a read-only region cannot be consumed");
		return NULL;
	}
	r = g_new0(RsTraceRing, 1);
	r->region = region;
	rs_trace_ring_place(region, config->ring, &r->place);
	r->ring = config->ring;
	r->patience_ns = config->patience_ns ? config->patience_ns : PATIENCE_NS;
	r->consumer = config->consumer;
	r->consumers = config->consumers;
	r->reader = config->reader;
	r->whole = config->whole;
	start_at(r, config->from);
	publish(r);
	return r;
}

void rs_trace_ring_free(RsTraceRing *r)
{
	if (!r)
		return;
	g_free(r->last);
	g_free(r->spare);
	g_free(r);
}
