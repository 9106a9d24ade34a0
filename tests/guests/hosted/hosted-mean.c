/* SPDX-License-Identifier: MIT */
/*
 * hosted-mean MODE SECONDS: a program that is hard to trace, for the tests of the host.
 *	fork     forks children that emit, and checks how they end
 *	exec     executes itself again after half of its time
 *	crash    dies by a wild store
 *	threads  starts and joins 50 threads, over and over
 * Ends with 0, or with 9 if the trace has disturbed it.
 */
#define _GNU_SOURCE
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>

#include <pthread.h>
#include <rs_hosted.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 50

RS_TRACE_EVENT(mean, step, TP_PROTO(uint32_t number), TP_ARGS(number),
	       TP_STRUCT__entry(__field(u32, number)), TP_fast_assign(__entry->number = number;),
	       TP_printk("number=%u", number))
RS_TRACE_EVENT(mean, say, TP_PROTO(const char *what), TP_ARGS(what),
	       TP_STRUCT__entry(__string(what)), TP_fast_assign(__assign_str(what, what);),
	       TP_printk("what=%s", what))

static atomic_bool stop;
static int *volatile wild;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void emit(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		trace_mean_step(i);
		if (i % 64 == 0)
			trace_mean_say("\x1b]0;mine\x07\x1b[2J\n# a line of its own");
	}
}

static void *work(void *data)
{
	while (!atomic_load(&stop)) {
		emit(100);
		usleep(1000);
	}
	return NULL;
}

static void *work_once(void *data)
{
	emit(20);
	return NULL;
}

static int fork_one(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		emit(1000);
		_exit(7);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 9;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 7)
		return 0;
	fprintf(stderr, "hosted-mean: a child ended with status %#x\n", (unsigned int)status);
	return 9;
}

static int start_and_join(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work_once, NULL))
			return 9;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	double until = now() + (argc > 2 ? atof(argv[2]) : 1);
	const char *mode = argc > 1 ? argv[1] : "threads";
	pthread_t thread;
	int ret = 0;

	if (rs_hosted_init("hosted-mean"))
		fprintf(stderr, "hosted-mean: not traced\n");
	if (pthread_create(&thread, NULL, work, NULL))
		return 9;
	while (!ret && now() < until) {
		if (strcmp(mode, "fork") == 0)
			ret = fork_one();
		else if (strcmp(mode, "threads") == 0)
			ret = start_and_join();
		else
			usleep(10000);
	}
	if (strcmp(mode, "crash") == 0)
		*(volatile int *)wild = 1;
	if (strcmp(mode, "exec") == 0)
		execl("/proc/self/exe", argv[0], "threads", argc > 2 ? argv[2] : "1", (char *)NULL);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return ret;
}
