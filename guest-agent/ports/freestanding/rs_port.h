/* SPDX-License-Identifier: MIT */
/*
 * What the core asks of its port, inlined into every emit: the default for freestanding code. On
 * x86-64, GS points (at RS_PORT_GS_OFFSET) at a struct rs_port_cpu of this vCPU, which the OS keeps up to date: it
 * must be set before a host can enable an event. An OS with a block of its own puts an rs_port.h of
 * its own first on the include path.
 *
 * Producers nest on one vCPU: the rings are moved by plain instructions. A task may be
 * preempted inside an emit as long as it goes on, later, on the same vCPU.
 */
#ifndef RS_PORT_H
#define RS_PORT_H

#include <ringside/types.h>

#define RS_PORT_PREEMPTIBLE 0
#ifndef RS_PORT_GS_OFFSET
#define RS_PORT_GS_OFFSET 0
#endif

struct rs_port_cpu {
	struct rs_port_cpu *self; /* its own address */
	uint32_t cpu;             /* vCPU index */
	uint32_t pid;
	uint32_t context; /* RS_CTX_* */
	char comm[RS_COMM_LEN];
};

#if defined(__x86_64__)
static inline uint64_t rs_port_time(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}

static inline struct rs_port_cpu *rs_port_self(void)
{
	struct rs_port_cpu *self;

	__asm__("movq %%gs:%c1, %0" : "=r"(self) : "i"(RS_PORT_GS_OFFSET));
	return self;
}

static inline void rs_port_relax(void)
{
	__builtin_ia32_pause();
}
#else
#error "write the port of this architecture"
#endif

/* Only of use where threads are preempted: plain instructions do here. */
static inline bool rs_port_restartable(void)
{
	return false;
}

static inline uint32_t rs_port_cpu(void)
{
	return rs_port_self()->cpu;
}

static inline uint32_t rs_port_pid(void)
{
	return rs_port_self()->pid;
}

static inline uint32_t rs_port_context(void)
{
	return rs_port_self()->context;
}

/* The running task's name: RS_COMM_LEN bytes, NUL-padded. */
static inline const char *rs_port_comm(void)
{
	return rs_port_self()->comm;
}

/* Whether the slow path must be taken, for the task's name to be noted by rs_port_name_due(). */
static inline bool rs_port_name_wanted(uint32_t epoch)
{
	return false;
}

/* Whether the task's name is to be noted now; `changed`: the context may be another. */
static inline bool rs_port_name_due(bool changed, uint32_t epoch)
{
	return changed;
}

#endif
