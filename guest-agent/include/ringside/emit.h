/* SPDX-License-Identifier: MIT */
/*
 * The fast path of an event: it writes a record that fits in the ring's page, needs no mark but the
 * one that RS_RESTARTABLE always has, and meets no other producer. In all other cases it does
 * nothing, and the agent's slow path begins. docs/adr/0002-ring.md has the algorithm, and
 * docs/adr/0039-emitters.md what was tried to make it short.
 *
 * The agent includes this, and so does the code of events (event_impl.h) where a port has
 * rs_emit_port.h on the include path. That header defines, for the CPU that this runs on:
 *
 *	RS_EMIT_KIND        how producers of a ring meet; also how a word is moved
 *	RS_EMIT_SECTION     attributes of functions that hold the fast path
 *	rs_emit_ready()     false: the slow path is to be taken; true: the next three are valid, and
 *	                    rs_emit_common is read after the epoch (acquire)
 *	rs_emit_state()     the ring
 *	rs_emit_region()    where its region lies
 *	rs_emit_mark()      rs_context_mark() of what runs
 *	rs_emit_clock()     the event clock
 *
 * So what lies in struct rs_emit_self and struct rs_emit_common is part of the binary interface
 * between the agent and programs. Whoever changes one of them gives both other names.
 */
#ifndef RINGSIDE_EMIT_H
#define RINGSIDE_EMIT_H

#include <ringside/atomic.h>
#include <ringside/record.h>
#include <ringside/ring.h>

/* How the producers of a ring may meet. A constant in every call on the fast path. */
enum rs_producers {
	RS_NESTED,      /* on one vCPU, each inside another: plain instructions */
	RS_SHARED,      /* threads that are preempted and moved: locked instructions */
	RS_RESTARTABLE, /* such threads, but with restartable sequences on the ring's own CPU */
};

/* What the fast path needs of the region: written when an agent attaches. */
struct rs_emit_common {
	const uint32_t *chain; /* rs_control.clock_chain */
	uint32_t units;        /* of a page */
	/* Whoever has another one in rs_emit_self takes the slow path, which tells him. */
	uint32_t epoch;
	uint64_t reserved[6];
} __attribute__((aligned(64)));
RS_ASSERT_SIZE(struct rs_emit_common, 64);
RS_ASSERT_OFFSET(struct rs_emit_common, epoch, 12);

/*
 * What a thread, or a vCPU, keeps: valid in the epoch, and `state` on its ring's CPU. Only the slow
 * path writes it.
 */
struct rs_emit_self {
	struct rs_ring_state *state;
	uint8_t *region;
	uint64_t mark;  /* rs_context_mark() of a thread; a vCPU has it elsewhere */
	uint32_t epoch; /* 0: of none */
	uint32_t reserved;
};
RS_ASSERT_SIZE(struct rs_emit_self, 32);
RS_ASSERT_OFFSET(struct rs_emit_self, mark, 16);
RS_ASSERT_OFFSET(struct rs_emit_self, epoch, 24);
#define RS_EMIT_NO_EPOCH ~0u /* rs_emit_common.epoch while nobody may take the fast path */

#ifdef __cplusplus
extern "C" {
#endif
extern struct rs_emit_common rs_emit_common;
#ifdef __cplusplus
}
#endif

/* A context mark as it stands in a ring. Never 0: the low 16 bits are RS_REC_CONTEXT. */
static inline __attribute__((always_inline)) uint64_t rs_context_mark(uint32_t pid,
								      uint32_t context)
{
	return (uint64_t)pid << 32 | (uint64_t)(uint16_t)context << 16 | RS_REC_CONTEXT;
}

static inline __attribute__((always_inline)) bool rs_ring_cas(enum rs_producers kind, uint64_t *p,
							      uint64_t expected, uint64_t next)
{
	return kind != RS_NESTED ? rs_shared_cas64(p, &expected, next)
				 : rs_local_cas64(p, &expected, next);
}

/* Where threads with restartable sequences keep theirs: rs_restart_area(). 0 without them. */
static inline __attribute__((always_inline)) ptrdiff_t rs_ring_area(void)
{
#ifdef RS_PORT_RESTARTABLE
	return rs_restart_area();
#else
	return 0;
#endif
}

/* Moves the word, or another one of ring `index`. Who moves it owns the space that it passed. */
static inline __attribute__((always_inline)) bool rs_ring_move_in(ptrdiff_t area, uint32_t index,
								  uint64_t *word,
								  enum rs_producers kind,
								  uint64_t expected, uint64_t next)
{
#ifdef RS_PORT_RESTARTABLE
	if (kind == RS_RESTARTABLE)
		return rs_restart_cas64(area, index, word, expected, next);
#endif
	(void)area;
	(void)index;
	return rs_ring_cas(kind, word, expected, next);
}

