/* SPDX-License-Identifier: MIT */
/*
 * The process is forked off one that has threads, so it may call what signal handlers may call, and
 * nothing else.
 */
#define _GNU_SOURCE /* close_range, pipe2 */
#include "machine/leftover.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILES_MAX 4096 /* more than a session opens */
#define LOOK_NS 100000000
#define LOOKS 150

/* Nothing of ours stays open there, but the end of the pipe, as standard input. */
static void close_rest(int life)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(life, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	dup2(nothing, STDERR_FILENO);
	if (!close_range(STDERR_FILENO + 1, ~0u, 0))
		return;
	for (int fd = STDERR_FILENO + 1; fd < FILES_MAX; fd++)
		close(fd);
}

/* Whoever makes the file may be about to. */
static void remove_in_time(const char *path)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};

	for (int i = 0; i < LOOKS && unlink(path); i++)
		nanosleep(&pause, NULL);
}

/* A process that nobody has to wait for, and that Ctrl-C does not reach. */
static void become_watch(const char *path, int life)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	char byte;
	ssize_t n;

	setsid();
	if (fork() != 0)
		_exit(0);
	for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
		signal(ends[i], SIG_IGN);
	prctl(PR_SET_NAME, "ringside-guard");
	close_rest(life);
	while ((n = read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR)
		;
	/* A byte says that all is well. */
	if (n == 0)
		remove_in_time(path);
	_exit(0);
}

int rs_leftover_watch(const char *path, int *watch, struct rs_error *err)
{
	int life[2], ret = 0;
	pid_t child;

	if (pipe2(life, O_CLOEXEC))
		return rs_error_set(err, errno, "a pipe: %s", g_strerror(errno));
	child = fork();
	if (child == 0) {
		close(life[1]);
		become_watch(path, life[0]);
	}
	if (child < 0)
		ret = rs_error_set(err, errno, "a process: %s", g_strerror(errno));
	close(life[0]);
	if (child < 0) {
		close(life[1]);
		return ret;
	}
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	*watch = life[1];
	return 0;
}

void rs_leftover_settled(const char *path, int watch)
{
	ssize_t n;

	if (watch < 0)
		return;
	unlink(path);
	do
		n = write(watch, "", 1);
	while (n < 0 && errno == EINTR);
	close(watch);
}
