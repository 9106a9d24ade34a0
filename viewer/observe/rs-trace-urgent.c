/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SCHED_RESET_ON_FORK */
#include "rs-trace-urgent.h"

#include <sched.h>
#include <sys/resource.h>

#define NICE_BEST (-20)
#define RUN_US 9000
#define REST_US 1000

/* RLIMIT_NICE counts from 20 down: 0 is nice 20, 40 is nice -20. */
static int best_nice(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NICE, &limit) || limit.rlim_cur > 40)
		return NICE_BEST;
	return 20 - (int)limit.rlim_cur;
}

RsTraceUrgent rs_trace_urgent_ask(void)
{
	const struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_RR)};
	const int best = best_nice();

	if (!sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &param))
		return RS_TRACE_URGENT_REAL;
	/* 0 is the calling thread, and the limit does not bind who has the capability. */
	if (!setpriority(PRIO_PROCESS, 0, NICE_BEST) ||
	    (best < getpriority(PRIO_PROCESS, 0) && !setpriority(PRIO_PROCESS, 0, best)))
		return RS_TRACE_URGENT_NICE;
	return RS_TRACE_URGENT_NOT;
}

void rs_trace_urgent_rest(gint64 *since)
{
	const gint64 now = g_get_monotonic_time();

	if (!*since) {
		*since = now;
	} else if (now - *since >= RUN_US) {
		g_usleep(REST_US);
		*since = 0;
	}
}
