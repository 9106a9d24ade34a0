/* SPDX-License-Identifier: MIT */
#include "core.h"

/*
 * Sequentially consistent, as are the stores to the list: either the reader finds that something
 * was taken out, or who waits finds the reader.
 */
struct rs_crowd_place rs_crowd_enter(struct rs_crowd *crowd)
{
	uint32_t half = rs_load(&crowd->half);
	uint32_t *inside = &crowd->slots[rs_core_cpu() % RS_CROWD_SLOTS].inside[half];

	__atomic_fetch_add(inside, 1, __ATOMIC_SEQ_CST);
	return (struct rs_crowd_place){inside};
}

void rs_crowd_leave(struct rs_crowd_place place)
{
	/* Release: pairs with the acquire of who waits, and then uses the memory anew. */
	__atomic_fetch_sub(place.inside, 1, __ATOMIC_RELEASE);
}

/* A reader may have read `half` long ago and count itself only now: so both halves, in turn. */
void rs_crowd_wait(struct rs_crowd *crowd)
{
	for (int i = 0; i < 2; i++) {
		uint32_t idle = !crowd->half;

		for (uint32_t slot = 0; slot < RS_CROWD_SLOTS; slot++) {
			while (__atomic_load_n(&crowd->slots[slot].inside[idle], __ATOMIC_SEQ_CST))
				rs_core_relax();
		}
		rs_store(&crowd->half, idle);
	}
}
