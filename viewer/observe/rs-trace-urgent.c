/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SCHED_RESET_ON_FORK */
#include "rs-trace-urgent.h"

#include <sched.h>
#include <sys/resource.h>

#define NICE_LEAST (-20)
/* Three times the share of a core that others have; with more, they would have to wait for long. */
#define NICE_STEPS 5
#define RUN_US 9000
#define REST_PART 9 /* of the time that it ran */

/* RLIMIT_NICE counts from 20 down: 0 is nice 20, 40 is nice -20. */
static int least_nice(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NICE, &limit) || limit.rlim_cur > 40)
		return NICE_LEAST;
	return 20 - (int)limit.rlim_cur;
}

/* 0 is the calling thread, and the limit does not bind who has the capability. */
static gboolean ask_nice(void)
{
	const int now = getpriority(PRIO_PROCESS, 0), wanted = MAX(now - NICE_STEPS, NICE_LEAST);
	const int least = MAX(wanted, least_nice());

	return wanted < now && (!setpriority(PRIO_PROCESS, 0, wanted) ||
				(least < now && !setpriority(PRIO_PROCESS, 0, least)));
}

/* Who was started with a priority of real time keeps it. */
static gboolean is_real(void)
{
	const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

	return policy == SCHED_RR || policy == SCHED_FIFO;
}

RsTraceUrgent rs_trace_urgent_ask(RsTraceUrgent most)
{
	const struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_RR)};

	if (is_real())
		return RS_TRACE_URGENT_REAL;
	if (most == RS_TRACE_URGENT_REAL &&
	    !sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &param))
		return RS_TRACE_URGENT_REAL;
	if (most != RS_TRACE_URGENT_NOT && ask_nice())
		return RS_TRACE_URGENT_NICE;
	return RS_TRACE_URGENT_NOT;
}

void rs_trace_urgent_rest(gint64 *since)
{
	const gint64 now = g_get_monotonic_time();

	if (!*since) {
		*since = now;
	} else if (now - *since >= RUN_US) {
		g_usleep((gulong)((now - *since) / REST_PART));
		*since = 0;
	}
}
