/* SPDX-License-Identifier: MIT */
/*
 * hosted-demo [SECONDS [THREADS]]: an ordinary multi-threaded program with events. Its workers take
 * jobs from a queue: count the words of a generated text, find primes, sort numbers. Its output is
 * the same with and without a trace. SECONDS 0 (the default): one round of 60 jobs.
 */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include "hosted-demo-events.h"

#include <pthread.h>
#include <rs_hosted.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define JOBS 60u
#define TEXT 20000u
#define SIEVE 20000u
#define NUMBERS 5000u

static atomic_uint next_job;
static atomic_ullong total;
static atomic_bool stop;
static double seconds;

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static uint64_t count_words(uint32_t seed)
{
	uint32_t state = seed + 1, length = 0, longest = 0, words = 0;
	char word[64];

	for (uint32_t at = 0; at < TEXT; at++) {
		uint32_t roll = next_random(&state);

		if (roll % 6 && length < sizeof(word) - 1) {
			word[length++] = (char)('a' + roll / 6 % 26);
			continue;
		}
		word[length] = 0;
		if (length > longest) {
			longest = length;
			trace_words_longest(word, length, at);
		}
		words += length != 0;
		length = 0;
	}
	return words;
}

static uint64_t find_primes(uint32_t from)
{
	uint32_t last = 2, found = 0;
	char *crossed = calloc(SIEVE, 1);

	if (!crossed)
		abort();
	for (uint32_t n = 2; n < SIEVE - from; n++) {
		if (crossed[n])
			continue;
		for (uint32_t m = 2 * n; m < SIEVE; m += n)
			crossed[m] = 1;
		trace_primes_found(n, n - last);
		last = n;
		found++;
	}
	free(crossed);
	return found;
}

static void sort(int32_t *numbers, uint32_t left, uint32_t right, uint32_t depth)
{
	while (left + 1 < right) {
		int32_t pivot = numbers[left + (right - left) / 2];
		uint32_t low = left, i = left, high = right;

		while (i < high) {
			int32_t number = numbers[i];

			if (number < pivot) {
				numbers[i++] = numbers[low];
				numbers[low++] = number;
			} else if (number > pivot) {
				numbers[i] = numbers[--high];
				numbers[high] = number;
			} else {
				i++;
			}
		}
		trace_sort_partition(depth, low - left, right - high, pivot);
		sort(numbers, left, low, ++depth);
		left = high;
	}
}

static uint64_t sort_numbers(uint32_t seed)
{
	int32_t *numbers = malloc(NUMBERS * sizeof(*numbers));
	uint32_t state = seed + 7, inversions = 0;
	uint64_t sum = 0;

	if (!numbers)
		abort();
	for (uint32_t i = 0; i < NUMBERS; i++)
		numbers[i] = (int32_t)next_random(&state);
	sort(numbers, 0, NUMBERS, 0);
	for (uint32_t i = 1; i < NUMBERS; i++) {
		inversions += numbers[i - 1] > numbers[i];
		sum += (uint32_t)numbers[i] % 16;
	}
	if (inversions)
		abort();
	free(numbers);
	return sum;
}

static uint64_t do_job(uint32_t job)
{
	switch (job % 3) {
	case 0:
		return count_words(job);
	case 1:
		return find_primes(job);
	default:
		return sort_numbers(job);
	}
}

static void *work(void *data)
{
	static const uint32_t sizes[] = {TEXT, SIEVE, NUMBERS};
	uint32_t worker = (uint32_t)(uintptr_t)data;
	char name[16];

	snprintf(name, sizeof(name), "worker-%u", worker);
	pthread_setname_np(pthread_self(), name);
	trace_pool_start(worker, JOBS);
	while (!atomic_load(&stop)) {
		uint32_t job = atomic_fetch_add(&next_job, 1);
		uint64_t result;

		if (seconds == 0 && job >= JOBS)
			break;
		trace_pool_take(worker, job, job % 3, sizes[job % 3]);
		result = do_job(job % JOBS);
		trace_pool_done(worker, job, result);
		if (job < JOBS)
			atomic_fetch_add(&total, result);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int threads = argc > 2 ? (unsigned int)atoi(argv[2]) : 2;
	pthread_t thread[64];
	int ret;

	if (threads < 1 || threads > 64 || argc > 3) {
		fprintf(stderr, "usage: hosted-demo [SECONDS [THREADS]]\n");
		return 2;
	}
	seconds = argc > 1 ? atof(argv[1]) : 0;
	ret = rs_hosted_init("hosted-demo");
	if (ret)
		fprintf(stderr, "hosted-demo: not traced: %s\n", rs_agent_strerror(ret));
	for (unsigned int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i))
			abort();
	if (seconds > 0) {
		struct timespec wait = {(time_t)seconds,
					(long)((seconds - (double)(time_t)seconds) * 1e9)};

		while (nanosleep(&wait, &wait))
			;
		atomic_store(&stop, true);
	}
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("hosted-demo: %u jobs, sum of the first %u: %llu\n", atomic_load(&next_job), JOBS,
	       (unsigned long long)atomic_load(&total));
	return 0;
}
