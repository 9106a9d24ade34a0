/* SPDX-License-Identifier: MIT */
/*
 * A program for the hosted target's test. "spin": two threads, for ever. "churn": threads that come and go, and
 * children by vfork, for ever. "leaderless": the first thread leaves. "exec": executes itself a few times from
 * different threads, then exits with 5.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char **arguments;

static void *spin(void *data)
{
	for (volatile unsigned long i = 0;; i++)
		;
	return NULL;
}

static void *brief(void *data)
{
	for (volatile unsigned long i = 0; i < 20000; i++)
		;
	return NULL;
}

static void churn(void)
{
	char name[] = "true", *program[] = {name, NULL}, *none[] = {NULL};
	pthread_t thread;
	pid_t pid;

	for (unsigned int i = 0;; i++) {
		if (pthread_create(&thread, NULL, brief, NULL) == 0)
			pthread_join(thread, NULL);
		if (i % 8 == 0 && posix_spawnp(&pid, "true", NULL, NULL, program, none) == 0 &&
		    waitpid(pid, NULL, 0) != pid)
			abort();
	}
}

static void *exec_again(void *data)
{
	execv("/proc/self/exe", arguments);
	abort();
}

static void exec_many(int left)
{
	static char number[16];
	pthread_t thread;

	if (left == 0)
		exit(5);
	snprintf(number, sizeof(number), "%d", left - 1);
	arguments[2] = number;
	usleep(3000);
	if (left % 2)
		exec_again(NULL);
	if (pthread_create(&thread, NULL, spin, NULL) ||
	    pthread_create(&thread, NULL, exec_again, NULL))
		abort();
	pause();
}

int main(int argc, char **argv)
{
	char *args[] = {argv[0], argv[1], NULL, NULL};
	pthread_t thread;

	if (argc < 2)
		return 2;
	arguments = args;
	if (strcmp(args[1], "exec") == 0)
		exec_many(argc > 2 ? atoi(argv[2]) : 8);
	if (strcmp(args[1], "churn") == 0)
		churn();
	if (pthread_create(&thread, NULL, spin, NULL))
		return 1;
	if (strcmp(args[1], "leaderless") == 0)
		pthread_exit(NULL);
	spin(NULL);
	return 0;
}
