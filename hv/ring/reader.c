/* SPDX-License-Identifier: MIT */
#include "ring/reader.h"

#include <errno.h>
#include <glib.h>
#include <ringside/atomic.h>
#include <ringside/record.h>
#include <string.h>

#define PATIENCE_NS 1000000000ull
#define SKIP_LOOKAHEAD 64 /* pages that one page header can say were skipped, as far as we look */

struct rs_ring_reader {
	const struct rs_region *region;
	const struct rs_ring_state *state; /* guest memory */
	struct rs_ring_ctl *ctl;           /* ours, in the region */
	const uint8_t *pages;              /* guest memory */
	uint32_t ring, page_size, n_pages;
	bool consumer;
	uint64_t patience_ns;

	/* Cursor: the page that is read, how far, and what the counters must be there. */
	int64_t seq;
	uint32_t offset;  /* bytes; 0: the page's header was not taken yet */
	uint64_t records; /* records that lay before the cursor */
	uint64_t dropped;
	bool counted; /* the two above are known; false right after joining in the middle */

	int64_t stuck_seq; /* page that a producer is in, and since when we have been waiting */
	uint64_t stuck_since;

	struct rs_ring_reader_stats stats;
	uint8_t *copy;      /* page_size bytes, 8-byte aligned */
	int64_t copied_seq; /* page whose bytes up to `offset` are in `copy`, -1: none */
};

/* A consistent look at where the producer is. */
struct position {
	uint64_t word;
	int64_t seq;     /* full number of the current page, -1 before the first */
	uint32_t offset; /* bytes in it */
};

/* The number nearest to `near` whose low 18 bits are `bits`. */
static int64_t extend_page(int64_t near, uint32_t bits)
{
	int32_t diff = (int32_t)((bits - (uint32_t)near) << (32 - RS_WORD_PAGE_BITS));

	return near + (diff >> (32 - RS_WORD_PAGE_BITS));
}

static uint64_t extend_records(uint64_t near, uint32_t bits)
{
	return near + (uint64_t)(int64_t)(int32_t)(bits - (uint32_t)near);
}

static void locate(const struct rs_ring_state *state, uint32_t page_size, struct position *out)
{
	/* Guest words. Sequence numbers of 2^62 and more are nonsense: they are cut so that the
	 * arithmetic below cannot overflow. */
	const uint64_t sane = (1ull << 62) - 1;
	uint64_t pages = rs_load_acquire(&state->pages) & sane, before;
	int tries = 4;

	/* `pages` tells which of many pages the word's 18 bits mean: should we have been stopped
	 * between the two for so many pages that it no longer does, look again. */
	do {
		before = pages;
		out->word = rs_load_acquire(&state->word);
		pages = rs_load_acquire(&state->pages) & sane;
	} while (pages - before > RS_WORD_PAGE_MASK / 4 && --tries);
	out->seq = extend_page((int64_t)pages - 1, rs_word_page(out->word));
	if (out->seq < -1)
		out->seq = -1;
	out->offset = MIN(rs_word_offset(out->word) * RS_RING_UNIT, page_size);
}

static const struct rs_ring_page *page_at(const struct rs_ring_reader *r, int64_t seq)
{
	return (const void *)(r->pages + (uint64_t)(seq & (r->n_pages - 1)) * r->page_size);
}

/* What `committed` of page `seq` was when its lap began. */
static uint32_t lap_base(const struct rs_ring_reader *r, int64_t seq)
{
	return (uint32_t)((uint64_t)seq / r->n_pages * r->page_size);
}

/*
 * Copies [from, to) of a page word by word: the producer may be writing here, which costs us
 * the copy (the caller looks again) but is no data race.
 */
static void copy_words(uint8_t *out, const uint8_t *page, uint32_t from, uint32_t to)
{
	const uint64_t *in = (const void *)page;
	uint64_t *words = (void *)out;

	for (uint32_t i = from / 8; i < to / 8; i++)
		words[i] = rs_load(&in[i]);
}

static void begin_at(struct rs_ring_reader *r, int64_t seq)
{
	r->seq = MAX(seq, 0);
	r->offset = 0;
}

static void next_page(struct rs_ring_reader *r)
{
	begin_at(r, r->seq + 1);
	/* Pairs with the producer's acquire in its switch: our copies were made before this. */
	if (r->consumer)
		rs_store_release(&r->ctl->consumed, (uint64_t)r->seq);
}

/* Begins anew at the oldest page that can be there: the ring went back. */
static void resync(struct rs_ring_reader *r, const struct position *at)
{
	r->stats.resyncs++;
	begin_at(r, at->seq - r->n_pages + 1);
	r->counted = false;
	if (r->consumer)
		rs_store_release(&r->ctl->consumed, (uint64_t)r->seq);
}

