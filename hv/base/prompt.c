/* SPDX-License-Identifier: MIT */
/* See prompt.h. */
#define _GNU_SOURCE
#include "base/prompt.h"

#include <errno.h>
#include <glib.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_NS 500000 /* shorter than the usual ones, and enough for a batch */
#define LONG_BITS (8 * sizeof(unsigned long))

/* The kernel's. Its own header has another struct sched_param than the C library's. */
struct sched_attr {
	uint32_t size;
	uint32_t sched_policy;
	uint64_t sched_flags;
	int32_t sched_nice;
	uint32_t sched_priority;
	uint64_t sched_runtime, sched_deadline, sched_period;
};

static bool get(struct sched_attr *attr)
{
	attr->size = sizeof(*attr);
	return !syscall(SYS_sched_getattr, 0, attr, sizeof(*attr), 0);
}

static bool set(struct sched_attr *attr)
{
	attr->size = sizeof(*attr);
	attr->sched_flags |= SCHED_FLAG_RESET_ON_FORK;
	return !syscall(SYS_sched_setattr, 0, attr, 0);
}

void rs_prompt_thread(void)
{
	struct sched_attr attr = {0};

	if (!get(&attr) || attr.sched_policy != SCHED_NORMAL || attr.sched_nice < 0)
		return;
	attr.sched_runtime = TURN_NS;
	set(&attr);
}

/* This thread comes first, although its work is done. */
static __thread bool lingers;

/* Nobody has asked for something else. */
static bool is_usual(void)
{
	struct sched_attr attr = {0};

	return lingers || (get(&attr) && attr.sched_policy == SCHED_NORMAL && !attr.sched_nice);
}

static bool come_first(void)
{
	struct sched_attr attr;

	if (lingers) {
		lingers = false;
		return true;
	}
	if (!is_usual())
		return false;
	attr = (struct sched_attr){.sched_policy = SCHED_RR, .sched_priority = 1};
	return set(&attr);
}

void rs_prompt_helper(void)
{
	if (!come_first())
		rs_prompt_thread();
}

void rs_prompt_start(pthread_t *thread, void *(*run)(void *data), void *data)
{
	const struct sched_param first = {.sched_priority = 1};
	pthread_attr_t attr;
	int ret = EPERM;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_RR);
	pthread_attr_setschedparam(&attr, &first);
	if (is_usual())
		ret = pthread_create(thread, &attr, run, data);
	if (ret)
		ret = pthread_create(thread, NULL, run, data);
	pthread_attr_destroy(&attr);
	if (ret)
		g_error("no thread could be made: %s", g_strerror(ret));
}

/* ---- one piece of work ---- */

void rs_prompt_begin(struct rs_prompt *work)
{
	unsigned int cpu;

	work->size = 0;
	work->first = come_first();
	if (!work->first)
		return;
	work->size = syscall(SYS_sched_getaffinity, 0, sizeof(work->before), work->before);
	if (work->size <= 0 || syscall(SYS_getcpu, &cpu, NULL, NULL) || cpu >= work->size * 8) {
		work->size = 0;
		return;
	}
	work->cpu = cpu;
	rs_prompt_gather(work, 0);
}

void rs_prompt_gather(const struct rs_prompt *work, pid_t tid)
{
	unsigned long here[RS_PROMPT_CPU_WORDS] = {0};

	if (!work->size)
		return;
	here[work->cpu / LONG_BITS] = 1ul << work->cpu % LONG_BITS;
	syscall(SYS_sched_setaffinity, tid, work->size, here);
}

void rs_prompt_release(const struct rs_prompt *work, pid_t tid)
{
	if (work->size)
		syscall(SYS_sched_setaffinity, tid, work->size, work->before);
}

void rs_prompt_end(struct rs_prompt *work)
{
	rs_prompt_release(work, 0);
	lingers |= work->first;
	work->first = false;
	work->size = 0;
}

void rs_prompt_rest(void)
{
	struct sched_attr usual = {.sched_policy = SCHED_NORMAL, .sched_runtime = TURN_NS};

	if (lingers)
		set(&usual);
	lingers = false;
}
