/* SPDX-License-Identifier: MIT */
/*
 * The producer's side of one ring. docs/adr/0002-ring.md has the algorithm and says why it is safe.
 * The steps here are in the order of that page.
 *
 * emit.c and tests call this, on any CPU or thread. `kind` says how producers meet. Nothing here
 * waits. Input is trusted, except struct rs_ring_ctl and the mode, which the host may change at any
 * time: a wrong value there costs records, nothing else.
 */
#ifndef RS_AGENT_RING_H
#define RS_AGENT_RING_H

#include "dyn.h"
#include "rs_port.h"

#include <ringside/atomic.h>
#include <ringside/descriptor.h>
#include <ringside/emit.h>
#include <ringside/record.h>
#include <ringside/region.h>
#include <ringside/ring.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

#define RS_SKIP_MAX 64u /* pages that one switch passes over at most */
#define RS_TRIES 64u    /* lost races after which a record is given up */

/*
 * All rings of a region: what is the same for each, and where the first one lies. Constant once
 * initialised. A ring needs no memory of its own beside the region.
 */
struct rs_rings {
	uint8_t *states;       /* struct rs_ring_state, state_stride apart */
	const uint8_t *ctls;   /* struct rs_ring_ctl, ctl_stride apart */
	uint8_t *pages;        /* RS_SEC_RINGS: see rs_region_place_offset() */
	uint8_t *later;        /* the places of each ring for its later changes */
	const uint8_t *region; /* all of these lie in it */
	const uint32_t *chain; /* rs_control.clock_chain */
	uint64_t *lost_nested; /* rs_guest_info.lost_nested */
	const uint32_t *mode;  /* rs_region_header.ring_mode, which the host may change */
	uint32_t state_stride;
	uint32_t ctl_stride;
	uint32_t count;
	uint32_t boot;       /* rs_guest_info.boot */
	uint16_t units;      /* per page */
	uint8_t page_shift;  /* log2 of the page size */
	uint8_t first_log;   /* log2 of the pages that a ring has at first */
	uint8_t room_log;    /* log2 of the pages of each later place; 0: there are none */
	uint8_t first_shift; /* log2 of the bytes that a ring has at first */
	uint8_t place_shift; /* log2 of the bytes of a later place */
};

/* One of them. */
struct rs_ring {
	const struct rs_rings *rings;
	struct rs_ring_state *state;
	const struct rs_ring_ctl *ctl;
	uint32_t index;
};

/*
 * Whether a full ring refuses records now. Acquire: what the host wrote before it chose this mode,
 * such as rs_ring_ctl.consumed, is read after it.
 */
static inline bool rs_rings_drop(const struct rs_rings *rings)
{
	return rs_load_acquire(rings->mode) == RS_MODE_DROP;
}

static inline struct rs_ring_state *rs_rings_state(const struct rs_rings *rings, uint32_t index)
{
	return (struct rs_ring_state *)(rings->states + (uint64_t)index * rings->state_stride);
}

static inline const struct rs_ring_ctl *rs_rings_ctl(const struct rs_rings *rings, uint32_t index)
{
	return (const struct rs_ring_ctl *)(rings->ctls + (uint64_t)index * rings->ctl_stride);
}

/* Page `page` of a ring that has this shape. */
static inline struct rs_ring_page *rs_rings_page(const struct rs_rings *rings, uint32_t index,
						 uint64_t shape, uint64_t page)
{
	uint64_t change = rs_shape_change(shape), slot;
	uint8_t *place = rings->pages + ((uint64_t)index << rings->first_shift);
	uint32_t log = rs_shape_log(shape), most = rings->first_log;

	if (rs_unlikely(change && rings->room_log)) {
		place = rings->later + ((2ull * index + (change & 1)) << rings->place_shift);
		most = rings->room_log;
	}
	/* Others may write to the region: it leads nowhere else. */
	slot = page & ((1ull << (log < most ? log : most)) - 1);
	return (struct rs_ring_page *)(place + (slot << rings->page_shift));
}

/* `index` is below rings->count. */
static inline struct rs_ring rs_ring_at(const struct rs_rings *rings, uint32_t index)
{
	return (struct rs_ring){
		.rings = rings,
		.state = rs_rings_state(rings, index),
		.ctl = rs_rings_ctl(rings, index),
		.index = index,
	};
}

struct rs_event_info;

