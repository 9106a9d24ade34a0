/* SPDX-License-Identifier: MIT */
/*
 * What the core asks of its port, inlined into every emit. On bare metal one GS-relative load gives
 * each fact about the vCPU.
 *
 * Producers nest on one vCPU, so plain instructions move the rings. The port sees to it that no
 * task is preempted inside the core (trap.c), whatever the guest's scheduler does.
 */
#ifndef RS_PORT_H
#define RS_PORT_H

#include "rs_emit_port.h"

#include <ringside/record.h>

#define RS_PORT_PREEMPTIBLE 0
/* Whether rs_port_stack_end() knows of any stack. */
#define RS_PORT_STACKS 1

static inline uint64_t rs_port_time(void)
{
	return rs_emit_clock();
}

/* For preempted threads only. Here plain instructions do. */
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

static inline uint32_t rs_port_tgid(void)
{
	return rs_this_cpu()->tgid;
}

static inline uint32_t rs_port_context(void)
{
	uint32_t context = RS_GS_READ(uint16_t, RS_CPU_CONTEXT);

	/* The depth has the whole upper byte here. */
	if (__builtin_expect(context >> RS_CTX_PREEMPT_SHIFT > RS_CTX_PREEMPT_MAX, 0))
		context = (context & 0xff) | RS_CTX_PREEMPT_MAX << RS_CTX_PREEMPT_SHIFT;
	return context;
}

static inline const char *rs_port_comm(void)
{
	return rs_this_cpu()->comm;
}

/*
 * Stacks lie in the image, all of which is mapped. Those elsewhere have no known end. The chain of
 * a stack ends where rs_stack_init() or the boot code has put a 0.
 */
extern const char rs_image_start[], rs_image_end[];
static inline bool rs_port_stack_end(uintptr_t frame, uintptr_t *end)
{
	*end = (uintptr_t)rs_image_end;
	return frame >= (uintptr_t)rs_image_start && frame < *end;
}

void rs_panic(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static inline void rs_port_panic(const char *why)
{
	rs_panic("%s", why);
}

/* From now on events of this vCPU may take the fast path. */
static inline void rs_port_bind(struct rs_ring_state *state, uint8_t *region, uint32_t epoch)
{
	struct rs_cpu *cpu = rs_this_cpu();

	if (rs_likely(cpu->emit_epoch == epoch && cpu->emit_state == state))
		return;
	rs_store(&cpu->emit_epoch, 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* an interrupt may come in between */
	rs_store(&cpu->emit_region, region);
	rs_store(&cpu->emit_state, state);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rs_store(&cpu->emit_epoch, epoch);
}

/* Whether the task's name is to be noted now. `changed`: the ring's context may have changed. */
static inline bool rs_port_name_due(bool changed, uint32_t epoch)
{
	return changed;
}

static inline void rs_port_relax(void)
{
	__builtin_ia32_pause();
}

#endif
