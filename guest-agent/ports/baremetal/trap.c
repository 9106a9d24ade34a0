/* SPDX-License-Identifier: MIT */
/* Calls the guest's hooks for a frame. Also the software interrupt mask. */
#include "internal.h"
#include <ringside/agent.h>
#include <ringside/record.h>

#define PENDING_NMI 0x80000000u
#define PENDING_WOKEN 0x40000000u /* an NMI came: what is about to halt must not */

/*
 * Code in which the vCPU must not change tasks: the agent core, where a record may be half written,
 * and the way back from a hook. The linker script puts both between two symbols.
 */
#define CRITICAL __attribute__((section(".text.rs_critical")))
extern const char rs_critical_start[], rs_critical_end[];

/* One instruction each, so an interrupt that switches tasks comes before or after it. */
static void context_or(uint8_t bits)
{
	__asm__ volatile("orb %0, %%gs:%c1" ::"iq"(bits), "i"(RS_CPU_CONTEXT) : "memory", "cc");
}

static void context_and(uint8_t bits)
{
	__asm__ volatile("andb %0, %%gs:%c1" ::"iq"(bits), "i"(RS_CPU_CONTEXT) : "memory", "cc");
}

static uint16_t context(void)
{
	return RS_GS_READ(uint16_t, RS_CPU_CONTEXT);
}

bool rs_irq_save(void)
{
	bool on = !(context() & RS_CTX_IRQS_OFF);
	context_or(RS_CTX_IRQS_OFF);
	return on;
}

void rs_irq_restore(bool were_on)
{
	if (!were_on)
		return;
	if (RS_GS_READ(uint32_t, RS_CPU_PENDING))
		rs_irq_replay();
	context_and((uint8_t)~RS_CTX_IRQS_OFF);
	/*
	 * An interrupt that came after the replay and before the mask was cleared is still pending.
	 */
	while (RS_GS_READ(uint32_t, RS_CPU_PENDING)) {
		context_or(RS_CTX_IRQS_OFF);
		rs_irq_replay();
		context_and((uint8_t)~RS_CTX_IRQS_OFF);
	}
}

void rs_preempt_disable(void)
{
	__asm__ volatile("incb %%gs:%c0" ::"i"(RS_CPU_PREEMPT) : "memory", "cc");
}

void rs_preempt_enable(void)
{
	__asm__ volatile("decb %%gs:%c0" ::"i"(RS_CPU_PREEMPT) : "memory", "cc");
}

uint32_t rs_preempt_depth(void)
{
	return context() >> RS_CTX_PREEMPT_SHIFT;
}

void rs_need_resched(bool need)
{
	if (need)
		context_or(RS_CTX_NEED_RESCHED);
	else
		context_and((uint8_t)~RS_CTX_NEED_RESCHED);
}

bool rs_resched_needed(void)
{
	return context() & RS_CTX_NEED_RESCHED;
}

/* Interrupts are off. */
static void run_irq(uint32_t vector, struct rs_frame *frame)
{
	context_or(RS_CTX_HARDIRQ);
	if (vector == RS_VEC_TIMER) {
		rs_this_cpu()->ticks++;
		rs_on_tick(frame);
	} else if (vector == RS_VEC_IPI) {
		rs_on_ipi(frame);
	} else if (vector == RS_VEC_NUDGE) {
		rs_agent_look();
		rs_on_nudge(frame);
	}
	context_and((uint8_t)~RS_CTX_HARDIRQ);
}

static void run_nmi(struct rs_frame *frame)
{
	context_or(RS_CTX_NMI);
	/* The NMI may have come between a task's last look and its HLT. */
	if (context() & RS_CTX_IRQS_OFF)
		__asm__ volatile("orl %0, %%gs:%c1" ::"i"(PENDING_WOKEN), "i"(RS_CPU_PENDING)
				 : "memory", "cc");
	rs_agent_look();
	rs_on_nmi(frame);
	context_and((uint8_t)~RS_CTX_NMI);
}

static uint32_t take_pending(void)
{
	uint32_t none = 0;
	__asm__ volatile("xchgl %0, %%gs:%c1" : "+r"(none) : "i"(RS_CPU_PENDING) : "memory");
	return none;
}

void rs_irq_replay(void)
{
	struct rs_frame none = {0}; /* the caller is the interrupted code */
	uint32_t pending;
	none.rip = (uint64_t)(uintptr_t)__builtin_return_address(0);
	while ((pending = take_pending())) {
		if (pending & PENDING_NMI)
			run_nmi(&none);
		for (uint32_t bit = 0; bit < 16; bit++)
			if (pending & 1u << bit)
				run_irq(RS_VEC_IRQ_FIRST + bit, &none);
	}
	if (!(context() & RS_CTX_HARDIRQ))
		rs_on_irq_exit();
}

