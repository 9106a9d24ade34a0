/* SPDX-License-Identifier: MIT */
/*
 * LTTng-UST doing what tests/bench/bench-emit.c does. Runs under the session that report.py has
 * set up; the argument says which figure that session gives, "one" or "two" threads.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tp.h"

#include "../bench.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *emit(void *result)
{
	double ns;

	BENCH(ns, lttng_ust_tracepoint(bench, pair, i, 7));
	*(double *)result = ns;
	return NULL;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "lttng";
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	double ns[8] = {0}, slowest = 0;
	pthread_t thread[8];

	if (threads < 1 || threads > 8)
		return 2;
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, emit, &ns[i]);
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		slowest = ns[i] > slowest ? ns[i] : slowest;
	}
	bench_print(name, slowest, "ns");
	return 0;
}
