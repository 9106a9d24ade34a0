/* SPDX-License-Identifier: MIT */
/*
 * What the core asks of its port, inlined into every emit. In an ordinary Linux process threads are
 * preempted, moved between CPUs and killed at any instruction. So restartable sequences move the
 * rings, or locked instructions where there are none.
 */
#ifndef RS_PORT_H
#define RS_PORT_H

#include <ringside/record.h>
#include <ringside/ring.h>
#include <ringside/types.h>
#include <sched.h>
#include <sys/rseq.h>

#include "restart_x86_64.h"
#include "rs_emit_port.h"

#define RS_PORT_PREEMPTIBLE 1
/* Whether rs_port_stack_end() knows of any stack. */
#define RS_PORT_STACKS 1

extern int sched_getcpu(void); /* declared by sched.h for _GNU_SOURCE only */

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* Facts of a thread. Filled on the thread's first event, and anew after fork (port.c). */
struct rs_port_thread {
	uint32_t pid;   /* thread id; 0: not known yet */
	uint32_t tgid;  /* process id */
	uint32_t named; /* the naming epoch in which the thread's name was noted */
	char comm[RS_COMM_LEN];
	bool speaks_for; /* the above is another's (rs_hosted_speak_for) */
	uint8_t callback_depth;
	/* What is known of its stack (stack.c); end 0: nothing. */
	bool stack_grows;
	uint8_t stack_finds; /* in vain so far */
	uintptr_t stack, stack_end;
};
extern __thread struct rs_port_thread rs_port_thread __attribute__((tls_model("initial-exec")));
void rs_port_thread_fill(void);

/* The calling thread reads its facts again. Its next event notes the name. */
void rs_port_thread_renamed(void);

/*
 * The time must be read after the ring's word. With restartable sequences only an interrupt can
 * come between the two, and it finds neither half ahead of the other: RDTSC does. Without them
 * another CPU can come between, and its record must then be the older one. The CPU may execute
 * RDTSC before the load of the word. RDTSCP waits for that load.
 */
static inline uint64_t rs_port_time(void)
{
	uint32_t lo, hi, aux;

	if (rs_port_restartable())
		__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	else
		__asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(aux) : : "memory");
	return (uint64_t)hi << 32 | lo;
}

static inline uint32_t rs_port_cpu(void)
{
	const struct rseq *area =
		(const struct rseq *)((const char *)__builtin_thread_pointer() + __rseq_offset);
	int cpu;

	if (__builtin_expect(__rseq_size != 0, 1))
		cpu = (int)__atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED);
	else
		cpu = -1;
	if (__builtin_expect(cpu < 0, 0)) /* not registered (a sandbox) */
		cpu = sched_getcpu();
	return (uint32_t)cpu;
}

static inline uint32_t rs_port_pid(void)
{
	if (__builtin_expect(rs_port_thread.pid == 0, 0))
		rs_port_thread_fill();
	return rs_port_thread.pid;
}

static inline uint32_t rs_port_tgid(void)
{
	if (__builtin_expect(rs_port_thread.pid == 0, 0))
		rs_port_thread_fill();
	return rs_port_thread.tgid;
}

static inline uint32_t rs_port_context(void)
{
	return RS_CTX_USER;
}

static inline const char *rs_port_comm(void)
{
	if (__builtin_expect(rs_port_thread.pid == 0, 0))
		rs_port_thread_fill();
	return rs_port_thread.comm;
}

/* From now on events of this thread may take the fast path, while it runs on the ring's CPU. */
static inline void rs_port_bind(struct rs_ring_state *state, uint8_t *region, uint32_t epoch)
{
#ifdef RS_EMIT_KIND
	if (rs_likely(rs_emit_self.epoch == epoch)) {
		rs_store(&rs_emit_self.state, state);
		return;
	}
	rs_store(&rs_emit_self.epoch, 0);
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* a signal may come in between */
	rs_store(&rs_emit_self.region, region);
	rs_store(&rs_emit_self.mark, rs_context_mark(rs_port_pid(), rs_port_context()));
	rs_store(&rs_emit_self.state, state);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rs_store(&rs_emit_self.epoch, epoch);
#endif
}

/* What the thread is called, or who it is, has changed: its next event takes the slow path. */
static inline void rs_port_unbind(void)
{
	rs_port_thread.named = 0;
#ifdef RS_EMIT_KIND
	rs_store(&rs_emit_self.epoch, 0);
#endif
}

/* Whether the task's name is to be noted now. `changed`: the ring's context may have changed. */
static inline bool rs_port_name_due(bool changed, uint32_t epoch)
{
	if (__builtin_expect(rs_port_thread.named == epoch, 1))
		return false;
	rs_port_thread.named = epoch;
	return true;
}

/* Only a thread's own stack has a known end, not one that a signal handler or coroutine brings. */
__attribute__((cold)) bool rs_port_stack_find(uintptr_t frame, uintptr_t *end);
static inline bool rs_port_stack_end(uintptr_t frame, uintptr_t *end)
{
	*end = rs_port_thread.stack_end;
	if (__builtin_expect(frame >= rs_port_thread.stack && frame < *end, 1))
		return true;
	return rs_port_stack_find(frame, end);
}

/* Says why on stderr, and aborts. */
void rs_port_panic(const char *why) __attribute__((noreturn));

/* How deep the calling thread is in callbacks. */
static inline uint8_t *rs_port_callback_depth(void)
{
	return &rs_port_thread.callback_depth;
}

static inline void rs_port_relax(void)
{
	sched_yield();
}

#pragma GCC visibility pop

#endif