static void die(const struct rs_frame *frame)
{
	if (frame->vector == RS_VEC_DF)
		rs_panic("unusable stack: fault at 0x%lx, rip 0x%lx", frame->fault_address,
			 frame->rip);
	rs_panic("exception %lu error 0x%lx rip 0x%lx address 0x%lx rsp 0x%lx rax 0x%lx rdi 0x%lx",
		 frame->vector, frame->error, frame->rip,
		 frame->vector == RS_VEC_PF ? frame->fault_address : 0, rs_frame_sp(frame),
		 frame->rax, frame->rdi);
}

/* A breakpoint of the host's, in a site that is being switched. No site may lie on the way here. */
static bool step_over(struct rs_frame *frame)
{
	uintptr_t next = rs_agent_breakpoint((uintptr_t)frame->rip - 1);
	if (next)
		frame->rip = next;
	return next;
}

static __attribute__((noinline)) void handle(struct rs_frame *frame)
{
	if (frame->vector == RS_VEC_SYSCALL) {
		frame->rax = rs_on_syscall(frame->rax, frame->rdi, frame->rsi, frame->rdx, frame);
	} else if (frame->vector == RS_VEC_NMI) {
		run_nmi(frame);
	} else if (frame->vector >= RS_VEC_IRQ_FIRST) {
		/* The stub has set RS_CTX_IRQS_OFF, which was clear. */
		run_irq((uint32_t)frame->vector, frame);
		rs_on_irq_exit();
		rs_irq_restore(true);
	} else if (frame->vector == RS_VEC_INT3 && step_over(frame)) {
		return;
	} else if (frame->vector == RS_VEC_DF || !rs_on_fault(frame)) {
		die(frame);
	}
}

CRITICAL void rs_dispatch(struct rs_frame *frame)
{
	bool critical = frame->rip - (uintptr_t)rs_critical_start <
			(uintptr_t)(rs_critical_end - rs_critical_start);
	if (critical)
		rs_preempt_disable();
	handle(frame);
	if (critical)
		__asm__ volatile("decb %%gs:%c0" ::"i"(RS_CPU_PREEMPT) : "memory", "cc");
}

/* Interrupts are off, and one that came since they are keeps the vCPU from halting. */
static void halt(void)
{
	if (rs_apic_present())
		rs_ring0_call(NULL, 0, 0);
	else
		rs_pause();
}

void rs_idle(void)
{
	bool on = rs_irq_save();
	halt();
	rs_irq_restore(on);
}

void rs_wait_nudge(const uint32_t *nudge, uint32_t seen, bool nudged)
{
	bool on = rs_irq_save();
	if (nudged && rs_load_acquire(nudge) == seen)
		halt();
	else
		rs_pause();
	rs_irq_restore(on);
}

uint64_t rs_stack_init(void *stack, size_t size, void (*f)(void *arg), void *arg)
{
	extern void rs_switch_first(void);
	uint64_t *sp = (uint64_t *)(((uintptr_t)stack + size) & ~(uintptr_t)15);
	*--sp = 0;
	*--sp = (uint64_t)(uintptr_t)rs_switch_first;
	*--sp = 0;                        /* rbx */
	*--sp = 0;                        /* rbp */
	*--sp = (uint64_t)(uintptr_t)f;   /* r12 */
	*--sp = (uint64_t)(uintptr_t)arg; /* r13 */
	*--sp = 0;
	*--sp = 0;
	return (uint64_t)(uintptr_t)sp;
}

/* ---- What a guest may leave out ---- */

__attribute__((weak)) bool rs_on_fault(struct rs_frame *frame)
{
	return false;
}

__attribute__((weak)) uint64_t rs_on_syscall(uint64_t number, uint64_t a, uint64_t b, uint64_t c,
					     struct rs_frame *frame)
{
	return (uint64_t)-1;
}

__attribute__((weak)) void rs_on_tick(struct rs_frame *frame)
{
}

__attribute__((weak)) void rs_on_ipi(struct rs_frame *frame)
{
}

__attribute__((weak)) void rs_on_nudge(struct rs_frame *frame)
{
}

__attribute__((weak)) void rs_on_nmi(struct rs_frame *frame)
{
}

__attribute__((weak)) void rs_on_irq_exit(void)
{
}
