/* SPDX-License-Identifier: MIT */
/*
 * The least that an event can take on this CPU, as loops of so many rounds: nothing, the counter,
 * the counter and a store of it, and the NOP that a tracepoint is while it is off. One file for
 * each architecture has them. Any thread.
 */
#ifndef RS_HV_MACHINE_FLOOR_H
#define RS_HV_MACHINE_FLOOR_H

#include <stdint.h>

void rs_floor_empty(uint32_t rounds);
void rs_floor_ticks(uint32_t rounds);
void rs_floor_ticks_store(uint32_t rounds, volatile uint64_t *to);
/* So many of them in each round: one alone is hidden behind the loop. */
#define RS_FLOOR_SITES 32u
void rs_floor_sites(uint32_t rounds);

#endif
