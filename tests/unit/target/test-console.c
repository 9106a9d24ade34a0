/* SPDX-License-Identifier: MIT */
/* The test is the guest's device, and the reader, which reads or does not. */
#define _GNU_SOURCE
#include "target/console.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <ringside/atomic.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

static struct rs_console *create(int fd, int *guest)
{
	struct rs_console *console = NULL;

	g_assert_cmpint(rs_console_create(fd, &console, NULL), ==, 0);
	*guest = rs_console_guest_end(console);
	return console;
}

static void say(int guest, const char *text)
{
	g_assert_cmpint(write(guest, text, strlen(text)), ==, (ssize_t)strlen(text));
}

static void expect(int from, const char *wanted)
{
	char text[256] = {0};
	size_t have = 0;

	while (have < strlen(wanted)) {
		ssize_t n = read(from, text + have, sizeof(text) - 1 - have);

		g_assert_cmpint(n, >, 0);
		have += (size_t)n;
	}
	g_assert_cmpstr(text, ==, wanted);
}

static void on_done(void *data)
{
	(*(int *)data)++;
}

/* The end is told once. */
static void finish(struct rs_console *console)
{
	int told = 0;

	rs_console_finish(console, NULL, on_done, &told);
	while (!told)
		g_main_context_iteration(NULL, TRUE);
	for (int i = 0; i < 10; i++)
		g_main_context_iteration(NULL, FALSE);
	g_assert_cmpint(told, ==, 1);
}

static uint64_t waiting(struct rs_console *console)
{
	struct rs_target_stats stats = {0};

	rs_console_stats(console, &stats);
	g_assert_cmpuint(stats.console_lost, ==, 0);
	return stats.console_waiting;
}

/* A guest cannot make the terminal do anything, and its last words are shown. */
static void test_terminal(void)
{
	int master, guest, terminal = open_terminal(&master);
	struct rs_console *console = create(terminal, &guest);

	say(guest, "a\033[2Jb\n\t");
	say(guest, "\302\233c\r\nlast");
	finish(console);
	expect(master, "a\\x1b[2Jb\n\t\\xc2\\x9bc\nlast");
	rs_console_free(console);
	close(terminal);
	close(master);
}

/* A prompt has no newline, and is shown while the guest waits for an answer. */
static void test_prompt(void)
{
	int master, guest, terminal = open_terminal(&master);
	struct rs_console *console = create(terminal, &guest);

	say(guest, "login: ");
	expect(master, "login: ");
	/* QEMU lives on, as after a detach. */
	rs_console_free(console);
	close(terminal);
	close(master);
}

static void full_pipe(int *pipes)
{
	char block[4096] = {0};

	g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
	g_assert_cmpint(fcntl(pipes[1], F_SETPIPE_SZ, sizeof(block)), ==, sizeof(block));
	g_assert_cmpint(write(pipes[1], block, sizeof(block)), ==, sizeof(block));
}

static void drain(int from)
{
	char block[4096];

	g_assert_cmpint(read(from, block, sizeof(block)), ==, sizeof(block));
}

/*
 * Nobody reads. The guest has to wait after so many bytes, and each of them is counted. That holds
 * up neither the end nor the rest of the program.
 */
static void test_stuck(void)
{
	int pipes[2], guest;
	struct rs_console *console;
	uint64_t said = 0;
	char text[1000];
	ssize_t n;

	memset(text, '.', sizeof(text));
	full_pipe(pipes);
	console = create(pipes[1], &guest);
	for (int idle = 0; idle < 20; g_usleep(1000)) {
		n = send(guest, text, sizeof(text), MSG_DONTWAIT);
		said += n > 0 ? (uint64_t)n : 0;
		idle = n > 0 ? 0 : idle + 1;
	}
	g_assert_cmpuint(said, >, 4096);
	g_assert_cmpuint(said, <, 1 << 20);
	g_assert_cmpuint(waiting(console), ==, said);
	finish(console);
	g_assert_cmpuint(waiting(console), ==, said);
	rs_console_free(console);
	close(pipes[0]);
	close(pipes[1]);
}

