/* SPDX-License-Identifier: MIT */
/*
 * The hosted counterpart of `bench-guest serve`, with the same events. Every thread runs through
 * 1,024 sites for ever, while bench-session switches them. Argument: threads (1).
 */
#define RS_CREATE_TRACE_POINTS
#include "../guests/bench/events.h"

#include <pthread.h>
#include <rs_hosted.h>
#include <stdlib.h>

#define TIMES4(x) x x x x
#define SITE trace_bench_many(number++);
#define SITES_256 TIMES4(TIMES4(TIMES4(TIMES4(SITE))))

/* Records carry the longest time between two of the last passes, as those of bench-guest do. */
#define LAST 512u

static void *serve(void *unused)
{
	uint64_t before = __builtin_ia32_rdtsc(), now, worst = 0, former = 0;

	for (uint32_t i = 0;; i++, before = now) {
		uint32_t number = 0;

		now = __builtin_ia32_rdtsc();
		if (i % LAST == 0) {
			former = worst;
			worst = 0;
		}
		worst = now - before > worst ? now - before : worst;
		trace_bench_two(i, (uint32_t)(worst > former ? worst : former));
		TIMES4(SITES_256)
		__asm__ volatile("" ::: "memory");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread;

	if (rs_hosted_init("bench-target") || !rs_hosted_active())
		return 1;
	for (int i = 1; i < threads; i++)
		if (pthread_create(&thread, NULL, serve, NULL))
			return 1;
	serve(NULL);
	return 0;
}