/* Did a later page say that page `seq` was passed over by the producer? */
static bool was_skipped(const struct rs_ring_reader *r, int64_t seq, int64_t current)
{
	for (int64_t k = 1; k <= SKIP_LOOKAHEAD && seq + k <= current; k++) {
		const struct rs_ring_page *p = page_at(r, seq + k);

		if ((int64_t)rs_load(&p->seq) == seq + k)
			return rs_load(&p->skipped) >= k;
	}
	return false;
}

/*
 * Walks the records in [from, to) of our copy: how many there are, and where sense ends. Every
 * step advances by at least 8 bytes.
 */
static uint32_t walk(const uint8_t *page, uint32_t from, uint32_t to, uint32_t *records,
		     bool *padded)
{
	uint32_t at = from, n = 0;

	*padded = false;
	while (at + sizeof(struct rs_rec_header) <= to) {
		struct rs_rec_header h;
		uint32_t size;

		memcpy(&h, page + at, sizeof(h));
		if (h.id == RS_REC_PAD) {
			*padded = true;
			break;
		}
		size = h.id == RS_REC_CONTEXT ? sizeof(struct rs_rec_context)
		       : h.id == RS_REC_TIME  ? sizeof(struct rs_rec_time)
					      : (h.size & RS_REC_SIZE_MASK);
		if (size < sizeof(h) || size > to - at ||
		    (h.id < RS_FIRST_EVENT_ID && h.id > RS_REC_TIME))
			break;
		/* `to` and `at` are multiples of the unit, so the rounded size still fits. */
		size = RS_ALIGN_UP(size, RS_RING_UNIT);
		n += h.id >= RS_FIRST_EVENT_ID;
		at += size;
	}
	*records = n;
	return at;
}

/* The header of a page that is begun: what was lost before it. */
static uint64_t begin_page(struct rs_ring_reader *r, const struct rs_ring_page *h)
{
	uint64_t lost = 0;

	if (r->counted) {
		/* A counter that went back is a lie or a reboot: nothing can be said of it. */
		if (h->records > r->records)
			lost = h->records - r->records;
		if (h->dropped > r->dropped)
			lost += h->dropped - r->dropped;
	}
	r->records = h->records;
	r->dropped = h->dropped;
	r->counted = true;
	r->stats.lost += lost;
	return lost;
}

/*
 * Takes [offset, to) of page r->seq, which is known to be committed. Returns false when the ring came
 * round meanwhile, so that the copy is worth nothing.
 */
static bool take(struct rs_ring_reader *r, uint32_t to, bool complete, struct rs_ring_chunk *out,
		 bool *torn)
{
	const struct rs_ring_page *shared = page_at(r, r->seq);
	struct rs_ring_page *h = (void *)r->copy;
	uint32_t from = r->offset ? r->offset : RS_RING_PAGE_HEADER;
	struct position again;
	/* Decoding a page needs its marks from the start on, also where we joined in the middle. */
	uint32_t copy_from = r->copied_seq == r->seq ? from : RS_RING_PAGE_HEADER;
	uint32_t end;
	bool padded;

	*torn = false;
	copy_words(r->copy, (const uint8_t *)shared, 0, RS_RING_PAGE_HEADER);
	copy_words(r->copy, (const uint8_t *)shared, copy_from, to);
	r->copied_seq = -1;
	rs_rmb(); /* pairs with the rs_wmb after the producer's CAS onto a page */
	locate(r->state, r->page_size, &again);
	if (again.seq - r->seq >= r->n_pages || again.seq < r->seq)
		return false;
	if ((int64_t)h->seq != r->seq) {
		*torn = true; /* committed, but under another number: not ours to read */
		return true;
	}

	memset(out, 0, sizeof(*out));
	out->ring = r->ring;
	out->from = from;
	out->page = r->copy;
	if (!r->offset)
		out->lost = begin_page(r, h);
	end = walk(r->copy, from, to, &out->records, &padded);
	out->to = end;
	h->committed = end;
	h->committed_remote = 0;
	r->records += out->records;
	r->stats.records += out->records;
	if (end < to && !padded) {
		r->stats.bad_pages++;
		complete = true; /* nothing after this point can be found again */
	}
	r->offset = end;
	r->copied_seq = r->seq;
	if (complete)
		next_page(r);
	return true;
}

static bool lost_patience(struct rs_ring_reader *r, uint64_t now_ns)
{
	if (r->stuck_seq != r->seq) {
		r->stuck_seq = r->seq;
		r->stuck_since = now_ns;
	}
	return now_ns - r->stuck_since >= r->patience_ns;
}

