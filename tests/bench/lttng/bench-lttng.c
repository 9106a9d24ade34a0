/* SPDX-License-Identifier: MIT */
/*
 * The work of tests/bench/bench-emit.c with LTTng-UST. report.py has set up the session. The
 * arguments say which figure the session is for, and how many threads there are.
 */
#define _GNU_SOURCE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tp.h"

#include "../bench.h"
#include <stdlib.h>

static void emit_loop(void)
{
	for (uint32_t i = 0; i < BENCH_LOOPS; i++) {
		lttng_ust_tracepoint(bench, pair, i, 7);
		__asm__ volatile("" : : : "memory");
	}
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "lttng";
	int threads = argc > 2 ? atoi(argv[2]) : 1;

	if (threads < 1 || threads > 8)
		return 2;
	bench_print(name, bench_team(threads, emit_loop), "ns");
	return 0;
}
