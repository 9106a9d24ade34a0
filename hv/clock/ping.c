/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_setaffinity() */
#include "clock/ping.h"

#include "base/ticks.h"
#include <glib.h>
#include <ringside/atomic.h>
#include <rs-trace-clock.h>
#include <sched.h>

#define ROUNDS_MAX 48u
#define GOOD_NS 400u        /* a bracket of this width is narrow enough … */
#define ROUNDS_GOOD 8u      /* … after this many rounds */
#define PATIENCE_NS 700000u /* wait for an agent that should look soon, at most twice … */
#define GLANCE_NS 100000u   /* … for an agent that may never look … */
#define NEXT_NS 50000u      /* … and for the next answer of one that has answered */
#define ALL_NS 600000u      /* for all answers after the first */

struct round {
	uint64_t before, after; /* CLOCK_MONOTONIC */
	uint64_t ticks;
};

static uint32_t send(const struct rs_ping_config *config, struct round *round)
{
	uint32_t ping = rs_load(&config->control->clock_ping) + 1;

	round->before = rs_monotonic_ns();
	*config->sent = (struct rs_ping_sent){.ping = ping, .ns = round->before};
	/* Release: pairs with the agent's acquire, after which it reads its clock. */
	rs_store_release(&config->control->clock_ping, ping);
	return ping;
}

static bool await(const struct rs_ping_config *config, uint32_t ping, uint64_t until,
		  struct round *round)
{
	do {
		/* Acquire: pairs with the agent's release after it has written clock_ts. */
		uint32_t pong = rs_load_acquire(&config->info->clock_pong);

		round->after = rs_monotonic_ns();
		if (pong == ping) {
			round->ticks = rs_load(&config->info->clock_ts);
			return true;
		}
	} while (round->after < until);
	return false;
}

/* Narrows down when the event clock showed `ticks`, the first answer, by what this round tells. */
static void bracket(const struct round *round, uint64_t ticks, const struct rs_clock_epoch *rate,
		    uint64_t *low, uint64_t *high)
{
	uint64_t since = rs_trace_clock_epoch_ns(rate, round->ticks - ticks);

	*low = MAX(*low, round->before - MIN(since, round->before));
	*high = MIN(*high, round->after - MIN(since, round->after));
}

/*
 * A vCPU may be waiting for the very CPU on which we spin, again and again. So we move to another
 * CPU. False: there is no other.
 */
static bool leave_cpu(cpu_set_t *before)
{
	int cpu = sched_getcpu();
	cpu_set_t others;

	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*before), before))
		return false;
	others = *before;
	CPU_CLR(cpu, &others);
	return CPU_COUNT(&others) && !sched_setaffinity(0, sizeof(others), &others);
}

/* All rounds after the first, which was answered. */
static bool exchange(const struct rs_ping_config *config, struct round *first, struct rs_pong *out)
{
	uint64_t low = 0, high = UINT64_MAX, ticks = first->ticks;
	struct rs_clock_epoch rate = {0};
	struct round round = *first;

	rs_trace_clock_rate(config->hz, &rate);
	bracket(&round, ticks, &rate, &low, &high);
	for (uint32_t i = 1; i < ROUNDS_MAX && round.after - first->after < ALL_NS; i++) {
		uint32_t ping;

		if (i >= ROUNDS_GOOD && high - low <= GOOD_NS)
			break;
		ping = send(config, &round);
		/* The agent looks no more, but its answers so far are good. */
		if (!await(config, ping, round.before + NEXT_NS, &round))
			break;
		bracket(&round, ticks, &rate, &low, &high);
		if (low > high)
			return false;
	}
	*out = (struct rs_pong){
		.ticks = ticks, .ns = low + (high - low) / 2, .error_ns = (high - low) / 2 + 1};
	return true;
}

bool rs_ping_late(const struct rs_ping_config *config, struct rs_pong *out)
{
	uint64_t sent = config->sent->ns, now;

	/* Acquire: pairs with the agent's release after it has written clock_ts. */
	if (!sent || rs_load_acquire(&config->info->clock_pong) != config->sent->ping)
		return false;
	config->sent->ns = 0;
	now = rs_monotonic_ns();
	*out = (struct rs_pong){.ticks = rs_load(&config->info->clock_ts),
				.ns = sent + (now - sent) / 2,
				.error_ns = (now - sent) / 2 + 1};
	return true;
}

bool rs_ping(const struct rs_ping_config *config, struct rs_pong *out)
{
	/* Whether the agent answered the last ping, if only late. */
	bool looks = rs_load(&config->info->clock_pong) == rs_load(&config->control->clock_ping);
	struct round round;
	cpu_set_t cpus;
	uint32_t ping = send(config, &round);
	bool done;

	/* Only after the ping, so that an agent that is interrupted finds it. */
	if (config->nudge && config->nudge(config->data))
		looks = true;
	if (await(config, ping, round.before + (looks ? PATIENCE_NS : GLANCE_NS), &round))
		return exchange(config, &round, out);
	if (!looks || !leave_cpu(&cpus))
		return false;
	ping = send(config, &round);
	done = await(config, ping, round.before + PATIENCE_NS, &round) &&
	       exchange(config, &round, out);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	return done;
}
