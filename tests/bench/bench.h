/* SPDX-License-Identifier: MIT */
/*
 * The measurement of every benchmark program. It repeats a body of work in rounds and takes the
 * fastest round, since noise only makes a round slower. Prints "NAME VALUE UNIT" lines, which
 * tests/bench/report.py reads.
 */
#ifndef RS_TESTS_BENCH_H
#define RS_TESTS_BENCH_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/*
 * Short rounds: some of them are not interrupted even on a busy machine. A program of slower work
 * defines fewer before it includes this.
 */
#ifndef BENCH_LOOPS
#define BENCH_ROUNDS 300
#define BENCH_LOOPS 20000u
#endif

static inline uint64_t bench_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/* Nanoseconds of one call of `body(i)`, loop included. `body` is an expression that uses i. */
#define BENCH(best, body)                                                                          \
	do {                                                                                       \
		best = 1e18;                                                                       \
		for (int round_ = 0; round_ < BENCH_ROUNDS; round_++) {                            \
			uint64_t start_ = bench_now_ns();                                          \
			for (uint32_t i = 0; i < BENCH_LOOPS; i++) {                               \
				body;                                                              \
				__asm__ volatile("" : : : "memory");                               \
			}                                                                          \
			double took_ = (double)(bench_now_ns() - start_) / BENCH_LOOPS;            \
			if (took_ < best)                                                          \
				best = took_;                                                      \
		}                                                                                  \
	} while (0)

/*
 * The same for `count` threads at once, each on its own CPU. A round lasts from the common start to
 * the end of the last thread.
 */
struct bench_team {
	void (*loop)(void); /* BENCH_LOOPS calls */
	int count;
	uint32_t ready, go, done;
};

struct bench_member {
	struct bench_team *team;
	int index;
};

static inline void *bench_member_run(void *data)
{
	struct bench_member *me = (struct bench_member *)data;
	struct bench_team *team = me->team;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(me->index % sysconf(_SC_NPROCESSORS_ONLN), &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	for (uint32_t round = 1; round <= BENCH_ROUNDS; round++) {
		__atomic_fetch_add(&team->ready, 1, __ATOMIC_ACQ_REL);
		while (__atomic_load_n(&team->go, __ATOMIC_ACQUIRE) != round)
			__builtin_ia32_pause();
		team->loop();
		__atomic_fetch_add(&team->done, 1, __ATOMIC_ACQ_REL);
	}
	return NULL;
}

static inline void bench_await(uint32_t *at, uint32_t value)
{
	while (__atomic_load_n(at, __ATOMIC_ACQUIRE) != value)
		__builtin_ia32_pause();
}

/* Nanoseconds of one call in each thread; the calling thread is the team's first. */
static inline double bench_team(int count, void (*loop)(void))
{
	struct bench_team team = {.loop = loop, .count = count};
	struct bench_member member[8];
	pthread_t thread[8];
	cpu_set_t before, first;
	double best = 1e18;

	sched_getaffinity(0, sizeof(before), &before);
	for (int i = 1; i < count; i++) {
		member[i] = (struct bench_member){.team = &team, .index = i};
		if (pthread_create(&thread[i], NULL, bench_member_run, &member[i]))
			exit(1);
	}
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);
	for (uint32_t round = 1; round <= BENCH_ROUNDS; round++) {
		uint32_t others = (uint32_t)count - 1;
		uint64_t start;
		double took;

		bench_await(&team.ready, others * round);
		start = bench_now_ns();
		__atomic_store_n(&team.go, round, __ATOMIC_RELEASE);
		loop();
		bench_await(&team.done, others * round);
		took = (double)(bench_now_ns() - start) / BENCH_LOOPS;
		if (took < best)
			best = took;
	}
	for (int i = 1; i < count; i++)
		pthread_join(thread[i], NULL);
	sched_setaffinity(0, sizeof(before), &before);
	return best;
}

static inline void bench_print(const char *name, double value, const char *unit)
{
	printf("%s %.3f %s\n", name, value, unit);
	fflush(stdout);
}

#endif
