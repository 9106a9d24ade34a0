/* SPDX-License-Identifier: MIT */
#include "target/patience.h"

#include "target/process.h"

#define LOOK_MS 50
#define STOPS_MAX 2u         /* a debugger stops it for a moment */
#define ASLEEP_MAX_US 800000 /* a main thread that owes an answer has no reason to sleep so long */
#define SHORT_US 400000      /* asleep, or at work */

struct rs_patience rs_patience_new(pid_t pid, gint64 deadline)
{
	return (struct rs_patience){
		.pid = pid,
		.deadline = deadline,
		.asleep_since = g_get_monotonic_time(),
		.asleep_max = ASLEEP_MAX_US,
		.ran_end = UINT64_MAX,
	};
}

struct rs_patience rs_patience_new_short(pid_t pid, gint64 deadline)
{
	struct rs_patience patience = rs_patience_new(pid, deadline);
	char state;

	patience.asleep_max = SHORT_US;
	if (pid > 0 && rs_process_task_activity(pid, &state, &patience.ran_ns))
		patience.ran_end = patience.ran_ns + SHORT_US * 1000ull;
	return patience;
}

/* Whether it may still answer. */
static bool look(struct rs_patience *patience, gint64 now)
{
	char state;
	uint64_t ran;

	if (!rs_process_task_activity(patience->pid, &state, &ran))
		return true; /* it has ended, which its socket tells */
	patience->stops = state == 'T' || state == 't' ? patience->stops + 1 : 0;
	if (state == 'R' || ran != patience->ran_ns)
		patience->asleep_since = now;
	patience->ran_ns = ran;
	return patience->stops < STOPS_MAX && ran < patience->ran_end &&
	       now - patience->asleep_since < patience->asleep_max;
}

int rs_patience_ms(struct rs_patience *patience)
{
	gint64 now = g_get_monotonic_time(), left = patience->deadline - now;

	if (left <= 0)
		return 0;
	left = (left + 999) / 1000;
	if (patience->pid <= 0)
		return (int)MIN(left, G_MAXINT);
	return look(patience, now) ? (int)MIN(left, LOOK_MS) : 0;
}