/* One look at one page. RS_RING_DATA with out->page NULL: go on with the next page. */
static enum rs_ring_status step(struct rs_ring_reader *r, uint64_t now_ns,
				struct rs_ring_chunk *out)
{
	const struct rs_ring_page *shared;
	struct position at;
	uint32_t committed, want;
	bool torn = false;

	out->page = NULL;
	locate(r->state, r->page_size, &at);
	if (at.seq < r->seq) {
		if (at.seq == r->seq - 1 && !r->offset)
			return RS_RING_IDLE;
		resync(r, &at);
		return at.seq < 0 ? RS_RING_IDLE : RS_RING_DATA;
	}
	if (at.seq - r->seq >= r->n_pages) {
		begin_at(r, at.seq - r->n_pages + 1);
		return RS_RING_DATA;
	}

	shared = page_at(r, r->seq);
	committed = rs_load_acquire(&shared->committed) +
		    rs_load_acquire(&shared->committed_remote) - lap_base(r, r->seq);
	/* After `committed`: then equal means that all was written when we looked at `committed`. */
	locate(r->state, r->page_size, &at);
	if (at.seq == r->seq) {
		want = at.offset;
		if (committed != want)
			return lost_patience(r, now_ns) ? RS_RING_IDLE : RS_RING_IN_FLIGHT;
		if (want <= MAX(r->offset, RS_RING_PAGE_HEADER)) {
			r->stuck_seq = -1;
			return RS_RING_IDLE;
		}
		if (!take(r, want, want == r->page_size, out, &torn))
			return RS_RING_DATA;
		if (torn) {
			r->stats.bad_pages++;
			next_page(r);
		}
		r->stuck_seq = -1;
		return RS_RING_DATA;
	}
	if (at.seq < r->seq || at.seq - r->seq >= r->n_pages)
		return RS_RING_DATA;

	if (committed != r->page_size) {
		if (was_skipped(r, r->seq, at.seq)) {
			next_page(r);
			return RS_RING_DATA;
		}
		if (!lost_patience(r, now_ns))
			return RS_RING_IN_FLIGHT;
		r->stats.stuck++;
		next_page(r);
		return RS_RING_DATA;
	}
	if (r->offset == r->page_size)
		next_page(r);
	else if (take(r, r->page_size, true, out, &torn) && torn)
		next_page(r);
	return RS_RING_DATA;
}

enum rs_ring_status rs_ring_reader_next(struct rs_ring_reader *r, uint64_t now_ns,
					struct rs_ring_chunk *out)
{
	/* A guest could keep us going from page to page for ever; a lap's worth a call is enough. */
	for (uint32_t tries = 0; tries < r->n_pages + 16; tries++) {
		enum rs_ring_status status = step(r, now_ns, out);

		if (status != RS_RING_DATA)
			return status;
		if (out->page && (out->to > out->from || out->lost))
			return RS_RING_DATA;
	}
	return RS_RING_IDLE;
}

static uint64_t total_records(const struct rs_ring_state *state, const struct position *at)
{
	return extend_records(rs_load(&state->records), rs_word_records(at->word));
}

uint64_t rs_ring_reader_pending_loss(struct rs_ring_reader *r)
{
	struct position at;
	uint64_t lost = 0, total, dropped;

	locate(r->state, r->page_size, &at);
	if (at.seq < 0)
		return rs_load(&r->state->dropped);
	if (!r->counted)
		return 0;
	total = total_records(r->state, &at);
	dropped = rs_load(&r->state->dropped);
	if (total > r->records)
		lost = total - r->records;
	if (dropped > r->dropped)
		lost += dropped - r->dropped;
	return lost;
}

void rs_ring_reader_arm(struct rs_ring_reader *r, uint32_t bytes)
{
	uint32_t units = r->page_size / RS_RING_UNIT;
	uint64_t from = (uint64_t)r->seq * units + r->offset / RS_RING_UNIT;
	uint32_t armed = rs_load(&r->ctl->wake_armed);

	if (!r->region->writable)
		return;
	rs_store(&r->ctl->wake_from, from);
	rs_store(&r->ctl->wake_units, MAX(bytes / RS_RING_UNIT, 1));
	/* Pairs with the acquire load in the producer's check. Still armed: only moved. */
	if (armed == rs_load(&r->state->wake_seen))
		armed++;
	rs_store_release(&r->ctl->wake_armed, armed);
	/* The caller's next look at the word must not be done before this: store, then load. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void rs_ring_reader_stats(const struct rs_ring_reader *r, struct rs_ring_reader_stats *out)
{
	*out = r->stats;
}

static void start_at(struct rs_ring_reader *r, enum rs_ring_from from)
{
	struct position at;

	locate(r->state, r->page_size, &at);
	r->stuck_seq = r->copied_seq = -1;
	switch (from) {
	case RS_RING_FROM_START:
		begin_at(r, 0);
		r->counted = true;
		break;
	case RS_RING_FROM_OLDEST:
		begin_at(r, at.seq - r->n_pages + 1);
		if (r->region->header.ring_mode == RS_MODE_DROP)
			begin_at(r, (int64_t)MIN(rs_load(&r->ctl->consumed),
						 (uint64_t)MAX(at.seq, 0)));
		break;
	case RS_RING_FROM_NOW:
		begin_at(r, at.seq);
		/* Mid-page: as if we had read so far. The records before are not ours to miss. */
		if (at.seq >= 0 && at.offset > RS_RING_PAGE_HEADER) {
			r->offset = at.offset;
			r->records = total_records(r->state, &at);
			r->dropped = rs_load(&r->state->dropped);
			r->counted = true;
		}
		break;
	}
}

