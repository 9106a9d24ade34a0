/* SPDX-License-Identifier: MIT */
/*
 * What the core asks of its port, inlined into every emit. This is the default for freestanding
 * code. On x86-64 the word at GS:RS_PORT_GS_OFFSET points to a struct rs_port_cpu of this vCPU. The
 * OS sets it before a host can enable an event, and keeps the struct up to date. An OS that keeps
 * these facts elsewhere puts its own rs_port.h first on the include path.
 *
 * Producers nest on one vCPU, so plain instructions move the rings. A task may be preempted inside
 * an emit if it later goes on on the same vCPU.
 */
#ifndef RS_PORT_H
#define RS_PORT_H

#include <ringside/types.h>

#define RS_PORT_PREEMPTIBLE 0
/* Whether rs_port_stack_end() knows of any stack. */
#define RS_PORT_STACKS 0
#ifndef RS_PORT_GS_OFFSET
#define RS_PORT_GS_OFFSET 0
#endif

struct rs_port_cpu {
	struct rs_port_cpu *self; /* its own address */
	uint32_t cpu;             /* vCPU index */
	uint32_t pid;
	uint32_t tgid;    /* thread group of the running task; 0: not known */
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

/* For preempted threads only. Here plain instructions do. */
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

static inline uint32_t rs_port_tgid(void)
{
	return rs_port_self()->tgid;
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

/* Not known here: rs_trace_ops.stack_end. */
static inline bool rs_port_stack_end(uintptr_t frame, uintptr_t *end)
{
	return false;
}

void rs_agent_panic(const char *why);

/* Ends the guest. An OS with a panic of its own gives the agent that: rs_trace_ops.panic. */
static inline void rs_port_panic(const char *why)
{
	rs_agent_panic(why);
	__builtin_trap();
}

/* Whether the task's name is to be noted now. `changed`: the ring's context may have changed. */
static inline bool rs_port_name_due(bool changed, uint32_t epoch)
{
	return changed;
}

#endif
