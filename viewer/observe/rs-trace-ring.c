/* SPDX-License-Identifier: MIT */
#include "rs-trace-ring.h"
#include "rs-trace-page.h"
#include "rs-trace-ring-private.h"

#include <string.h>

#define PATIENCE_NS 1000000000ull

struct _RsTraceRing {
	const RsTraceRegion *region;
	RsTraceRingPlace place;
	guint ring;
	gboolean consumer;
	gboolean whole, finishing;
	guint64 patience_ns;

	/*
	 * Cursor: the page that is being read, the place in it, and what the counters must be
	 * there.
	 */
	gint64 seq;
	guint32 offset;  /* in bytes; 0: the page's header has not been read */
	guint64 records; /* records before the cursor */
	guint64 dropped;
	gboolean counted; /* the two above are known; FALSE at first, unless from record 0 */

	gint64 stuck_seq; /* page that waits for a producer, and since when */
	guint64 stuck_since;

	RsTraceRingStats stats;
	guint8 *copy;      /* page_size bytes, 8-byte aligned */
	gint64 copied_seq; /* page whose bytes up to `offset` are in `copy`, -1: none */

	/* With whole pages: the page handed out last. Its records are not yet in `records`. */
	guint8 *last;
	guint64 last_seq;
	guint last_to; /* bytes; 0: there is none */
};

/* The value of `committed` of page `seq` at the start of its lap. */
static guint32 lap_base(const RsTraceRing *r, gint64 seq)
{
	return (guint32)((guint64)seq / r->place.n_pages * r->place.page_size);
}

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

static void next_page(RsTraceRing *r)
{
	begin_at(r, r->seq + 1);
	/* Pairs with the producer's acquire in its switch: our copies were made before this. */
	if (r->consumer)
		rs_store_release(&r->place.ctl->consumed, (guint64)r->seq);
}

/* The ring went back: begins anew at the oldest page that can be there. */
static void resync(RsTraceRing *r, const RsTraceRingPosition *at)
{
	r->stats.resyncs++;
	begin_at(r, at->seq - r->place.n_pages + 1);
	r->counted = FALSE;
	if (r->consumer)
		rs_store_release(&r->place.ctl->consumed, (guint64)r->seq);
}

/* Whether a later page says that the producer skipped page `seq`. */
static gboolean was_skipped(const RsTraceRing *r, gint64 seq, gint64 current)
{
	for (gint64 k = 1; k <= RS_TRACE_SKIP_LOOKAHEAD && seq + k <= current; k++) {
		const struct rs_ring_page *p = rs_trace_ring_page(&r->place, seq + k);

		if ((gint64)rs_load(&p->seq) == seq + k)
			return rs_load(&p->skipped) >= k;
	}
	return FALSE;
}

/*
 * Counts the records in [from, to) of a copy. Returns where they end. `why` says what lies there.
 */
static guint walk(const guint8 *page, guint from, guint to, guint *records, RsTracePageItem *why)
{
	RsTracePageWalk walk = {.at = from};

	*records = 0;
	do {
		*why = rs_trace_page_next(&walk, page, to);
		*records += *why == RS_TRACE_PAGE_RECORD;
	} while (*why >= RS_TRACE_PAGE_MARK);
	return walk.at;
}

/* Counts the records in the whole page that was handed out last. Called only if they matter. */
static guint count_last(const RsTraceRing *r)
{
	RsTracePageItem why;
	guint records = 0;

	if (r->last_to)
		walk(r->last, rs_trace_page_first(r->last), r->last_to, &records, &why);
	return records;
}

/*
 * Uses the header of a page that the cursor has reached. Returns how many records were lost before
 * it.
 */
