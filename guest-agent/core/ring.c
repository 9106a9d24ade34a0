/* SPDX-License-Identifier: MIT */
#include "ring.h"

#include <ringside/agent.h>

static uint32_t log2_of(uint32_t n)
{
	return 31 - (uint32_t)__builtin_clz(n);
}

void rs_rings_init(struct rs_rings *rings, const struct rs_region_header *header)
{
	rings->count = header->ring_count;
	rings->units = (uint16_t)(header->ring_page_size / RS_RING_UNIT);
	rings->page_shift = (uint8_t)log2_of(header->ring_page_size);
	rings->first_log = (uint8_t)log2_of(header->ring_pages);
	rings->room_log = header->ring_room ? (uint8_t)log2_of(header->ring_room) : 0;
	rings->first_shift = rings->page_shift + rings->first_log;
	rings->place_shift = rings->page_shift + rings->room_log;
	rings->later = rings->pages + rs_region_place_offset(header, header->ring_count, 0);
}

/* The word has the low 18 bits of a page number. Returns the full number nearest to `near`. */
static uint64_t full_page(uint64_t near, uint64_t word)
{
	uint32_t up = 32 - RS_WORD_PAGE_BITS;
	int32_t distance = (int32_t)((rs_word_page(word) - (uint32_t)near) << up) >> up;

	return near + (uint64_t)(int64_t)distance;
}

static uint64_t full_records(uint64_t near, uint64_t word)
{
	int32_t distance = (int32_t)(rs_word_records(word) - (uint32_t)near);

	return near + (uint64_t)(int64_t)distance;
}

static uint64_t *place_of(const struct rs_ring *ring, uint64_t shape)
{
	return &ring->state->place[rs_shape_change(shape) & 1];
}

uint32_t rs_ring_lap_base(const struct rs_ring *ring, uint64_t shape, uint64_t page)
{
	uint64_t laps =
		(page - rs_place_begin(rs_load(place_of(ring, shape)))) >> rs_shape_log(shape);

	return (uint32_t)(laps << ring->rings->page_shift);
}

static void add64(enum rs_producers kind, uint64_t *p, uint64_t n)
{
	if (kind != RS_NESTED)
		rs_shared_add64(p, n);
	else
		rs_local_add64(p, n);
}

/* Several producers may be here, in any order. The largest value wins. */
static void raise64(enum rs_producers kind, uint64_t *p, uint64_t to)
{
	uint64_t now = rs_load(p);

	while ((int64_t)(to - now) > 0 && !rs_ring_cas(kind, p, now, to))
		now = rs_load(p);
}

/* Fills the rest of a page that the word has just left. That rest is ours. */
static void pad(const struct rs_ring *ring, enum rs_producers kind, uint64_t shape, uint64_t page,
		uint32_t off)
{
	struct rs_ring_page *at = rs_ring_page(ring, shape, page);

	if (off >= ring->rings->units)
		return;
	rs_store((uint64_t *)at + off, (uint64_t)RS_REC_PAD | 8ull << 16);
	rs_ring_commit(ring, kind, at, (ring->rings->units - off) * RS_RING_UNIT);
}

/* Closes the page of `word`: its offset becomes `to`. False: somebody else has moved the word. */
static bool close_page(const struct rs_ring *ring, enum rs_producers kind, uint64_t shape,
		       uint64_t word, uint32_t to)
{
	uint32_t off = rs_word_offset(word);

	if (!rs_ring_move(ring, kind, word, word + (to - off)))
		return false;
	rs_wmb(); /* pairs with the reader's rs_rmb() before its second look at the word */
	pad(ring, kind, shape, rs_word_page(word), off);
	return true;
}

/*
 * Closes the current page. So the next record opens a page, and `dropped` in its header reports the
 * loss where it happened.
 */
static enum rs_switch_result refuse(const struct rs_ring *ring, enum rs_producers kind,
				    uint64_t shape, uint64_t word)
{
	struct rs_ring_state *state = ring->state;

	if (rs_word_offset(word) < ring->rings->units) {
		if (!close_page(ring, kind, shape, word, ring->rings->units))
			return RS_SWITCH_RETRY;
	} else if (rs_load_acquire(&state->word) != word) {
		return RS_SWITCH_RETRY;
	}
	add64(kind, &state->dropped, 1);
	return RS_SWITCH_REFUSED;
}

/* The shape that the host wants next; `now`: no other one. */
static uint64_t wanted_shape(const struct rs_ring *ring, uint64_t now)
{
	/* Acquire: pairs with the host's release, once it has emptied the other place. */
	uint64_t wanted = rs_load_acquire(&ring->ctl->shape);
	uint32_t log = rs_shape_log(wanted);

	return rs_shape_change(wanted) == rs_shape_change(now) + 1 &&
			       1u << log >= RS_RING_PAGES_MIN && log <= ring->rings->room_log
		       ? wanted
		       : now;
}

