/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "qemu/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define UUID "6e0f7a1c-0f5e-4d0b-9a62-3f2f6f0d8f11"

/*
 * QEMU writes its console itself, but for a terminal, what it cannot open anew, and what does not
 * ask for appending, where nobody would notice that it cannot write.
 */
static void test_may_have(void)
{
	int pipes[2], ends[2], file = open("/dev/null", O_WRONLY | O_APPEND);
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), regular;
	g_autofree char *path = NULL;

	g_assert_cmpint(terminal, >=, 0);
	g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), ==, 0);
	g_assert_false(rs_qemu_process_may_have(terminal));
	g_assert_true(rs_qemu_process_may_have(pipes[1]));
	g_assert_true(rs_qemu_process_may_have(file));
	g_assert_cmpint(fcntl(file, F_SETFL, 0), ==, 0);
	g_assert_false(rs_qemu_process_may_have(file));
	/* In a file without O_APPEND our own messages would overwrite the console. */
	path = g_build_filename(g_get_tmp_dir(), "ringside-may-have-XXXXXX", NULL);
	regular = g_mkstemp(path);
	g_assert_cmpint(regular, >=, 0);
	g_assert_false(rs_qemu_process_may_have(regular));
	g_assert_cmpint(fcntl(regular, F_SETFL, O_APPEND), ==, 0);
	g_assert_true(rs_qemu_process_may_have(regular));
	g_assert_cmpint(unlink(path), ==, 0);
	close(regular);
	g_assert_true(rs_qemu_process_may_have(ends[0]));
	close(ends[0]);
	close(ends[1]);
	close(terminal);
	close(file);
	close(pipes[0]);
	close(pipes[1]);
}

/* A process with the memory and the uuid of a QEMU, which waits. It is the test's to reap. */
static pid_t start(int ram)
{
	int ready[2], never[2];
	char byte;
	pid_t pid;

	g_assert_cmpint(pipe2(ready, O_CLOEXEC), ==, 0);
	g_assert_cmpint(pipe2(never, O_CLOEXEC), ==,
			0); /* nothing comes here until the test ends */
	pid = fork();
	if (pid == 0) {
		ram = fcntl(ram, F_DUPFD, 64);
		dup2(ram, RS_QEMU_FD_RAM);
		dup2(never[0], STDIN_FILENO);
		execl("/bin/cat", "cat", "-", UUID, NULL);
		_exit(127);
	}
	close(ready[1]);
	g_assert_cmpint(read(ready[0], &byte, 1), ==, 0); /* it has executed */
	close(ready[0]);
	close(never[0]);
	return pid;
}

static pid_t reap(pid_t pid)
{
	int status = 0;

	g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

/* Its end is seen, also while its parent takes no note of it. */
static void test_end(void)
{
	int ram = memfd_create("ram", MFD_CLOEXEC);
	struct rs_qemu_process process;
	pid_t pid = start(ram);

	g_assert_cmpint(rs_qemu_process_find(pid, UUID, &process, NULL), ==, 0);
	g_assert_false(rs_qemu_process_wait(&process, 0));
	rs_qemu_process_signal(&process, SIGTERM);
	g_assert_true(rs_qemu_process_wait(&process, -1));
	g_assert_cmpint(reap(pid), ==, SIGTERM);
	g_assert_true(rs_qemu_process_wait(&process, 0));
	rs_qemu_process_clear(&process);
	close(ram);
}

static void test_not_found(void)
{
	int ram = memfd_create("ram", MFD_CLOEXEC);
	struct rs_qemu_process process = {.pid = 1};
	struct rs_error err = {0};
	pid_t pid = start(ram);

	g_assert_cmpint(rs_qemu_process_find(pid, "another", &process, &err), ==, -ESRCH);
	g_assert_nonnull(strstr(err.message, "is gone"));
	kill(pid, SIGKILL);
	reap(pid);
	err = (struct rs_error){0};
	g_assert_cmpint(rs_qemu_process_find(pid, UUID, &process, &err), ==, -ESRCH);
	g_assert_nonnull(strstr(err.message, "is gone"));
	g_assert_cmpint(process.pid, ==, 1);
	close(ram);
}

/* A process of another program that has got the pid. 0: that cannot be had here. */
static pid_t start_with(pid_t pid)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&pid, .set_tid_size = 1};
	long got = syscall(SYS_clone3, &args, sizeof(args));

	if (got == 0) {
		for (;;)
			pause();
	}
	return got < 0 ? 0 : (pid_t)got;
}

static void test_pid_again(void)
{
	int ram = memfd_create("ram", MFD_CLOEXEC);
	struct rs_qemu_process process;
	pid_t pid = start(ram), other;

	g_assert_cmpint(rs_qemu_process_find(pid, UUID, &process, NULL), ==, 0);
	rs_qemu_process_signal(&process, SIGKILL);
	reap(pid);
	other = start_with(pid);
	g_assert_true(rs_qemu_process_wait(&process, 0));
	rs_qemu_process_signal(&process, SIGKILL);
	rs_qemu_process_clear(&process);
	close(ram);
	if (!other) {
		g_test_skip("this user cannot choose a pid");
		return;
	}
	g_assert_cmpint(other, ==, pid);
	kill(other, SIGTERM);
	g_assert_cmpint(reap(other), ==, SIGTERM); /* so it was not killed */
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/qemu/process/may-have", test_may_have);
	g_test_add_func("/qemu/process/end", test_end);
	g_test_add_func("/qemu/process/not-found", test_not_found);
	g_test_add_func("/qemu/process/pid-again", test_pid_again);
	return g_test_run();
}
