/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/* Which processes hold an agent that waits. */
#include "machine/process.h"

#include <errno.h>
#include <glib.h>
#include <ringside/door.h>
#include <ringside/types.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void make_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(ftruncate(fd, RS_PAGE_SIZE), ==, 0);
}

/* What is said of a process with so many files that look like a session's, and then a door. */
static int look(unsigned int others)
{
	int ready[2], ret;
	pid_t child;
	char byte;

	g_assert_cmpint(pipe(ready), ==, 0);
	child = fork();
	if (child == 0) {
		for (unsigned int i = 0; i < others; i++)
			make_file(RS_REGIONS_NAME);
		make_file(RS_DOOR_NAME);
		g_assert_cmpint(write(ready[1], "", 1), ==, 1);
		for (;;)
			pause();
	}
	g_assert_cmpint(read(ready[0], &byte, 1), ==, 1);
	ret = rs_machine_process_has_agent(child, NULL);
	kill(child, SIGKILL);
	g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
	close(ready[0]);
	close(ready[1]);
	return ret;
}

static void test_candidates(void)
{
	g_assert_cmpint(look(0), ==, 0);
	g_assert_cmpint(look(10), ==, 0);
	/* Each costs a look, and a process may have as many as it likes. */
	g_assert_cmpint(look(200), ==, -ENOENT);
}

static void test_none(void)
{
	g_assert_cmpint(rs_machine_process_has_agent(getpid(), NULL), ==, -ENOENT);
	g_assert_false(rs_machine_process_waits(NULL));
	g_assert_false(rs_machine_process_waits(RS_VIA_PROCESS "0:0"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/process/none", test_none);
	g_test_add_func("/process/candidates", test_candidates);
	return g_test_run();
}
