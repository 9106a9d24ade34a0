/* SPDX-License-Identifier: MIT */
/*
 * Between fork and exec of a program with threads only what is safe in signal handlers may be
 * called: system calls, no memory from the heap, no stdio.
 */
#define _GNU_SOURCE /* close_range(), sigwaitinfo() */
#include "cli/test_tie.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN "/proc/thread-self/children"
#define GRACE_S 20   /* for a process whose tests are gone */
#define OURS_MS 3000 /* for a process of ours that puts something right and ends */
#define END_MS 60000 /* until all that is left must have ended */
#define LOOK_US 1000 /* between two looks */
#define GUARD "ringside-guard\n"
#define RUN "ringside\n"
#define LEFT "ringside: what this has started could not be ended\n"

/* ---- what is left ---- */

enum spared { NOBODY, GUARDS, GUARDS_AND_RUNS };

/* The front of a file; -1: it cannot be read. */
static ssize_t read_front(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, size) : -1;

	if (fd >= 0)
		close(fd);
	return n;
}

/* Whether it calls itself `name`. That gets it some time, and nothing else. */
static bool is_named(pid_t pid, const char *name)
{
	char path[32] = "/proc/", digits[16], comm[sizeof(GUARD)];
	size_t n = 0, at = strlen(path);

	for (; pid; pid /= 10)
		digits[n++] = (char)('0' + pid % 10);
	while (n)
		path[at++] = digits[--n];
	memcpy(path + at, "/comm", sizeof("/comm"));
	return read_front(path, comm, sizeof(comm)) == (ssize_t)strlen(name) &&
	       memcmp(comm, name, strlen(name)) == 0;
}

static bool is_spared(pid_t pid, enum spared spared)
{
	return (spared != NOBODY && is_named(pid, GUARD)) ||
	       (spared == GUARDS_AND_RUNS && is_named(pid, RUN));
}

/* Kills each number of a text, but for whom it spares. Returns whether any is left. */
static bool kill_listed(const char *text, ssize_t size, enum spared spared)
{
	bool any = false;
	pid_t pid = 0;

	for (ssize_t i = 0; i < size; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = pid * 10 + (text[i] - '0');
			continue;
		}
		if (pid > 1)
			any |= is_spared(pid, spared) || kill(pid, SIGKILL) == 0;
		pid = 0;
	}
	return any;
}

static bool kill_children(enum spared spared)
{
	char text[4096];
	ssize_t size = read_front(CHILDREN, text, sizeof(text));

	return kill_listed(text, size, spared);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool end_all(enum spared spared)
{
	const int64_t began = now_ms();
	int64_t took = 0;
	bool any;

	/* Who is killed leaves its own children to us. One that is not ours to kill stays. */
	while ((any = kill_children(took < OURS_MS ? spared : NOBODY)) && took < END_MS) {
		bool ended = false;

		while (waitpid(-1, NULL, WNOHANG) > 0)
			ended = true;
		if (!ended)
			usleep(LOOK_US);
		took = now_ms() - began;
	}
	return !any;
}

bool rs_test_tie_end_all(void)
{
	/* The kernel has told a run that its supervisor is gone. */
	return end_all(GUARDS_AND_RUNS);
}

void rs_test_tie_adopt(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
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
	bool alone = false, asked = false;
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
		else if (!asked && (signal == SIGTERM || signal == SIGINT || signal == SIGHUP))
			/* A parent that is killed tells it once for each of its threads. */
			asked = kill(child, SIGTERM) == 0;
		if (getppid() == parent || alone)
			continue;
		alone = true;
		alarm(GRACE_S);
	}
	if (!end_all(GUARDS)) {
		(void)!write(STDERR_FILENO, LEFT, strlen(LEFT));
		_exit(1);
	}
	end_as(status);
}

void rs_test_tie(pid_t parent)
{
	const pid_t self = getpid();
	pid_t child;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	rs_test_tie_adopt();
	/* A terminal's Ctrl-C is for us, who then end all runs. */
	setpgid(0, 0);
	child = fork();
	if (child < 0)
		_exit(1);
	if (child > 0)
		supervise(child, parent);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != self)
		_exit(1);
	/* Who kills his group does not kill his supervisor. */
	setpgid(0, 0);
}
