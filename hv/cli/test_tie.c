/* SPDX-License-Identifier: MIT */
/*
 * Between fork and exec of a program with threads only what is safe in signal handlers may be
 * called: system calls, no memory from the heap, no stdio.
 */
#define _GNU_SOURCE /* close_range(), sigwaitinfo() */
#include "cli/test_tie.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN "/proc/thread-self/children"
#define GRACE_S 20   /* for a process whose tests are gone */
#define ROUNDS 200   /* of looks for what is left */
#define LOOK_US 5000 /* between two of them */

/* ---- what is left ---- */

/* Kills each number of a text. Returns whether one could be killed. */
static bool kill_listed(const char *text, ssize_t size)
{
	bool any = false;
	pid_t pid = 0;

	for (ssize_t i = 0; i < size; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = pid * 10 + (text[i] - '0');
			continue;
		}
		any |= pid > 1 && kill(pid, SIGKILL) == 0;
		pid = 0;
	}
	return any;
}

static bool kill_children(void)
{
	char text[4096];
	int fd = open(CHILDREN, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, sizeof(text)) : -1;

	if (fd >= 0)
		close(fd);
	return kill_listed(text, size);
}

/* Who is killed leaves its own children to us. One that is not ours to kill stays. */
static void end_all(void)
{
	for (int i = 0; i < ROUNDS && kill_children(); i++) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		usleep(LOOK_US);
	}
}

/* ---- the supervisor ---- */

static void end_as(int status)
{
	const struct rlimit none = {0, 0};
	sigset_t all;
	int signal;

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	signal = WTERMSIG(status);
	setrlimit(RLIMIT_CORE, &none);
	sigaction(signal, &(const struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	kill(getpid(), signal);
	_exit(128 + signal);
}

/* Whether that child has ended. Orphans that have are only taken away. */
static bool has_ended(pid_t child, int *status)
{
	pid_t pid;

	while ((pid = waitpid(-1, status, WNOHANG)) > 0)
		if (pid == child)
			return true;
	return false;
}

static void supervise(pid_t child, pid_t parent)
{
	bool alone = false;
	sigset_t all;
	int status = 0;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	/* Who waits for our files to be closed waits for the other process. */
	close_range(3, ~0u, 0);
	while (!has_ended(child, &status)) {
		const int signal = sigwaitinfo(&all, NULL);

		if (signal == RS_TEST_TIE_KILL || signal == SIGALRM)
			kill(child, SIGKILL);
		else if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP)
			kill(child, SIGTERM);
		if (getppid() == parent || alone)
			continue;
		alone = true;
		alarm(GRACE_S);
	}
	end_all();
	end_as(status);
}

void rs_test_tie(pid_t parent)
{
	pid_t child;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* A terminal's Ctrl-C is for us, who then end all runs. */
	setpgid(0, 0);
	child = fork();
	if (child < 0)
		_exit(1);
	if (child > 0)
		supervise(child, parent);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}
