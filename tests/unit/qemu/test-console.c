/* SPDX-License-Identifier: MIT */
/* The way of a console to a terminal. The test is QEMU, at the guest's end of the socket. */
#define _GNU_SOURCE
#include "qemu/console.h"

#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static int open_terminal(int *master)
{
	struct termios mode;
	int terminal;

	*master = posix_openpt(O_RDWR | O_NOCTTY);
	g_assert_cmpint(*master, >=, 0);
	g_assert_cmpint(grantpt(*master) | unlockpt(*master), ==, 0);
	terminal = open(ptsname(*master), O_RDWR | O_NOCTTY);
	g_assert_cmpint(terminal, >=, 0);
	tcgetattr(terminal, &mode);
	cfmakeraw(&mode);
	tcsetattr(terminal, TCSANOW, &mode);
	return terminal;
}

static struct rs_qemu_console *create(int fd, int *guest)
{
	struct rs_qemu_console *console = NULL;

	g_assert_cmpint(rs_qemu_console_create(fd, guest, &console, NULL), ==, 0);
	return console;
}

static void say(int guest, const char *text)
{
	g_assert_cmpint(write(guest, text, strlen(text)), ==, (ssize_t)strlen(text));
}

static void expect(int master, const char *wanted)
{
	char text[256] = {0};
	size_t have = 0;

	while (have < strlen(wanted)) {
		ssize_t n = read(master, text + have, sizeof(text) - 1 - have);

		g_assert_cmpint(n, >, 0);
		have += (size_t)n;
	}
	g_assert_cmpstr(text, ==, wanted);
}

/* A guest cannot make the terminal do anything, and its last words are shown. */
static void test_terminal(void)
{
	int master, guest, terminal = open_terminal(&master);
	struct rs_qemu_console *console = create(terminal, &guest);

	say(guest, "a\033[2Jb\n\t");
	say(guest, "\302\233c\r\nlast");
	close(guest);
	rs_qemu_console_finish(console);
	expect(master, "a\\x1b[2Jb\n\t\\xc2\\x9bc\nlast");
	rs_qemu_console_free(console);
	close(terminal);
	close(master);
}

/* A prompt has no newline, and is shown while the guest waits for an answer. */
static void test_prompt(void)
{
	int master, guest, terminal = open_terminal(&master);
	struct rs_qemu_console *console = create(terminal, &guest);

	say(guest, "login: ");
	expect(master, "login: ");
	/* QEMU lives on, as after a detach. */
	rs_qemu_console_free(console);
	close(guest);
	close(terminal);
	close(master);
}

/* Nobody reads: that holds up neither the end nor the guest's end of the socket for ever. */
static void test_stuck(void)
{
	int pipes[2], guest;
	struct rs_qemu_console *console;
	char block[4096];

	memset(block, '\n', sizeof(block));
	g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
	fcntl(pipes[0], F_SETPIPE_SZ, 4096);
	console = create(pipes[1], &guest);
	for (int i = 0; i < 16; i++)
		g_assert_cmpint(write(guest, block, sizeof(block)), ==, sizeof(block));
	rs_qemu_console_finish(console);
	rs_qemu_console_free(console);
	close(guest);
	close(pipes[0]);
	close(pipes[1]);
}

static void test_due(void)
{
	int master, terminal = open_terminal(&master), pipes[2], file = open("/dev/null", O_WRONLY);

	g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
	g_assert_true(rs_qemu_console_is_due(terminal));
	g_assert_false(rs_qemu_console_is_due(pipes[1]));
	g_assert_false(rs_qemu_console_is_due(file));
	g_assert_false(rs_qemu_console_is_due(-1));
	close(terminal);
	close(master);
	close(file);
	close(pipes[0]);
	close(pipes[1]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	signal(SIGPIPE, SIG_IGN); /* as GIO does */
	g_test_add_func("/qemu/console/terminal", test_terminal);
	g_test_add_func("/qemu/console/prompt", test_prompt);
	g_test_add_func("/qemu/console/stuck", test_stuck);
	g_test_add_func("/qemu/console/due", test_due);
	return g_test_run();
}
