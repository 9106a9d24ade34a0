/* SPDX-License-Identifier: MIT */
#include "base/ticks.h"

#include <glib.h>
#include <time.h>

#define LOOKS 8u                /* tries: the shortest was surely not interrupted */
#define SHORTEST_NS 20000000ull /* over which a rate is measured */

static uint64_t clock_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t rs_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t rs_wall_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

struct rs_moment rs_moment_now(void)
{
	struct rs_moment best = {0};
	uint64_t shortest = UINT64_MAX;

	for (unsigned int i = 0; i < LOOKS; i++) {
		uint64_t before = rs_ticks(), ns = rs_monotonic_ns(), took = rs_ticks() - before;

		if (took >= shortest)
			continue;
		shortest = took;
		best = (struct rs_moment){.ticks = before + took / 2, .ns = ns};
	}
	return best;
}

double rs_moment_rate(const struct rs_moment *from, const struct rs_moment *to)
{
	if (to->ns <= from->ns)
		return 0;
	return (double)(to->ticks - from->ticks) * 1e9 / (double)(to->ns - from->ns);
}

uint64_t rs_ticks_hz(const struct rs_moment *since)
{
	uint64_t passed = rs_monotonic_ns() - since->ns;
	struct rs_moment now;

	if (passed < SHORTEST_NS)
		g_usleep((gulong)((SHORTEST_NS - passed) / 1000 + 1));
	now = rs_moment_now();
	return (uint64_t)rs_moment_rate(since, &now);
}
