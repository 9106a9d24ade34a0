/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences (rseq(2), which glibc 2.35 and later registers). If a thread is preempted,
 * moved to another CPU or given a signal inside such code, the kernel sends it to the abort label.
 * So a check of the CPU number and one plain store are atomic against every thread on that CPU,
 * without the price of a locked instruction.
 *
 * All users of a ring must use this, or none: a locked add on one CPU does not see a plain one on
 * another. A process without rseq uses locked instructions throughout.
 */
#ifndef RS_PORT_RESTART_X86_64_H
#define RS_PORT_RESTART_X86_64_H

#include <ringside/atomic.h>
#include <sys/rseq.h>

#if defined(__x86_64__) && !defined(RS_ATOMIC_SANITIZED)
#define RS_PORT_RESTARTABLE 1

/* Begins a sequence, from label 1 to label 2 with the abort label 4, and announces it to the
 * kernel. Uses rax. */
#define RS_RESTART_BEGIN                                                                           \
	".pushsection __rseq_cs, \"aw\"\n\t"                                                       \
	".balign 32\n"                                                                             \
	"3:\n\t"                                                                                   \
	".long 0, 0\n\t"                                                                           \
	".quad 1f, 2f - 1f, 4f\n\t"                                                                \
	".popsection\n\t"                                                                          \
	".pushsection __rseq_failure, \"ax\"\n\t"                                                  \
	".byte 0x0f, 0xb9, 0x3d\n\t" /* the signature, as an instruction that traps */             \
	".long %c[sig]\n"                                                                          \
	"4:\n\t"                                                                                   \
	"jmp %l[lost]\n\t"                                                                         \
	".popsection\n\t"                                                                          \
	"leaq 3b(%%rip), %%rax\n\t"                                                                \
	"movq %%rax, %%fs:8(%[area])\n"                                                            \
	"1:\n\t"                                                                                   \
	"cmpl %[cpu], %%fs:4(%[area])\n\t" /* cpu_id */                                            \
	"jne %l[lost]\n\t"

/*
 * Ends it. The kernel looks at what was announced when it next interrupts the thread, perhaps long
 * afterwards: the image that holds it may have been unloaded by then.
 */
#define RS_RESTART_END "2:\n\tmovq $0, %%fs:8(%[area])\n"

static inline __attribute__((always_inline)) void rs_restart_end(ptrdiff_t area)
{
	__asm__ volatile("movq $0, %%fs:8(%0)" : : "r"(area) : "memory");
}

/*
 * The distance of the thread's rseq area from its thread pointer. Read it once and hand it on: the
 * code below clobbers memory, so the compiler would load it again.
 */
static inline __attribute__((always_inline)) ptrdiff_t rs_restart_area(void)
{
	return __rseq_offset;
}

/* The CPU that we run on; huge if the thread is not registered. Needs restartable sequences. */
static inline uint32_t rs_restart_cpu(ptrdiff_t at)
{
	const struct rseq *area =
		(const struct rseq *)((const char *)__builtin_thread_pointer() + at);

	return __atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED);
}

/* The event clock of a process that has restartable sequences: see rs_port_time(). */
static inline __attribute__((always_inline)) uint64_t rs_restart_time(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}

/* If we run on `cpu` and *p is `expected`: *p = next, true. */
static inline __attribute__((always_inline)) bool
rs_restart_cas64(ptrdiff_t area, uint32_t cpu, uint64_t *p, uint64_t expected, uint64_t next)
{
	__asm__ goto(RS_RESTART_BEGIN "cmpq %[expected], %[p]\n\t"
				      "jne %l[lost]\n\t"
				      "movq %[next], %[p]\n" RS_RESTART_END
		     :
		     : [area] "r"(area), [cpu] "r"(cpu), [p] "m"(*p), [expected] "r"(expected),
		       [next] "r"(next), [sig] "i"(RSEQ_SIG)
		     : "rax", "memory", "cc"
		     : lost);
	return true;
lost:
	rs_restart_end(area);
	return false;
}

/* Adds to *local if we still run on `cpu`, else to *remote, with a locked instruction. */
static inline __attribute__((always_inline)) void
rs_restart_add32(ptrdiff_t area, uint32_t cpu, uint32_t *local, uint32_t *remote, uint32_t n)
{
	__asm__ goto(
		RS_RESTART_BEGIN "addl %[n], %[p]\n" RS_RESTART_END
		:
		: [area] "r"(area), [cpu] "r"(cpu), [p] "m"(*local), [n] "r"(n), [sig] "i"(RSEQ_SIG)
		: "rax", "memory", "cc"
		: lost);
	return;
lost:
	rs_restart_end(area);
	rs_shared_add32(remote, n);
}
#endif

/* Whether this process may use the above. Constant once the program runs. */
static inline bool rs_port_restartable(void)
{
#ifdef RS_PORT_RESTARTABLE
	return __builtin_expect(__rseq_size != 0, 1);
#else
	return false;
#endif
}

#endif
