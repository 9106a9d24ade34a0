/* SPDX-License-Identifier: MIT */
/*
 * What the agent core asks of its port, inlined into every emit: bare metal. Everything about the
 * vCPU is one GS-relative load away. Replaces ports/freestanding/rs_port.h on the include path.
 *
 * Producers nest on one vCPU. The port keeps the rest of the bargain: a task is not preempted
 * inside the core (trap.c), whatever the guest's scheduler wishes.
 */
#ifndef RS_PORT_H
#define RS_PORT_H

#include "cpu-x86_64.h"

#include <ringside/types.h>

#define RS_PORT_PREEMPTIBLE 0

static inline uint64_t rs_port_time(void)
{
	uint32_t low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}

/* Only of use where threads are preempted: plain instructions do here. */
static inline bool rs_port_restartable(void)
{
	return false;
}

static inline uint32_t rs_port_cpu(void)
{
	return RS_GS_READ(uint32_t, RS_CPU_INDEX);
}

static inline uint32_t rs_port_pid(void)
{
	return RS_GS_READ(uint32_t, RS_CPU_PID);
}

static inline uint32_t rs_port_context(void)
{
	return RS_GS_READ(uint16_t, RS_CPU_CONTEXT);
}

static inline const char *rs_port_comm(void)
{
	return rs_this_cpu()->comm;
}

/* Whether the slow path must be taken, for the task's name to be noted by rs_port_name_due(). */
static inline bool rs_port_name_wanted(uint32_t epoch)
{
	return false;
}

/* Whether the task's name is to be noted now. `changed`: the ring's context just changed. */
static inline bool rs_port_name_due(bool changed, uint32_t epoch)
{
	return changed;
}

static inline void rs_port_relax(void)
{
	__builtin_ia32_pause();
}

#endif
