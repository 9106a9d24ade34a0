/* SPDX-License-Identifier: MIT */
/*
 * How every benchmark program measures: a body of work, repeated until it has run long enough, the
 * fastest of several rounds (noise only ever adds). Prints "NAME VALUE UNIT" lines, which
 * tests/bench/report.py reads.
 */
#ifndef RS_TESTS_BENCH_H
#define RS_TESTS_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define BENCH_ROUNDS 15
#define BENCH_LOOPS 200000u

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

static inline void bench_print(const char *name, double value, const char *unit)
{
	printf("%s %.3f %s\n", name, value, unit);
	fflush(stdout);
}

#endif