static guint64 begin_page(RsTraceRing *r, const struct rs_ring_page *h)
{
	guint64 lost = 0;

	/*
	 * The page right after the last one says in its header how many records the last one held.
	 */
	if (r->last_to && h->seq != r->last_seq + 1)
		r->records += count_last(r);
	else if (r->last_to)
		r->records = h->records;
	r->last_to = 0;
	if (r->counted) {
		/* A counter that went back is a lie or a reboot. Then the loss is unknown. */
		if (h->records > r->records)
			lost = h->records - r->records;
		if (h->dropped > r->dropped)
			lost += h->dropped - r->dropped;
	}
	r->records = h->records;
	r->dropped = h->dropped;
	r->counted = TRUE;
	r->stats.lost += lost;
	return lost;
}

/*
 * Hands out the copied page up to `to` without parsing it. The next page is copied into the other
 * buffer.
 */
static void hand_out_whole(RsTraceRing *r, guint to, RsTraceChunk *out)
{
	struct rs_ring_page *h = (void *)r->copy;

	h->committed = to;
	h->committed_remote = 0;
	out->page = r->copy;
	out->to = to;
	r->copy = r->last;
	r->last = (guint8 *)h;
	r->last_seq = h->seq;
	r->last_to = to;
	r->offset = to;
}

/* Hands out the copied page up to `to`, as far as its records are valid. FALSE: one is not. */
static gboolean hand_out_records(RsTraceRing *r, guint to, RsTraceChunk *out)
{
	struct rs_ring_page *h = (void *)r->copy;
	RsTracePageItem why;

	out->page = r->copy;
	out->to = walk(r->copy, out->from, to, &out->records, &why);
	h->committed = out->to;
	h->committed_remote = 0;
	r->records += out->records;
	r->stats.records += out->records;
	r->offset = out->to;
	r->copied_seq = r->seq;
	if (why != RS_TRACE_PAGE_BAD)
		return TRUE;
	r->stats.bad_pages++; /* no record can be found after this point */
	return FALSE;
}

/*
 * Takes [offset, to) of page r->seq, which is known to be committed. FALSE: the ring has come round
 * to the page meanwhile, so the copy is useless.
 */
