/* SPDX-License-Identifier: MIT */
/*
 * The fast path of a record (ringside/emit.h) for tests that have rings of their own, in memory
 * that is no region. `base` lies before the ring's rs_ring_ctl and pages.
 */
#ifndef RS_TESTS_UNIT_EMIT_FAST_H
#define RS_TESTS_UNIT_EMIT_FAST_H

#include "ring.h"

static uint8_t *fast_base;
/* Of the calling thread's record. Volatile: a signal handler may write one in the middle of it. */
static __thread volatile uint64_t fast_mark;

static inline uint8_t *fast_region(void)
{
	return fast_base;
}

static inline uint64_t fast_find_mark(void)
{
	return fast_mark;
}

/* As rs_agent_init() does. To be called before the rings are resumed. */
static inline void fast_set_up(void *base, struct rs_rings *rings)
{
	fast_base = (uint8_t *)base;
	rings->region = fast_base;
	rs_emit_common.chain = rings->chain;
	rs_emit_common.units = rings->units;
}

/* False: nothing has happened. `clock` is a constant. */
static inline __attribute__((always_inline)) bool emit_fast_as(const struct rs_ring *ring,
							       const enum rs_producers kind,
							       const struct rs_ring_record *record,
							       uint64_t (*clock)(void))
{
	const uint32_t words = (record->size + 7) / 8;
	const uint64_t outer = fast_mark; /* of a record that this one has interrupted */
	struct rs_emit_place place;
	bool done;

	fast_mark = record->context;
	done = words <= RS_EMIT_WORDS && rs_emit_reserve(kind, ring->state, fast_region,
							 fast_find_mark, clock, words, &place);
	fast_mark = outer;
	if (!done)
		return false;
	rs_emit_head(&place, record->id, record->size);
	for (uint32_t i = 0; i < words; i++)
		rs_store(place.at + 1 + i, record->entry[i]);
	rs_emit_commit(kind, ring->state, &place);
	return true;
}

#endif
