/* SPDX-License-Identifier: MIT */
#include "session/ping.h"

#include "base/ticks.h"
#include <glib.h>
#include <ringside/atomic.h>
#include <rs-trace-clock.h>

#define ROUNDS_MAX 48u
#define GOOD_NS 400u       /* a bracket so narrow is narrow enough … */
#define ROUNDS_GOOD 8u     /* … after so many */
#define NUDGED_NS 1500000u /* patience with an agent that was nudged … */
#define NEXT_NS 50000u     /* … and with one that is there */
#define ALL_NS 2000000u    /* for everything */

struct round {
	uint64_t before, after; /* CLOCK_MONOTONIC */
	uint64_t ticks;
};

static uint32_t send(const struct rs_ping_config *config, struct round *round)
{
	uint32_t ping = rs_load(&config->control->clock_ping) + 1;

	round->before = rs_monotonic_ns();
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

/* Where the first answer's ticks lie in time, as far as this round tells. */
static void bracket(const struct round *round, uint64_t ticks, const struct rs_clock_epoch *rate,
		    uint64_t *low, uint64_t *high)
{
	uint64_t since = rs_trace_clock_epoch_ns(rate, round->ticks - ticks);

	*low = MAX(*low, round->before - MIN(since, round->before));
	*high = MIN(*high, round->after - MIN(since, round->after));
}

bool rs_ping(const struct rs_ping_config *config, struct rs_pong *out)
{
	uint64_t start = rs_monotonic_ns(), low = 0, high = UINT64_MAX;
	uint64_t patience = config->patience_ns, ticks;
	struct rs_clock_epoch rate = {0};
	struct round round;
	uint32_t ping;

	rs_trace_clock_rate(config->hz, &rate);
	ping = send(config, &round);
	/* After the ping: what is interrupted finds it. */
	if (config->nudge && config->nudge(config->data))
		patience = NUDGED_NS;
	if (!await(config, ping, start + patience, &round))
		return false;
	ticks = round.ticks;
	bracket(&round, ticks, &rate, &low, &high);
	for (uint32_t i = 1; i < ROUNDS_MAX && round.after - start < ALL_NS; i++) {
		if (i >= ROUNDS_GOOD && high - low <= GOOD_NS)
			break;
		ping = send(config, &round);
		/* An agent that went away leaves what it has said. */
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