struct rs_ring_record {
	uint32_t id;
	uint32_t size; /* payload bytes, dynamic ones included */
	uint32_t entry_size;
	uint32_t dyn_count;
	uint32_t tgid;         /* thread group of the context's pid; 0: not known */
	uint64_t context;      /* rs_context_mark() */
	const uint64_t *entry; /* entry_size bytes, zeroes up to a multiple of 8 */
	const struct rs_dyn *dyn;
	const struct rs_event_info *info; /* where its locators lie; NULL: nowhere */
	const uint64_t *frames; /* its call stack; fewer are written if the page is too small */
	uint32_t frame_count;   /* at most RS_STACK_MAX */
	uint64_t ts;            /* out, when emitted */
	uint32_t chain;         /* likewise, the clock chain of ts */
};

/* What became of a record. */
enum rs_ring_result {
	RS_RING_MOVED = -2,   /* RESTARTABLE: we run on another CPU now; nothing happened */
	RS_RING_REFUSED = -1, /* counted as dropped, or as lost_nested */
	RS_RING_DONE = 0,
	RS_RING_NEW_CONTEXT = 1, /* done; pid or flags may have changed (nested only) */
};

/*
 * Sets the geometry, for a header that was checked; the other pointers, strides and boot are the
 * caller's, before that. Touches nothing in the region.
 */
void rs_rings_init(struct rs_rings *rings, const struct rs_region_header *header);

/*
 * To be called once, before the first record. A ring of an earlier boot goes on after what is
 * there: the page where it stopped is closed. A fresh one (all zero) gets its first word and shape.
 */
void rs_ring_resume(const struct rs_ring *ring);

/*
 * For who reads in the guest, of a ring that has the shape `now`: the number of the oldest page
 * that may still be there, if `pages` have been entered, and the shape with which page `page` was
 * written. 0: it is not there any more.
 */
uint64_t rs_ring_oldest(const struct rs_ring *ring, uint64_t now, uint64_t pages);
uint64_t rs_ring_shape_of(const struct rs_ring *ring, uint64_t now, uint64_t page);
/* The value of `committed` in a page once all producers of the lap before have finished. */
uint32_t rs_ring_lap_base(const struct rs_ring *ring, uint64_t shape, uint64_t page);

/*
 * Slow path of rs_ring_emit(), when the page of `word` has no room. Moves the ring to the next
 * usable page and sets *page to where it lies. The first record there (record_units) is `record`.
 */
enum rs_switch_result {
	RS_SWITCH_RETRY, /* the word has moved */
	RS_SWITCH_OPENED,
	RS_SWITCH_REFUSED, /* counted */
};
enum rs_switch_result rs_ring_switch(const struct rs_ring *ring, enum rs_producers kind,
				     uint64_t word, uint32_t record_units, uint64_t ts,
				     uint32_t chain, const struct rs_ring_record *record,
				     struct rs_ring_page **page);

/*
 * Copies the payload to `to`, `size` bytes, in relaxed stores. If it is larger, the dynamic fields
 * are cut (rs_ring_share()), and their locators say so.
 */
void rs_ring_copy(uint64_t *to, uint32_t size, const struct rs_ring_record *record);

/* The largest payload of a record in a page. */
static inline uint32_t rs_rings_room(const struct rs_rings *rings)
{
	uint32_t page = (uint32_t)rings->units * RS_RING_UNIT - RS_RING_PAGE_HEADER;

	return (page < RS_REC_MAX ? page : RS_REC_MAX) - 8;
}

/*
 * How many bytes of each dynamic field are kept where there is `room` for all of them together.
 * Those that are shorter than their share are kept whole, and leave the rest to the others. `info`
 * tells the size of elements, which are not split; NULL: bytes.
 */
void rs_ring_share(const struct rs_dyn *dyn, uint32_t count, const struct rs_event_info *info,
		   uint32_t room, uint32_t kept[RS_MAX_FIELDS]);

/*
 * Whether a sleeping reader wants the doorbell now. True once each time that the doorbell is armed.
 * To be asked behind each record of the slow path. If the reader wants nothing before the ring
 * comes to another page, records of the fast path need not ask until then.
 *
 * No barrier against the word's store: a reader that arms at this moment may miss this record. It
 * has a timeout for this case (docs/adr/0002-ring.md).
 */
