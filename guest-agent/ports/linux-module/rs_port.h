/* SPDX-License-Identifier: MIT */
/*
 * What the core asks of its port, inlined into every emit: the Linux kernel.
 *
 * Producers nest on one CPU, since no event is preempted (include/event_guard.h). So plain
 * instructions move the rings.
 */
#ifndef RS_PORT_H
#define RS_PORT_H

#include <asm/msr.h>
#include <linux/irqflags.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include <ringside/record.h>
#include <ringside/types.h>

#define RS_PORT_PREEMPTIBLE 0
/* Whether rs_port_stack_end() knows of any stack. */
#define RS_PORT_STACKS 0

static inline uint64_t rs_port_time(void)
{
	return rdtsc();
}

/* For preempted threads only. Here plain instructions do. */
static inline bool rs_port_restartable(void)
{
	return false;
}

/* The number of a possible CPU stays the same, whether it is plugged in or not. */
static inline uint32_t rs_port_cpu(void)
{
	return raw_smp_processor_id();
}

static inline uint32_t rs_port_pid(void)
{
	return current->pid;
}

static inline uint32_t rs_port_tgid(void)
{
	return current->tgid;
}

/* As the event's caller finds it: without the one level that the event itself adds. */
static inline uint32_t rs_port_context(void)
{
	uint32_t count = preempt_count(), depth = count & PREEMPT_MASK, context = 0;

	depth -= depth > 0;
	if (count & NMI_MASK)
		context |= RS_CTX_NMI;
	if (count & HARDIRQ_MASK)
		context |= RS_CTX_HARDIRQ;
	if (count & SOFTIRQ_OFFSET)
		context |= RS_CTX_SOFTIRQ;
	if (raw_irqs_disabled())
		context |= RS_CTX_IRQS_OFF;
	if (tif_need_resched())
		context |= RS_CTX_NEED_RESCHED;
	if (depth > RS_CTX_PREEMPT_MAX)
		depth = RS_CTX_PREEMPT_MAX;
	return context | depth << RS_CTX_PREEMPT_SHIFT;
}

/* Shorter than RS_COMM_LEN, but ends in a NUL; whoever reads it stops there. */
static inline const char *rs_port_comm(void)
{
	/* Each CPU has a task 0, and they have different names. */
	return current->pid ? current->comm : "<idle>";
}

/* Not known here: rs_trace_ops.stack_end. */
static inline bool rs_port_stack_end(uintptr_t frame, uintptr_t *end)
{
	return false;
}

/* The kernel goes on: whoever used the agent wrongly is told. */
void rs_port_panic(const char *why);

/* Whether the task's name is to be noted now. `changed`: the ring's context may have changed. */
static inline bool rs_port_name_due(bool changed, uint32_t epoch)
{
	return changed;
}

static inline void rs_port_relax(void)
{
	cpu_relax();
}

#endif