/*
 * Behind page `cur`, where `word` says RS_WORD_CLOSED, the ring goes to its other place. Whoever
 * finds that writes down the same. Returns the shape from there on; 0: the word has moved.
 */
static uint64_t go_over(const struct rs_ring *ring, enum rs_producers kind, uint64_t word,
			uint64_t cur)
{
	uint64_t now = rs_load_acquire(&ring->state->shape), next = wanted_shape(ring, now);
	uint64_t *place = place_of(ring, next), old = rs_load(place);
	uint64_t made = RS_PLACE(next, cur + 1);

	/*
	 * Read after the rest: as long as the word is closed, the host leaves its wish as it is,
	 * and the place was either as it had been, or as we write it. Whoever is late swaps
	 * nothing.
	 */
	if (rs_load_acquire(&ring->state->word) != word)
		return 0;
	if (next == now)
		return now; /* somebody has written it down */
	if (old != made)
		rs_ring_cas(kind, place, old, made);
	raise64(kind, &ring->state->shape, next);
	return next;
}

/*
 * The oldest page that may still be in the place where the ring was before `now`, whose shape is
 * *shape. `begin`, where `now` begins: none is there.
 */
static uint64_t oldest_before(const struct rs_ring *ring, uint64_t now, uint64_t begin,
			      uint64_t *shape)
{
	uint64_t place = rs_load(&ring->state->place[(rs_shape_change(now) & 1) ^ 1]);
	uint64_t gone = rs_load_acquire(&ring->ctl->gone), oldest = rs_place_begin(place), pages;

	*shape = place & RS_PLACE_SHAPE_MASK;
	pages = 1ull << rs_shape_log(*shape);
	if (!*shape || oldest >= begin || gone >= begin)
		return begin;
	if (begin - oldest > pages)
		oldest = begin - pages;
	return gone > oldest ? gone : oldest;
}

uint64_t rs_ring_oldest(const struct rs_ring *ring, uint64_t now, uint64_t pages)
{
	uint64_t begin = rs_place_begin(rs_load(place_of(ring, now))), shape;
	uint64_t oldest = oldest_before(ring, now, begin, &shape),
		 count = 1ull << rs_shape_log(now);

	return oldest == begin && pages > begin + count ? pages - count : oldest;
}

uint64_t rs_ring_shape_of(const struct rs_ring *ring, uint64_t now, uint64_t page)
{
	uint64_t begin = rs_place_begin(rs_load(place_of(ring, now))), shape;

	if (page >= begin)
		return now;
	return page >= oldest_before(ring, now, begin, &shape) ? shape : 0;
}

/* Finds the next page that may be written, and counts unfinished ones before it. False: none. */
static bool next_page(const struct rs_ring *ring, uint64_t shape, uint64_t cur, uint64_t *next,
		      uint32_t *skipped)
{
	uint32_t count = 1u << rs_shape_log(shape);
	/* Before `consumed`: the host sets that right, then the mode. */
	bool drop = rs_rings_drop(ring->rings);

	for (uint32_t n = 0; n < count && n <= RS_SKIP_MAX; n++) {
		uint64_t page = cur + 1 + n;
		const struct rs_ring_page *header = rs_ring_page(ring, shape, page);

		/* Acquire: pairs with the release of the consumer that has copied these pages. */
		if (drop &&
		    (int64_t)(page - rs_load_acquire(&ring->ctl->consumed)) >= (int64_t)count)
			return false;
		/* Acquire: pairs with the last producer's commit. Its stores come before ours. */
		if (rs_load_acquire(&header->committed) +
			    rs_load_acquire(&header->committed_remote) ==
		    rs_ring_lap_base(ring, shape, page)) {
			*next = page;
			*skipped = n;
			return true;
		}
	}
	return false;
}

enum rs_switch_result rs_ring_switch(const struct rs_ring *ring, enum rs_producers kind,
				     uint64_t word, uint32_t record_units, uint64_t ts,
				     uint32_t chain, const struct rs_ring_record *record,
				     struct rs_ring_page **page)
{
	const uint64_t context = record->context;
	struct rs_ring_state *state = ring->state;
	uint64_t pages = rs_load_acquire(&state->pages);
	uint64_t before = rs_load_acquire(&state->records);
	uint64_t cur, next, records, dropped, shape, token = 0;
	uint32_t skipped;
	struct rs_ring_page *header;

