/* SPDX-License-Identifier: MIT */
/*
 * Those who read a list without a lock. Who takes something out of the list waits until nobody can
 * still see it. A reader never waits.
 *
 * Readers count themselves in one of two halves. Who waits lets new ones go to the other half
 * meanwhile, so the wait ends although there may always be somebody who reads. Each half has a
 * counter for each of some CPUs, so that readers on several CPUs do not share a cache line.
 *
 * Readers: any context. Those who wait: one at a time, and never inside of their own reading.
 */
#ifndef RS_AGENT_CROWD_H
#define RS_AGENT_CROWD_H

#include <ringside/types.h>

#define RS_CROWD_SLOTS 8u

struct rs_crowd {
	struct {
		uint32_t inside[2];
	} __attribute__((aligned(64))) slots[RS_CROWD_SLOTS];
	uint32_t half; /* where a new reader counts itself */
};

/* Where a reader counted itself. */
struct rs_crowd_place {
	uint32_t *inside;
};

#pragma GCC visibility push(hidden) /* not for who links the agent */

struct rs_crowd_place rs_crowd_enter(struct rs_crowd *crowd);
void rs_crowd_leave(struct rs_crowd_place place);
/* Returns once all have left who may have seen what was there before. */
void rs_crowd_wait(struct rs_crowd *crowd);

#pragma GCC visibility pop

#endif