int rs_ring_reader_create(const struct rs_region *region,
			  const struct rs_ring_reader_config *config, struct rs_ring_reader **out,
			  struct rs_error *err)
{
	const struct rs_region_header *h = &region->header;
	struct rs_ring_reader *r;

	if (config->ring >= h->ring_count)
		return rs_error_set(err, EINVAL, "no ring %u: the region has %u", config->ring,
				    h->ring_count);
	if (config->consumer && !region->writable)
		return rs_error_set(err, EACCES, "a read-only region cannot be consumed");
	r = g_new0(struct rs_ring_reader, 1);
	r->region = region;
	r->ring = config->ring;
	r->page_size = h->ring_page_size;
	r->n_pages = h->ring_pages;
	r->patience_ns = config->patience_ns ? config->patience_ns : PATIENCE_NS;
	r->consumer = config->consumer && h->ring_mode == RS_MODE_DROP;
	r->state =
		(const struct rs_ring_state *)rs_region_section(region, RS_SEC_RING_STATE, NULL) +
		config->ring;
	r->ctl = (struct rs_ring_ctl *)rs_region_section(region, RS_SEC_RING_CTL, NULL) +
		 config->ring;
	r->pages = (const uint8_t *)rs_region_section(region, RS_SEC_RINGS, NULL) +
		   (uint64_t)config->ring * h->ring_pages * h->ring_page_size;
	r->copy = g_malloc0(r->page_size);
	start_at(r, config->from);
	*out = r;
	return 0;
}

void rs_ring_reader_destroy(struct rs_ring_reader *r)
{
	if (!r)
		return;
	g_free(r->copy);
	g_free(r);
}

void rs_ring_info(const struct rs_region *region, uint32_t ring, struct rs_ring_info *out)
{
	const struct rs_region_header *h = &region->header;
	struct rs_ring_reader r = {.page_size = h->ring_page_size, .n_pages = h->ring_pages};
	const struct rs_ring_page *oldest;
	struct position at;
	int64_t first;

	memset(out, 0, sizeof(*out));
	if (ring >= h->ring_count)
		return;
	r.state = (const struct rs_ring_state *)rs_region_section(region, RS_SEC_RING_STATE, NULL) +
		  ring;
	r.ctl = (struct rs_ring_ctl *)rs_region_section(region, RS_SEC_RING_CTL, NULL) + ring;
	r.pages = (const uint8_t *)rs_region_section(region, RS_SEC_RINGS, NULL) +
		  (uint64_t)ring * h->ring_pages * h->ring_page_size;

	locate(r.state, r.page_size, &at);
	out->dropped = rs_load(&r.state->dropped);
	out->skipped = rs_load(&r.state->skipped);
	out->too_large = rs_load(&r.state->too_large);
	if (at.seq < 0)
		return;
	out->records = total_records(r.state, &at);
	out->newest_ts = rs_load(&r.state->last_ts);
	first = MAX(at.seq - r.n_pages + 1, 0);
	if (h->ring_mode == RS_MODE_DROP)
		first = MAX(first, (int64_t)MIN(rs_load(&r.ctl->consumed), (uint64_t)at.seq));
	out->bytes = (uint64_t)(at.seq - first) * r.page_size + at.offset;
	out->entries = out->records;
	for (int64_t seq = first; seq <= at.seq && seq < first + SKIP_LOOKAHEAD; seq++) {
		uint64_t before;

		oldest = page_at(&r, seq);
		if ((int64_t)rs_load(&oldest->seq) != seq)
			continue; /* skipped, or just being begun */
		before = MIN(rs_load(&oldest->records), out->records);
		out->entries = out->records - before;
		out->oldest_ts = rs_load(&oldest->ts);
		if (h->ring_mode == RS_MODE_OVERWRITE)
			out->overrun = before;
		break;
	}
}