	/* Both counters were read before the word was seen unchanged, so they belong to it. */
	if (rs_load_acquire(&state->word) != word)
		return RS_SWITCH_RETRY;
	cur = full_page(pages, word);
	records = full_records(before, word);
	shape = rs_ring_shape(state);
	if (rs_word_offset(word) == RS_WORD_CLOSED) {
		shape = go_over(ring, kind, word, cur);
		if (!shape)
			return RS_SWITCH_RETRY;
	} else if (wanted_shape(ring, shape) != shape) {
		close_page(ring, kind, shape, word, RS_WORD_CLOSED);
		return RS_SWITCH_RETRY;
	}
	/* Read after the word: so it is no less than what the opener of its page read. */
	dropped = rs_load_acquire(&state->dropped);
	if (!next_page(ring, shape, cur, &next, &skipped))
		return refuse(ring, kind, shape, word);
	if (kind == RS_NESTED && rs_load(&state->context) != context)
		token = rs_context_claim(ring, &token);
	if (!rs_ring_move(ring, kind, word,
			  (records + 1) << RS_WORD_RECORDS_SHIFT |
				  (next & RS_WORD_PAGE_MASK) << RS_WORD_PAGE_SHIFT |
				  (RS_RING_PAGE_HEADER / RS_RING_UNIT + record_units)))
		return RS_SWITCH_RETRY;
	/* Pairs with the reader's rs_rmb() before its second look at the word. */
	rs_wmb();
	rs_store(&state->last_ts, ts);
	rs_store(&state->chain, chain);
	if (token)
		rs_context_settle(ring, kind, token, context);
	pad(ring, kind, shape, cur, rs_word_offset(word));
	for (uint64_t passed = cur + 1; passed != next; passed++)
		rs_ring_commit(ring, kind, rs_ring_page(ring, shape, passed),
			       1u << ring->rings->page_shift);
	if (skipped)
		add64(kind, &state->skipped, skipped);
	raise64(kind, &state->pages, next + 1);
	raise64(kind, &state->records, records);

	header = rs_ring_page(ring, shape, next);
	rs_store(&header->ts, ts);
	rs_store(&header->records, records);
	rs_store(&header->dropped, dropped);
	rs_store((uint64_t *)&header->boot, ring->rings->boot | (uint64_t)chain << 32);
	rs_store((uint64_t *)&header->context, (uint16_t)(context >> 16) | (uint64_t)skipped << 16 |
						       (uint64_t)ring->index << 32 |
						       (uint64_t)RS_RING_PAGE_HEADER << 48);
	rs_store((uint64_t *)&header->pid, context >> 32 | (uint64_t)record->tgid << 32);
	rs_store_release(&header->seq, next);
	*page = header;
	return RS_SWITCH_OPENED;
}

/* The rest of the page of an earlier boot is passed over. */
static void close_old(const struct rs_ring *ring, uint64_t word)
{
	uint32_t off = rs_word_offset(word);

	if (off == RS_WORD_CLOSED)
		return;
	/* If the page has unfinished records, its sum stays too small, and it is always skipped. */
	rs_store_release(&ring->state->word, (word & ~RS_WORD_OFFSET_MASK) | ring->rings->units);
	rs_wmb();
	pad(ring, RS_SHARED, rs_load(&ring->state->shape), rs_word_page(word), off);
}

void rs_ring_resume(const struct rs_ring *ring)
{
	struct rs_ring_state *state = ring->state;
	uint64_t word = rs_load(&state->word);

	rs_store(&state->last_ts, 0);
	if (!rs_load(&state->shape)) {
		rs_store(&state->place[0], RS_PLACE(ring->rings->first_log, 0));
		rs_store_release(&state->shape, ring->rings->first_log);
	}
	if (word == 0)
		rs_store_release(&state->word, RS_WORD_INITIAL(ring->rings->units));
	else
		close_old(ring, word);
	/* No page is known yet: this one is as far away as a page can be. */
	word = rs_load(&state->word) ^ 1ull << (RS_WORD_RECORDS_SHIFT - 1);
	rs_store(&state->page, (uint32_t)(word & ~RS_WORD_OFFSET_MASK));
	rs_store(&state->index, ring->index);
	rs_store(&state->ctl,
		 (uint32_t)(((const uint8_t *)ring->ctl - ring->rings->region) / RS_RING_UNIT));
	rs_store(&state->wake_noticed, rs_load(&state->wake_seen));
}

