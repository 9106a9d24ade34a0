/* SPDX-License-Identifier: MIT */
#include "machine/floor.h"

/* Each loop is aligned: else a branch across 32 bytes may take more than what is measured. */
#define LOOP(rounds, body)                                                                         \
	do {                                                                                       \
		__asm__ volatile(".p2align 5");                                                    \
		for (uint32_t i_ = 0; i_ < (rounds); i_++) {                                       \
			body;                                                                      \
			__asm__ volatile("" : : : "memory");                                       \
		}                                                                                  \
	} while (0)

void rs_floor_empty(uint32_t rounds)
{
	LOOP(rounds, (void)0);
}

void rs_floor_ticks(uint32_t rounds)
{
	LOOP(rounds, __builtin_ia32_rdtsc());
}

void rs_floor_ticks_store(uint32_t rounds, volatile uint64_t *to)
{
	LOOP(rounds, *to = __builtin_ia32_rdtsc());
}

void rs_floor_sites(uint32_t rounds)
{
	LOOP(rounds, __asm__ volatile(".rept %c0\n.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n.endr"
				      :
				      : "i"(RS_FLOOR_SITES)));
}