/* Release: pairs with the reader's acquire of `committed`. `index` is the ring's. */
static inline __attribute__((always_inline)) void rs_ring_commit_to(ptrdiff_t area, uint32_t index,
								    enum rs_producers kind,
								    struct rs_ring_page *header,
								    uint32_t bytes)
{
#ifdef RS_PORT_RESTARTABLE
	if (kind == RS_RESTARTABLE) {
		rs_restart_add32(area, index, &header->committed, &header->committed_remote, bytes);
		return;
	}
#endif
	(void)area;
	(void)index;
	if (kind != RS_NESTED)
		rs_shared_add32(&header->committed, bytes);
	else
		rs_local_add32(&header->committed, bytes);
}

#define RS_EMIT_WORDS 256u /* less than there are in the smallest page */

/* A place for one record: from rs_emit_reserve() to rs_emit_commit(). */
struct rs_emit_place {
	struct rs_ring_page *page;
	uint64_t *at; /* where the record's header goes */
	uint32_t ts;  /* low half of its time */
	uint32_t bytes;
};

static inline __attribute__((always_inline)) uint32_t
rs_emit_index(enum rs_producers kind, const struct rs_ring_state *state)
{
	return kind == RS_RESTARTABLE ? rs_load(&state->index) : 0;
}

/*
 * Reserves a record of `words` 8-byte words of payload, at most RS_EMIT_WORDS. False: nothing has
 * happened.
 * The functions are those of the port: constants, so that they are inlined.
 */
static inline __attribute__((always_inline)) bool
rs_emit_reserve(const enum rs_producers kind, struct rs_ring_state *state,
		uint8_t *(*find_region)(void), uint64_t (*find_mark)(void), uint64_t (*clock)(void),
		const uint32_t words, struct rs_emit_place *place)
{
	const struct rs_emit_common *common = &rs_emit_common;
	const uint32_t units = (kind != RS_NESTED ? 2 : 1) + words;
	uint64_t word = rs_load_acquire(&state->word), known = rs_load(&state->page);
	/* Read after the word: a producer that comes in between makes the move fail. */
	uint64_t ts = clock();
	uint32_t off = (uint32_t)word - (uint32_t)known;
	const struct rs_ring_ctl *ctl;
	uint8_t *region;

	/* Of another page than `known`, or in a page that is full or closed, `off` is larger. */
	if (rs_unlikely(off > rs_peek(&common->units) - units ||
			(ts - rs_peek(&state->last_ts)) >> 32 ||
			rs_load(rs_load(&common->chain)) != rs_peek(&state->chain)))
		return false;
	if (kind == RS_NESTED && rs_unlikely(find_mark() != rs_peek(&state->context)))
		return false;
	region = find_region();
	ctl = (const struct rs_ring_ctl *)(region + (uint64_t)rs_load(&state->ctl) * RS_RING_UNIT);
	if (rs_unlikely(rs_load(&ctl->wake_armed) != rs_peek(&state->wake_noticed)))
		return false;
	if (rs_unlikely(!rs_ring_move_in(rs_ring_area(), rs_emit_index(kind, state), &state->word,
					 kind, word,
					 word + (1ull << RS_WORD_RECORDS_SHIFT) + units)))
		return false;
	/* Pairs with the reader's rs_rmb() before its second look at the word. */
	rs_wmb();
	rs_store(&state->last_ts, ts);
	place->page = (struct rs_ring_page *)(region + (known >> 32) * RS_RING_UNIT);
	place->at = (uint64_t *)place->page + off;
	if (kind != RS_NESTED)
		rs_store(place->at++, find_mark());
	place->ts = (uint32_t)ts;
	place->bytes = units * RS_RING_UNIT;
	return true;
}

/* Writes the record's header. Its payload, of `size` bytes, lies behind it. */
static inline __attribute__((always_inline)) void rs_emit_head(const struct rs_emit_place *place,
							       uint32_t id, uint32_t size)
{
	rs_store((uint32_t *)place->at, id | (RS_RING_UNIT + size) << 16);
	rs_store((uint32_t *)place->at + 1, place->ts);
}

static inline __attribute__((always_inline)) void rs_emit_commit(const enum rs_producers kind,
								 const struct rs_ring_state *state,
								 const struct rs_emit_place *place)
{
	rs_ring_commit_to(rs_ring_area(), rs_emit_index(kind, state), kind, place->page,
			  place->bytes);
}

#endif
