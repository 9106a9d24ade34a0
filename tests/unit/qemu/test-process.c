/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "qemu/process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* QEMU writes its console itself, but for a terminal and what it cannot open anew. */
static void test_may_have(void)
{
	int pipes[2], ends[2], file = open("/dev/null", O_WRONLY);
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);

	g_assert_cmpint(terminal, >=, 0);
	g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), ==, 0);
	g_assert_false(rs_qemu_process_may_have(terminal));
	g_assert_true(rs_qemu_process_may_have(pipes[1]));
	g_assert_true(rs_qemu_process_may_have(file));
	g_assert_true(rs_qemu_process_may_have(ends[0]));
	close(ends[0]);
	close(ends[1]);
	close(terminal);
	close(file);
	close(pipes[0]);
	close(pipes[1]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/qemu/process/may-have", test_may_have);
	return g_test_run();
}
