/* SPDX-License-Identifier: MIT */
/*
 * Copies of ring pages: see ringside/tracepoint_snapshot.h. A page is copied as the host copies it:
 * all that is reserved on it is committed before, and the ring has not come round to it after.
 */
#include "walk.h"

#include "core.h"

#include <ringside/tracepoint_snapshot.h>

#define TRIES 8u

/* What belongs to a ring, at the start of the memory. */
struct cursor {
	struct rs_walk walk; /* of the page `next` - 1 */
	uint32_t count;      /* pages */
	uint32_t next;       /* page to begin after this one */
	bool has;            /* `record` was not handed out yet */
	struct rs_tracepoint_record record;
};

static struct cursor *cursors(const struct rs_snapshot *snapshot)
{
	return snapshot->memory;
}

static uint8_t *page_of(const struct rs_snapshot *snapshot, uint32_t ring, uint32_t page)
{
	uint64_t index = (uint64_t)ring * snapshot->pages + page;

	return (uint8_t *)(cursors(snapshot) + snapshot->rings) + index * snapshot->page_size;
}

/* ---- taking ---- */

/* Where the producer is: the full number of its page, -1 before the first one. */
struct position {
	int64_t page;
	uint32_t offset; /* bytes */
	uint64_t word;
};

#define PAGES_MAX (1ull << 62) /* no ring comes so far */

static void locate(const struct rs_ring *ring, struct position *out)
{
	uint32_t up = 32 - RS_WORD_PAGE_BITS;
	uint64_t pages;
	int64_t near;
	int32_t distance;

	/* Acquire: pairs with the producer's moves, whose stores come before these. */
	pages = rs_load_acquire(&ring->state->pages);
	near = pages < PAGES_MAX ? (int64_t)pages - 1 : -1;
	out->word = rs_load_acquire(&ring->state->word);
	distance = (int32_t)((rs_word_page(out->word) - (uint32_t)near) << up) >> up;
	out->page = near + distance;
	out->offset = rs_word_offset(out->word) * RS_RING_UNIT;
	if (out->offset > (uint32_t)ring->rings->units * RS_RING_UNIT)
		out->offset = (uint32_t)ring->rings->units * RS_RING_UNIT;
}

static uint64_t written(const struct rs_ring *ring, const struct position *at)
{
	uint64_t before = rs_load(&ring->state->records);

	return before + (uint64_t)(int64_t)(int32_t)(rs_word_records(at->word) - (uint32_t)before);
}

enum taken { TAKEN, GONE, BUSY };

/* Whether page `page`, written with `shape`, has not been overwritten by those up to `at`. */
static bool still_there(const struct rs_ring *ring, uint64_t shape, int64_t page,
			const struct position *at)
{
	uint64_t now = rs_load_acquire(&ring->state->shape);

	if (rs_shape_change(now) != rs_shape_change(shape))
		return rs_ring_shape_of(ring, now, (uint64_t)page) != 0;
	return at->page - page < (int64_t)1 << rs_shape_log(shape);
}

/* One try to copy a page. Its copy's `committed` is then the bytes that count. */
static enum taken try_page(const struct rs_ring *ring, int64_t page, uint8_t *to)
{
	uint64_t shape =
		rs_ring_shape_of(ring, rs_load_acquire(&ring->state->shape), (uint64_t)page);
	const struct rs_ring_page *from = rs_ring_page(ring, shape, (uint64_t)page);
	uint32_t size = (uint32_t)ring->rings->units * RS_RING_UNIT, wanted = size, committed;
	struct rs_ring_page *copy = (void *)to;
	struct position at;

	if (!shape)
		return GONE;
	/* Acquire: pairs with the commits, so that what they say is written is seen. */
	committed = rs_load_acquire(&from->committed) + rs_load_acquire(&from->committed_remote);
	committed -= rs_ring_lap_base(ring, shape, (uint64_t)page);
	locate(ring, &at);
	if (at.page == page)
		wanted = at.offset;
	if (committed != wanted || wanted < RS_RING_PAGE_HEADER)
		return BUSY;
	for (uint32_t i = 0; i < wanted / 8; i++)
		((uint64_t *)(void *)to)[i] = rs_load(&((const uint64_t *)from)[i]);
	rs_rmb(); /* pairs with the rs_wmb after the producer's move onto a page */
	locate(ring, &at);
	if (at.page < page || !still_there(ring, shape, page, &at) || copy->seq != (uint64_t)page ||
	    copy->boot != ring->rings->boot)
		return GONE;
	copy->committed = wanted;
	return TAKEN;
}

