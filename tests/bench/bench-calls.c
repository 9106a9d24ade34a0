/* SPDX-License-Identifier: MIT */
/*
 * Work for a Linux guest.
 *
 *     bench-calls call COUNT          prints what a system call that does nothing takes, in ns
 *     bench-calls sleep COUNT USEC    as many sleeps
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 0;
	double begin = now_ns();

	if (count > 0 && argc == 3 && strcmp(argv[1], "call") == 0) {
		for (long i = 0; i < count; i++)
			syscall(SYS_getppid);
		printf("%.1f\n", (now_ns() - begin) / (double)count);
		return 0;
	}
	if (count > 0 && argc == 4 && strcmp(argv[1], "sleep") == 0) {
		for (long i = 0; i < count; i++)
			usleep((useconds_t)atol(argv[3]));
		return 0;
	}
	fprintf(stderr, "usage: bench-calls call COUNT | sleep COUNT USEC\n");
	return 2;
}
