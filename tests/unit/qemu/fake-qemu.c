/* SPDX-License-Identifier: MIT */
/*
 * Plays QEMU for test-ready.c: its sockets, and what a pause and a patch need. It has one thread,
 * and no CPU. The test says through the guest's memory what that thread does.
 */
#include "fake-qemu.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RAM = 3, QMP = 5, GDB = 6 }; /* see hv/qemu/process.h */

static struct fake_qemu *shared;
static uint8_t *ram;
static int qmp = -1, gdb = -1; /* the client's connections */

/* If the client has gone, the next read tells. */
static void say(int fd, const char *text)
{
	(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void set_running(bool running)
{
	if (shared->running == running)
		return;
	shared->running = running;
	say(qmp, running ? "{\"event\": \"RESUME\"}\n" : "{\"event\": \"STOP\"}\n");
}

static void obey(const char *line)
{
	const char *id = strstr(line, "\"id\":");
	char answer[200];

	if (strstr(line, "\"cont\""))
		set_running(true);
	snprintf(answer, sizeof(answer), "{\"return\": {\"running\": %s}, \"id\": %ld}\n",
		 shared->running ? "true" : "false", id ? strtol(id + 5, NULL, 10) : 0);
	say(qmp, answer);
	if (strstr(line, "\"quit\""))
		exit(0);
}

static void reply(const char *body)
{
	char packet[64];
	unsigned int sum = 0;

	for (const char *c = body; *c; c++)
		sum += (unsigned char)*c;
	snprintf(packet, sizeof(packet), "+$%s#%02x", body, sum & 0xff);
	say(gdb, packet);
}

/* M ADDRESS,SIZE:HEX */
static void write_memory(const char *body)
{
	char *at;
	unsigned long address = strtoul(body, &at, 16), size = strtoul(at + 1, &at, 16);

	for (unsigned long i = 0; i < size; i++) {
		char digits[3] = {at[1 + 2 * i], at[2 + 2 * i], 0};

		ram[address + i] = (uint8_t)strtoul(digits, NULL, 16);
	}
}

static void take_packet(const char *body)
{
	if (*body == 'M')
		write_memory(body + 1);
	if (*body == 'D')
		set_running(true);
	reply(*body == 'q' ? "1" : "OK");
}

/* False: the client has gone. What it says at once is here at once, with these few words. */
static bool take(int fd, void (*each)(const char *), const char *begin, char end)
{
	char text[65536], *at = text, *stop;
	ssize_t n = read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = 0;
	while ((at = strstr(at, begin)) && (stop = strchr(at, end))) {
		*stop = 0;
		each(at + strlen(begin));
		at = stop + 1;
	}
	return true;
}

static void accept_qmp(void)
{
	qmp = accept(QMP, NULL, NULL);
	say(qmp, "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\n");
}

static void accept_gdb(void)
{
	gdb = accept(GDB, NULL, NULL);
	shared->pauses++;
	set_running(false);
}

static void serve(void)
{
	struct pollfd fds[] = {{.fd = qmp < 0 ? QMP : qmp, .events = POLLIN},
			       {.fd = gdb < 0 ? GDB : gdb, .events = POLLIN}};

	if (poll(fds, 2, 1) <= 0)
		return;
	if (fds[0].revents && qmp < 0)
		accept_qmp();
	else if (fds[0].revents && !take(qmp, obey, "{", '\n'))
		exit(0);
	if (fds[1].revents && gdb < 0) {
		accept_gdb();
	} else if (fds[1].revents && !take(gdb, take_packet, "$", '#')) {
		close(gdb);
		gdb = -1;
	}
}

int main(void)
{
	sigset_t wake;
	int signal;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* it may be at work, and look at nothing */
	sigemptyset(&wake);
	sigaddset(&wake, SIGUSR1);
	sigprocmask(SIG_BLOCK, &wake, NULL);
	ram = mmap(NULL, FAKE_QEMU_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, RAM, 0);
	if (ram == MAP_FAILED)
		return 1;
	shared = (struct fake_qemu *)(void *)ram;
	for (;;) {
		shared->does = shared->order;
		if (shared->does == FAKE_QEMU_SERVES)
			serve();
		else if (shared->does == FAKE_QEMU_RESETS)
			say(qmp, "{\"event\": \"SHUTDOWN\", "
				 "\"data\": {\"reason\": \"guest-reset\"}}\n");
		if (shared->does == FAKE_QEMU_SLEEPS || shared->does == FAKE_QEMU_RESETS)
			sigwait(&wake, &signal);
	}
}