/* A reader that comes after the end was told gets all of it. */
static void test_slow(void)
{
	int pipes[2], guest;
	struct rs_console *console;

	full_pipe(pipes);
	console = create(pipes[1], &guest);
	say(guest, "first\nlast");
	finish(console);
	g_assert_cmpuint(waiting(console), ==, 10);
	drain(pipes[0]);
	expect(pipes[0], "first\nlast");
	while (waiting(console))
		g_usleep(1000);
	rs_console_free(console);
	close(pipes[0]);
	close(pipes[1]);
}

/* A closed pipe does not hold up the guest. What is lost is counted. */
static void test_closed(void)
{
	struct rs_target_stats stats = {0};
	int pipes[2], guest;
	struct rs_console *console;

	g_assert_cmpint(pipe2(pipes, O_CLOEXEC), ==, 0);
	close(pipes[0]);
	console = create(pipes[1], &guest);
	say(guest, "one\ntwo");
	finish(console);
	while (stats.console_lost < 7)
		rs_console_stats(console, &stats);
	g_assert_cmpuint(stats.console_waiting, ==, 0);
	g_assert_cmpuint(stats.console_lost, ==, 7);
	rs_console_free(console);
	close(pipes[1]);
}

static void on_kick(int signal)
{
}

struct vcpu {
	struct rs_console *console;
	pthread_t thread;
	bool give_up;
	bool over;
};

static void *put(void *data)
{
	static const char text[1 << 20];
	struct vcpu *vcpu = data;

	rs_console_put(vcpu->console, text, sizeof(text), &vcpu->give_up);
	rs_store(&vcpu->over, true);
	return NULL;
}

/* A vCPU waits for the reader until it is kicked, and counts what it could not say. */
static void test_kicked(void)
{
	struct sigaction action = {.sa_handler = on_kick};
	struct rs_target_stats stats = {0};
	struct vcpu vcpu = {0};
	int pipes[2], guest;

	sigaction(SIGUSR1, &action, NULL);
	full_pipe(pipes);
	vcpu.console = create(pipes[1], &guest);
	g_assert_cmpint(pthread_create(&vcpu.thread, NULL, put, &vcpu), ==, 0);
	while (waiting(vcpu.console) < 4096)
		g_usleep(1000);
	rs_store(&vcpu.give_up, true);
	while (!rs_load(&vcpu.over)) {
		pthread_kill(vcpu.thread, SIGUSR1);
		g_usleep(1000);
	}
	pthread_join(vcpu.thread, NULL);
	rs_console_stats(vcpu.console, &stats);
	g_assert_cmpuint(stats.console_lost, >, 0);
	g_assert_cmpuint(stats.console_lost + stats.console_waiting, ==, 1 << 20);
	rs_console_free(vcpu.console);
	close(pipes[0]);
	close(pipes[1]);
}

/* Without a console there is nothing to wait for. */
static void test_none(void)
{
	struct rs_target_stats stats = {0};
	int told = 0;

	rs_console_put(NULL, "x", 1, NULL);
	rs_console_finish(NULL, NULL, on_done, &told);
	g_assert_cmpint(told, ==, 1);
	rs_console_stats(NULL, &stats);
	g_assert_cmpuint(stats.console_waiting + stats.console_lost, ==, 0);
	rs_console_free(NULL);
	g_assert_cmpint(rs_console_create(-1, NULL, NULL), ==, -EBADF);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/target/console/terminal", test_terminal);
	g_test_add_func("/target/console/prompt", test_prompt);
	g_test_add_func("/target/console/stuck", test_stuck);
	g_test_add_func("/target/console/slow", test_slow);
	g_test_add_func("/target/console/closed", test_closed);
	g_test_add_func("/target/console/kicked", test_kicked);
	g_test_add_func("/target/console/none", test_none);
	return g_test_run();
}
