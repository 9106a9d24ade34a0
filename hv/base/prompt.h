/* SPDX-License-Identifier: MIT */
/*
 * Threads that others wait for: they have little to do, and are to have a CPU at once when they
 * wake, also where others use all CPUs.
 */
#ifndef RS_HV_PROMPT_H
#define RS_HV_PROMPT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Asks for short turns for the calling thread. It gets no larger share of a CPU. But whoever has
 * longer turns, as everybody has by default, is interrupted when it wakes. That needs no right. A
 * kernel before 6.12 ignores it. Threads and processes that it makes from now on have turns of the
 * usual length, and no nice value below 0 either. So nothing changes for a thread that has one, or
 * that is not scheduled in the usual way. May be called after fork in a process with threads.
 */
void rs_prompt_thread(void);

/*
 * For a thread that works for microseconds when it is told to, and sleeps otherwise. It comes
 * before all that are scheduled in the usual way (SCHED_RR, 1), if we may ask for that: root,
 * CAP_SYS_NICE, RLIMIT_RTPRIO. Otherwise, and with a nice value, it is rs_prompt_thread().
 */
void rs_prompt_helper(void);
/* Starts a thread that is one from its first instruction on, so that it need not wait for a first
 * turn. It calls rs_prompt_helper() all the same. */
void rs_prompt_start(pthread_t *thread, void *(*run)(void *data), void *data);

/*
 * One piece of work that the calling thread does in turns with helpers. It comes first as they do
 * until the work ends, and they run on its CPU. To wake a thread on another CPU takes an interrupt,
 * which in a virtual machine takes longer than most of what a helper does. Nothing of this is done
 * without the right to come first. Threads and processes that the caller makes meanwhile are
 * scheduled in the usual way, but stay on that CPU.
 */
#define RS_PROMPT_CPU_WORDS 128u /* 8,192 CPUs, as many as a kernel can have */
struct rs_prompt {
	bool first;
	unsigned int cpu;
	long size; /* bytes of `before` that the kernel has; 0: nobody was gathered */
	unsigned long before[RS_PROMPT_CPU_WORDS]; /* where the thread may run */
};

void rs_prompt_begin(struct rs_prompt *work);
/* From now on thread `tid` runs on the work's CPU, or wherever the caller could before. Harmless if
 * the work has not begun, or the thread has ended. */
void rs_prompt_gather(const struct rs_prompt *work, pid_t tid);
void rs_prompt_release(const struct rs_prompt *work, pid_t tid);
/*
 * Harmless if none has begun. The thread still comes first until rs_prompt_rest(): who stops to do
 * so has to wait for a turn at once, as if it had just had a long one. So that is called where
 * nobody waits for the thread, such as before its loop sleeps.
 */
void rs_prompt_end(struct rs_prompt *work);
void rs_prompt_rest(void);

#endif