static gboolean take(RsTraceRing *r, guint32 to, gboolean complete, RsTraceChunk *out,
		     gboolean *torn)
{
	const struct rs_ring_page *shared = rs_trace_ring_page(&r->place, r->seq);
	struct rs_ring_page *h;
	guint32 from = r->offset ? r->offset : RS_RING_PAGE_HEADER;
	RsTraceRingPosition again;
	/* To decode records, a reader needs all marks of the page, also those before `from`. */
	guint32 copy_from = r->copied_seq == r->seq ? from : RS_RING_PAGE_HEADER;

	*torn = FALSE;
	/* Allocated only now, since a region may have a thousand rings that nobody writes. */
	if (!r->copy) {
		r->copy = g_malloc0(r->place.page_size);
		r->last = r->whole ? g_malloc0(r->place.page_size) : NULL;
	}
	h = (void *)r->copy;
	copy_words(r->copy, (const guint8 *)shared, 0, RS_RING_PAGE_HEADER);
	copy_words(r->copy, (const guint8 *)shared, copy_from, to);
	r->copied_seq = -1;
	rs_rmb(); /* pairs with the rs_wmb after the producer's CAS onto a page */
	rs_trace_ring_locate(&r->place, &again);
	if (again.seq - r->seq >= r->place.n_pages || again.seq < r->seq)
		return FALSE;
	if ((gint64)h->seq != r->seq) {
		*torn = TRUE; /* committed, but the header has another number */
		return TRUE;
	}

	memset(out, 0, sizeof(*out));
	out->ring = r->ring;
	out->from = r->offset ? from : MIN(rs_trace_page_first(r->copy), to);
	if (!r->offset)
		out->lost = begin_page(r, h);
	if (r->whole)
		hand_out_whole(r, to, out);
	else if (!hand_out_records(r, to, out))
		complete = TRUE;
	if (complete)
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
	if (at.seq - r->seq >= r->place.n_pages) {
		begin_at(r, at.seq - r->place.n_pages + 1);
		return RS_TRACE_RING_DATA;
	}

	shared = rs_trace_ring_page(&r->place, r->seq);
	committed = rs_load_acquire(&shared->committed) +
		    rs_load_acquire(&shared->committed_remote) - lap_base(r, r->seq);
	/*
	 * Read after `committed`: if both are equal, all records were complete when `committed` was
	 * read.
	 */
	rs_trace_ring_locate(&r->place, &at);
	if (at.seq == r->seq) {
		want = at.offset;
		if (r->whole && !r->finishing && want != r->place.page_size)
			return RS_TRACE_RING_IDLE;
		if (committed != want)
			return lost_patience(r, now_ns) ? RS_TRACE_RING_IDLE
							: RS_TRACE_RING_IN_FLIGHT;
		if (want <= MAX(r->offset, RS_RING_PAGE_HEADER)) {
			r->stuck_seq = -1;
			return RS_TRACE_RING_IDLE;
		}
		if (!take(r, want, want == r->place.page_size, out, &torn))
			return RS_TRACE_RING_DATA;
		if (torn) {
			r->stats.bad_pages++;
			next_page(r);
		}
		r->stuck_seq = -1;
		return RS_TRACE_RING_DATA;
	}
	if (at.seq < r->seq || at.seq - r->seq >= r->place.n_pages)
		return RS_TRACE_RING_DATA;

	if (committed != r->place.page_size) {
		if (was_skipped(r, r->seq, at.seq)) {
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
	else if (take(r, r->place.page_size, TRUE, out, &torn) && torn)
		next_page(r);
	return RS_TRACE_RING_DATA;
}

RsTraceRingStatus rs_trace_ring_next(RsTraceRing *r, guint64 now_ns, RsTraceChunk *out)
{
	/* A guest could make us go from page to page for ever. One lap in a call is enough. */
	for (guint32 tries = 0; tries < r->place.n_pages + 16; tries++) {
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
	guint64 lost = 0, total, known, dropped;

	rs_trace_ring_locate(&r->place, &at);
	if (at.seq < 0)
		return rs_load(&r->place.state->dropped);
	if (!r->counted)
		return 0;
	known = r->records + count_last(r);
	total = rs_trace_ring_total(&r->place, &at);
	dropped = rs_load(&r->place.state->dropped);
	if (total > known)
		lost = total - known;
	if (dropped > r->dropped)
		lost += dropped - r->dropped;
	return lost;
}

void rs_trace_ring_finish(RsTraceRing *r)
{
	r->finishing = TRUE;
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

void rs_trace_ring_stats(const RsTraceRing *r, RsTraceRingStats *out)
{
	*out = r->stats;
}

static void start_at(RsTraceRing *r, RsTraceFrom from)
{
	RsTraceRingPosition at;

	rs_trace_ring_locate(&r->place, &at);
	r->stuck_seq = r->copied_seq = -1;
	switch (from) {
	case RS_TRACE_FROM_START:
		begin_at(r, 0);
		r->counted = TRUE;
		break;
	case RS_TRACE_FROM_OLDEST:
		begin_at(r, at.seq - r->place.n_pages + 1);
		if (r->region->header.ring_mode == RS_MODE_DROP)
			begin_at(r, (gint64)MIN(rs_load(&r->place.ctl->consumed),
						(guint64)MAX(at.seq, 0)));
		break;
	case RS_TRACE_FROM_NOW:
		begin_at(r, r->whole ? at.seq + 1 : at.seq);
		if (r->whole)
			break;
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
	r->consumer = config->consumer && h->ring_mode == RS_MODE_DROP;
	r->whole = config->whole;
	start_at(r, config->from);
	return r;
}

void rs_trace_ring_free(RsTraceRing *r)
{
	if (!r)
		return;
	g_free(r->copy);
	g_free(r->last);
	g_free(r);
}