bool rs_ring_wake_slow(const struct rs_rings *rings, uint32_t index);

static inline bool rs_ring_wake_due(const struct rs_rings *rings, uint32_t index)
{
	const struct rs_ring_state *state = rs_rings_state(rings, index);
	uint32_t armed = rs_load(&rs_rings_ctl(rings, index)->wake_armed);

	return rs_unlikely(armed != rs_load(&state->wake_seen) ||
			   armed != rs_load(&state->wake_noticed)) &&
	       rs_ring_wake_slow(rings, index);
}

static inline bool rs_ring_move(const struct rs_ring *ring, enum rs_producers kind,
				uint64_t expected, uint64_t next)
{
	return rs_ring_move_in(rs_ring_area(), ring->index, &ring->state->word, kind, expected,
			       next);
}

/*
 * The shape of the page that the word names. To be read after the word. A move of the word that
 * succeeds has used the right one: it changes only while the word says RS_WORD_CLOSED.
 */
static inline uint64_t rs_ring_shape(const struct rs_ring_state *state)
{
	return rs_load(&state->shape);
}

static inline struct rs_ring_page *rs_ring_page(const struct rs_ring *ring, uint64_t shape,
						uint64_t page)
{
	return rs_rings_page(ring->rings, ring->index, shape, page);
}

static inline void rs_ring_commit(const struct rs_ring *ring, enum rs_producers kind,
				  struct rs_ring_page *page, uint32_t bytes)
{
	rs_ring_commit_to(rs_ring_area(), ring->index, kind, page, bytes);
}

/*
 * rs_context_claim(), then the CAS on the word, then rs_context_settle() make `context` the newest
 * of the ring in state.context. In between the field holds a token: the address of our stack, which
 * no other producer has and which is no context. A producer that comes in between does not find its
 * own context there, so it writes a mark and takes the field over. The settle then changes nothing.
 * With a plain store instead, the field would name our context although a newer one follows it.
 */
static inline uint64_t rs_context_claim(const struct rs_ring *ring, const void *stack)
{
	uint64_t token = (uint64_t)(uintptr_t)stack << 16;

	rs_store(&ring->state->context, token);
	return token;
}

static inline void rs_context_settle(const struct rs_ring *ring, enum rs_producers kind,
				     uint64_t token, uint64_t context)
{
	rs_ring_cas(kind, &ring->state->context, token, context);
}

/*
 * What a stack of *frames adds to a record of `units`, in units. A page has room for the record at
 * least: frames that do not fit beside it are taken off *frames.
 */
static inline uint32_t rs_stack_units(const struct rs_rings *rings, uint32_t units,
				      uint32_t *frames)
{
	uint32_t room = rings->units - RS_RING_PAGE_HEADER / RS_RING_UNIT - units;

	if (room < 2)
		*frames = 0;
	else if (*frames > room - 1)
		*frames = room - 1;
	return *frames ? *frames + 1 : 0;
}

/*
 * Notes in state.page where the page lies that a record went to, for the fast path of the next one.
 * `known` is state.page as it was before the record. If somebody else has looked up a page
 * meanwhile, nothing is stored: so a producer that is stopped here for long does no harm.
 */
static inline void rs_ring_know(const struct rs_ring *ring, enum rs_producers kind, uint64_t known,
				const struct rs_ring_page *page)
{
	uint64_t units = (uint64_t)((const uint8_t *)page - ring->rings->region) / RS_RING_UNIT;
	uint64_t next = units << 32 | (uint32_t)(rs_load(&page->seq) << RS_WORD_PAGE_SHIFT);

	if (rs_unlikely(next != known) && !(units >> 32))
		rs_ring_move_in(rs_ring_area(), ring->index, &ring->state->page, kind, known, next);
}

/*
 * Writes one record. The time comes from `clock`, or from `port_clock` if that is NULL.
 * `port_clock` is a constant, so that it is inlined. record->ts and record->chain are set when the
 * record is written.
 */
static inline __attribute__((always_inline)) enum rs_ring_result
rs_ring_emit(const struct rs_ring *ring, const enum rs_producers kind,
	     struct rs_ring_record *record, uint64_t (*clock)(void), uint64_t (*port_clock)(void))
{
	struct rs_ring_state *state = ring->state;
	const uint64_t context = record->context;
	uint32_t size = record->size, cut = 0, units, marks, off, frames = record->frame_count;
	uint64_t word, ts, shape, *at, last, known;
	struct rs_ring_page *page;
	uint32_t chain;