bool rs_ring_wake_slow(const struct rs_rings *rings, uint32_t index)
{
	struct rs_ring_state *state = rs_rings_state(rings, index);
	const struct rs_ring_ctl *ctl = rs_rings_ctl(rings, index);
	uint32_t armed = rs_load_acquire(&ctl->wake_armed); /* pairs with the arming release */
	uint64_t pages = rs_load_acquire(&state->pages);
	uint64_t word = rs_load(&state->word), cur = full_page(pages, word);
	uint64_t due = rs_load(&ctl->wake_from) + rs_load(&ctl->wake_units);
	uint32_t off = rs_word_offset(word);
	uint64_t at = cur * rings->units + (off < rings->units ? off : rings->units);
	bool seen = armed == rs_load(&state->wake_seen);

	if (seen || (int64_t)(at - due) >= 0) {
		rs_store(&state->wake_seen, armed);
		rs_store(&state->wake_noticed, armed);
		return !seen;
	}
	/* Before that page all records may take the fast path, and in it none. */
	rs_store(&state->wake_noticed,
		 (int64_t)(due - (cur + 1) * rings->units) > 0 ? armed : armed - 1);
	return false;
}

/* Gathers bytes into 8-byte stores. */
struct packer {
	uint64_t *to;
	uint64_t part;
	uint32_t fill; /* bytes in `part`, 0..7 */
};

static void put(struct packer *out, const uint8_t *bytes, uint32_t size)
{
	for (; size >= 8; size -= 8, bytes += 8) {
		uint64_t word;

		__builtin_memcpy(&word, bytes, 8);
		rs_store(out->to++, out->part | word << (out->fill * 8));
		out->part = out->fill ? word >> (64 - out->fill * 8) : 0;
	}
	for (; size; size--) {
		out->part |= (uint64_t)*bytes++ << (out->fill * 8);
		if (++out->fill == 8) {
			rs_store(out->to++, out->part);
			out->part = 0;
			out->fill = 0;
		}
	}
}

/* The next dynamic field from *at on; NULL: there is none. */
static const struct rs_field_info *next_dynamic(const struct rs_event_info *info, uint32_t *at)
{
	while (info && *at < info->field_count) {
		const struct rs_field_info *field = &info->fields[(*at)++];

		if (field->kind >= RS_KIND_DYN_ARRAY)
			return field;
	}
	return NULL;
}

void rs_ring_share(const struct rs_dyn *dyn, uint32_t count, const struct rs_event_info *info,
		   uint32_t room, uint32_t kept[RS_MAX_FIELDS])
{
	uint32_t longer = count, share = 0, at = 0, settled;

	for (uint32_t i = 0; i < count; i++)
		kept[i] = UINT32_MAX;
	do {
		settled = 0;
		share = longer ? room / longer : 0;
		for (uint32_t i = 0; i < count; i++) {
			if (kept[i] != UINT32_MAX || dyn[i].size > share)
				continue;
			kept[i] = dyn[i].size;
			room -= kept[i];
			settled++;
		}
		longer -= settled;
	} while (settled && longer);
	for (uint32_t i = 0; i < count; i++) {
		const struct rs_field_info *field = next_dynamic(info, &at);

		if (kept[i] == UINT32_MAX)
			kept[i] =
				share - (field && field->elem_size ? share % field->elem_size : 0);
	}
}

static __attribute__((__noinline__)) void copy_cut(uint64_t *to, uint32_t size,
						   const struct rs_ring_record *record)
{
	uint32_t count = record->dyn_count < RS_MAX_FIELDS ? record->dyn_count : RS_MAX_FIELDS;
	uint32_t fixed = record->entry_size < size ? record->entry_size : size, end = fixed, at = 0;
	uint32_t kept[RS_MAX_FIELDS];
	struct packer out = {.to = to};

	rs_ring_share(record->dyn, count, record->info, size - fixed, kept);
	put(&out, (const uint8_t *)record->entry, fixed);
	for (uint32_t i = 0; i < count; end += kept[i++])
		put(&out, record->dyn[i].data, kept[i]);
	for (; end < size; end++)
		put(&out, (const uint8_t *)"", 1);
	if (out.fill)
		rs_store(out.to, out.part);
	end = fixed;
	for (uint32_t i = 0; i < count; end += kept[i++]) {
		const struct rs_field_info *field = next_dynamic(record->info, &at);

		if (!field || field->offset + sizeof(uint32_t) > fixed)
			break;
		rs_store((uint32_t *)((uint8_t *)to + field->offset),
			 rs_locator(end, kept[i]) |
				 (kept[i] < record->dyn[i].size ? RS_LOCATOR_CUT : 0));
	}
}

void rs_ring_copy(uint64_t *to, uint32_t size, const struct rs_ring_record *record)
{
	struct packer out = {.to = to};

	if (rs_unlikely(size < record->size)) {
		copy_cut(to, size, record);
		return;
	}
	put(&out, (const uint8_t *)record->entry, record->entry_size);
	for (uint32_t i = 0; i < record->dyn_count; i++)
		put(&out, record->dyn[i].data, record->dyn[i].size);
	if (out.fill)
		rs_store(out.to, out.part);
}