static void take_ring(struct rs_snapshot *snapshot, uint32_t index)
{
	struct rs_ring ring = rs_ring_at(&rs_core.rings, index);
	struct cursor *cursor = &cursors(snapshot)[index];
	enum taken taken = GONE;
	struct position end;
	int64_t page, first;

	*cursor = (struct cursor){.count = 0};
	locate(&ring, &end);
	snapshot->refused += rs_load(&ring.state->dropped);
	if (end.page < 0)
		return;
	snapshot->written += written(&ring, &end);
	page = end.page + 1 - (int64_t)snapshot->pages;
	first = (int64_t)rs_ring_oldest(&ring, rs_load_acquire(&ring.state->shape),
					(uint64_t)end.page + 1);
	for (page = page < first ? first : page; page <= end.page; page++) {
		for (uint32_t tries = 0; tries < TRIES; tries++) {
			taken = try_page(&ring, page, page_of(snapshot, index, cursor->count));
			if (taken != BUSY)
				break;
			rs_core_relax();
		}
		cursor->count += taken == TAKEN;
		snapshot->left_out += taken == BUSY;
	}
}

static uint64_t bytes_of_ring(uint32_t pages)
{
	return sizeof(struct cursor) + (uint64_t)pages * rs_core.header.ring_page_size;
}

uint64_t rs_snapshot_size(uint32_t pages)
{
	return rs_load_acquire(&rs_core.rings.count) * bytes_of_ring(pages);
}

static uint64_t count_entries(const struct rs_snapshot *snapshot, uint32_t ring)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < cursors(snapshot)[ring].count; i++) {
		const uint8_t *page = page_of(snapshot, ring, i);
		struct rs_tracepoint_record record;
		struct rs_walk walk;

		rs_walk_begin(&walk, page, snapshot->page_size);
		while (rs_walk_next(&walk, page, &record))
			n++;
	}
	return n;
}

int rs_snapshot_take(struct rs_snapshot *snapshot, void *memory, uint64_t size)
{
	uint32_t rings = rs_load_acquire(&rs_core.rings.count);
	uint64_t pages = 0;

	*snapshot = (struct rs_snapshot){.memory = memory};
	if (!rings)
		return -RS_ENOTCONN;
	if ((uintptr_t)memory % 8)
		return -RS_EINVAL;
	if (size / rings >= bytes_of_ring(1))
		pages = (size / rings - sizeof(struct cursor)) / rs_core.header.ring_page_size;
	if (!pages)
		return -RS_ENOSPC;
	snapshot->page_size = rs_core.header.ring_page_size;
	snapshot->pages = pages > RS_RING_PAGES_MAX ? RS_RING_PAGES_MAX : (uint32_t)pages;
	snapshot->rings = rings;
	for (uint32_t ring = 0; ring < rings; ring++)
		take_ring(snapshot, ring);
	for (uint32_t ring = 0; ring < rings; ring++)
		snapshot->entries += count_entries(snapshot, ring);
	return 0;
}

/* ---- reading ---- */

/* False: the ring has no further record. */
static bool look_ahead(const struct rs_snapshot *snapshot, uint32_t ring)
{
	struct cursor *cursor = &cursors(snapshot)[ring];

	while (!cursor->has) {
		if (cursor->next)
			cursor->has = rs_walk_next(&cursor->walk,
						   page_of(snapshot, ring, cursor->next - 1),
						   &cursor->record);
		if (cursor->has)
			break;
		if (cursor->next == cursor->count)
			return false;
		rs_walk_begin(&cursor->walk, page_of(snapshot, ring, cursor->next++),
			      snapshot->page_size);
	}
	cursor->record.cpu = ring;
	return true;
}

static bool is_earlier(const struct rs_tracepoint_record *a, const struct rs_tracepoint_record *b)
{
	return a->chain != b->chain ? a->chain < b->chain : a->ts < b->ts;
}

/* Since the agent attached. */
static uint64_t to_ns(uint64_t ts)
{
	uint64_t begun = rs_core.info->boots[rs_core.rings.boot % RS_BOOTS].ts;
	uint64_t ticks = ts > begun ? ts - begun : 0, hz = rs_core.config.tsc_hz;

	if (!hz || hz > UINT64_MAX / 1000000000)
		return ticks;
	return ticks / hz * 1000000000 + ticks % hz * 1000000000 / hz;
}

bool rs_snapshot_next(struct rs_snapshot *snapshot, struct rs_tracepoint_record *record)
{
	struct cursor *first = NULL;

	for (uint32_t ring = 0; ring < snapshot->rings; ring++) {
		struct cursor *cursor = &cursors(snapshot)[ring];

		if (look_ahead(snapshot, ring) &&
		    (!first || is_earlier(&cursor->record, &first->record)))
			first = cursor;
	}
	if (!first || !rs_core.info)
		return false;
	first->has = false;
	*record = first->record;
	record->ns = to_ns(record->ts);
	return true;
}