	if (rs_unlikely(size > rs_rings_room(ring->rings))) {
		size = rs_rings_room(ring->rings);
		cut = RS_REC_CUT;
		kind != RS_NESTED ? rs_shared_add64(&state->too_large, 1)
				  : rs_local_add64(&state->too_large, 1);
	}
	units = 1 + (size + 7) / 8;
	if (rs_unlikely(frames))
		units += rs_stack_units(ring->rings, units, &frames);

	for (uint32_t tries = 0; tries < RS_TRIES; tries++) {
		bool new_context, new_time;
		uint64_t token = 0;

#ifdef RS_PORT_RESTARTABLE
		if (kind == RS_RESTARTABLE && tries && rs_port_cpu() != ring->index)
			return RS_RING_MOVED;
#endif
		known = rs_load(&state->page);
		/* Acquire: the page that this word names was prepared before. */
		word = rs_load_acquire(&state->word);
		shape = rs_ring_shape(state);
		/* Read after the word: a producer that comes in between makes the CAS fail. So the
		 * order in the ring is the order in time. */
		ts = rs_unlikely(clock != NULL) ? clock() : port_clock();
		chain = rs_load(ring->rings->chain);
		last = rs_load(&state->last_ts);
		new_time = (ts - last) >> 32 != 0 || chain != rs_load(&state->chain);
		new_context = kind != RS_NESTED || rs_load(&state->context) != context;
		marks = (new_context ? 1 : 0) + (new_time ? 2 : 0);
		off = rs_word_offset(word);
		if (rs_unlikely(off + marks + units > ring->rings->units)) {
			enum rs_switch_result r =
				rs_ring_switch(ring, kind, word, units, ts, chain, record, &page);
			if (r == RS_SWITCH_RETRY)
				continue;
			if (r == RS_SWITCH_REFUSED)
				return RS_RING_REFUSED;
			at = (uint64_t *)((uint8_t *)page + RS_RING_PAGE_HEADER);
			marks = RS_RING_PAGE_HEADER / 8; /* committed along with the record */
			goto write;
		}
		if (kind == RS_NESTED && rs_unlikely(new_context))
			token = rs_context_claim(ring, &token);
		if (rs_unlikely(
			    !rs_ring_move(ring, kind, word,
					  word + (1ull << RS_WORD_RECORDS_SHIFT) + marks + units)))
			continue;
		/* Pairs with the reader's rs_rmb() before its second look at the word. */
		rs_wmb();
		rs_store(&state->last_ts, ts);
		if (kind == RS_NESTED && rs_unlikely(new_context))
			rs_context_settle(ring, kind, token, context);
		page = rs_ring_page(ring, shape, rs_word_page(word));
		at = (uint64_t *)page + off;
		if (rs_unlikely(new_time)) {
			/*
			 * A slower producer may store an older chain here afterwards. Then the next
			 * record has a mark of its own.
			 */
			rs_store(&state->chain, chain);
			rs_store(at, RS_REC_TIME | 16ull << 16 | (uint64_t)chain << 32);
			rs_store(at + 1, ts);
			at += 2;
		}
		if (new_context)
			rs_store(at++, context);
		goto write;
	}
	rs_shared_add64(ring->rings->lost_nested, 1);
	return RS_RING_REFUSED;

write:
	if (rs_unlikely(frames)) {
		rs_store(at++, RS_REC_STACK | (8ull + 8 * frames) << 16);
		for (uint32_t i = 0; i < frames; i++)
			rs_store(at++, record->frames[i]);
	}
	rs_store(at, (uint64_t)record->id | (uint64_t)((8 + size) | cut) << 16 | ts << 32);
	if (rs_likely(record->dyn_count == 0 && !cut)) {
		for (uint32_t i = 0; i < (size + 7) / 8; i++)
			rs_store(at + 1 + i, record->entry[i]);
	} else {
		rs_ring_copy(at + 1, size, record);
	}
	rs_ring_commit(ring, kind, page, (marks + units) * 8);
	record->ts = ts;
	record->chain = chain;
	rs_ring_know(ring, kind, known, page);
	return kind == RS_NESTED && marks ? RS_RING_NEW_CONTEXT : RS_RING_DONE;
}

#pragma GCC visibility pop

#endif
