/* SPDX-License-Identifier: MIT */
/*
 * A program for the hosted target's test. "spin": two threads, for ever. "churn": threads that come
 * and go, and children by vfork, for ever. "swarm": eight threads that make threads, for ever.
 * "crowd": SPINNER_CROWD threads that sleep, for ever.
 * "leaderless": the first thread leaves. "exec": executes itself a few times from different
 * threads, then exits with 5. "stuck PATH": waits in the kernel until PATH exists (for a minute),
 * and does not stop before; makes PATH.in when it begins to. "map": two pages of text at
 * SPINNER_TEXT and a page of the region's file at SPINNER_SHARED, and the same read-only at
 * SPINNER_LOCKED, for ever. "map-leaderless": both. "map-absent PATH": with a page of that file at
 * SPINNER_ABSENT. "exec-absent PATH": executes it. "map-site": two threads run through a site, and
 * count (struct spinner_counts).
 */
#define _GNU_SOURCE
#include "spinner.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

static void *make_threads(void *data)
{
	pthread_t thread;

	for (;;)
		if (pthread_create(&thread, NULL, brief, NULL) == 0)
			pthread_join(thread, NULL);
	return NULL;
}

static void swarm(void)
{
	pthread_t thread;

	for (int i = 0; i < 7; i++)
		if (pthread_create(&thread, NULL, make_threads, NULL))
			abort();
	make_threads(NULL);
}

static void *sleep_on(void *data)
{
	for (;;)
		pause();
	return NULL;
}

static void crowd(void)
{
	pthread_t thread;

	for (int i = 1; i < SPINNER_CROWD; i++)
		if (pthread_create(&thread, NULL, sleep_on, NULL))
			exit(3);
	sleep_on(NULL);
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

static void map_absent(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (mmap((void *)SPINNER_ABSENT, 4096, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) != (void *)SPINNER_ABSENT)
		abort();
}

static void map_places(void)
{
	int fd = atoi(getenv("RINGSIDE_REGION_FD"));
	void *text = mmap((void *)SPINNER_TEXT, 2 * 4096, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	void *shared = mmap((void *)SPINNER_SHARED, 4096, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);

	void *locked = mmap((void *)SPINNER_LOCKED, 4096, PROT_READ,
			    MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);

	if (text != (void *)SPINNER_TEXT || shared != (void *)SPINNER_SHARED ||
	    locked != (void *)SPINNER_LOCKED)
		abort();
	*(volatile uint8_t *)shared = 1; /* ready */
}

/* The site, 5 bytes of a word; behind it `return 0`, and where its JMP leads `return 1`. */
static const uint8_t off_code[] = {0x0f, 0x1f, 0x44, 0x00, 0x00, 0x31, 0xc0, 0xc3};
static const uint8_t on_code[] = {0xb8, 0x01, 0x00, 0x00, 0x00, 0xc3};

static struct spinner_counts *counts(void)
{
	return (struct spinner_counts *)SPINNER_SHARED;
}

static void on_signal(int sig)
{
	__atomic_add_fetch(&counts()->signals, 1, __ATOMIC_RELAXED);
}

static void *run_through(void *data)
{
	int (*function)(void) = (int (*)(void))SPINNER_TEXT;

	for (;;) {
		int what = function();
		uint64_t *count = what == 0   ? &counts()->off
				  : what == 1 ? &counts()->on
					      : &counts()->wrong;

		__atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void run_site(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	uint8_t *text = (uint8_t *)SPINNER_TEXT;
	pthread_t thread;

	if (mprotect(text, 4096, PROT_READ | PROT_WRITE))
		abort();
	memcpy(text, off_code, sizeof(off_code));
	memcpy(text + SPINNER_JMP_TO, on_code, sizeof(on_code));
	sigaction(SIGRTMIN, &action, NULL);
	if (mprotect(text, 4096, PROT_READ | PROT_EXEC) ||
	    pthread_create(&thread, NULL, run_through, NULL))
		abort();
	run_through(NULL);
}

static int wait_for_path(void *path)
{
	char in[256];

	snprintf(in, sizeof(in), "%s.in", (const char *)path);
	close(open(in, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	for (int i = 0; i < 60000 && access(path, F_OK); i++)
		usleep(1000);
	_exit(0);
}

/* A vfork that no tracer is told of. The parent waits for its child, and can only be killed. */
static void be_stuck(char *path)
{
	static char stack[65536] __attribute__((aligned(16)));

	if (clone(wait_for_path, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_UNTRACED,
		  path) < 0)
		abort();
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
	if (strcmp(args[1], "stuck") == 0 && argc > 2)
		be_stuck(argv[2]);
	if (strcmp(args[1], "churn") == 0)
		churn();
	if (strcmp(args[1], "swarm") == 0)
		swarm();
	if (strcmp(args[1], "crowd") == 0)
		crowd();
	if (strcmp(args[1], "exec-absent") == 0 && argc > 2)
		execv(argv[2], args);
	if (strcmp(args[1], "map-absent") == 0 && argc > 2)
		map_absent(argv[2]);
	if (strncmp(args[1], "map", 3) == 0)
		map_places();
	if (strcmp(args[1], "map-site") == 0)
		run_site();
	if (pthread_create(&thread, NULL, spin, NULL))
		return 1;
	if (strstr(args[1], "leaderless"))
		pthread_exit(NULL);
	spin(NULL);
	return 0;
}
