/* SPDX-License-Identifier: MIT */
/*
 * The fast path of events in a bare-metal guest (ringside/emit.h). Its functions lie where no task
 * is preempted (trap.c), so what they read of a vCPU stays true until the record is written.
 */
#ifndef RS_EMIT_PORT_H
#define RS_EMIT_PORT_H

#include "cpu-x86_64.h"

#include <ringside/emit.h>

#define RS_EMIT_KIND RS_NESTED
#define RS_EMIT_SECTION __attribute__((section(".text.rs_critical")))

static inline __attribute__((always_inline)) bool rs_emit_ready(void)
{
	return RS_GS_READ(uint32_t, RS_CPU_EMIT_EPOCH) == rs_peek(&rs_emit_common.epoch);
}

static inline __attribute__((always_inline)) struct rs_ring_state *rs_emit_state(void)
{
	return RS_GS_READ(struct rs_ring_state *, RS_CPU_EMIT_STATE);
}

static inline __attribute__((always_inline)) uint8_t *rs_emit_region(void)
{
	return RS_GS_READ(uint8_t *, RS_CPU_EMIT_REGION);
}

/* As it lies there. A preempt depth that is too large for a mark is not equal to any. */
static inline __attribute__((always_inline)) uint64_t rs_emit_mark(void)
{
	return RS_GS_READ(uint64_t, RS_CPU_MARK);
}

static inline __attribute__((always_inline)) uint64_t rs_emit_clock(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

#endif
