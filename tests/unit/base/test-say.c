/* SPDX-License-Identifier: MIT */
/* The time is this test's. It passes only while somebody waits, and the reader reads meanwhile. */
#define _GNU_SOURCE
#include "base/say.h"

#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define MS G_TIME_SPAN_MILLISECOND
#define SECOND (1000 * MS)
#define PIPE 4096u /* bytes */

static gint64 now = 3600 * SECOND;
static size_t rate; /* bytes a ms that the reader takes while somebody waits */
static int ends[2]; /* the reader's, and ours */

gint64 __wrap_g_get_monotonic_time(void);
int __wrap_poll(struct pollfd *fds, nfds_t count, int ms);

gint64 __wrap_g_get_monotonic_time(void)
{
	return now;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int ms)
{
	char piece[PIPE];

	for (int i = 0; i < ms; i++) {
		ssize_t n = rate ? read(ends[0], piece, MIN(rate, sizeof(piece))) : 0;

		now += MS;
		if (n > 0)
			return 1;
	}
	return 0;
}

/* The pipe that is our stderr while messages are said; they know it from the first one on. */
static void set_up(void)
{
	g_assert_cmpint(pipe(ends), ==, 0);
	g_assert_cmpint(fcntl(ends[1], F_SETPIPE_SZ, PIPE), ==, PIPE);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
}

static void say(const char *line)
{
	int old = dup(STDERR_FILENO);

	dup2(ends[1], STDERR_FILENO);
	rs_say(line);
	dup2(old, STDERR_FILENO);
	close(old);
}

/* All that is in the pipe, without what filled it. */
static char *read_all(int fd)
{
	g_autoptr(GString) all = g_string_new(NULL);
	char piece[4096];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0)
		g_string_append_len(all, piece, n);
	return g_strdup(all->str + strspn(all->str, "x"));
}

static void fill(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	char piece[4096];

	memset(piece, 'x', sizeof(piece));
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	while (write(fd, piece, sizeof(piece)) > 0)
		;
	fcntl(fd, F_SETFL, flags);
}

/* Nobody reads for some time. */
static void test_unread(void)
{
	gint64 began = now;
	char *first, *second, *third;

	say("one\n");
	first = read_all(ends[0]);
	fill(ends[1]);
	say("two\n");
	say("three\n");
	second = read_all(ends[0]);
	/* Somebody does again. */
	say("four\n");
	say("five\n");
	third = read_all(ends[0]);
	g_assert_cmpint(now - began, ==, 200 * MS);
	g_assert_cmpstr(first, ==, "one\n");
	g_assert_cmpstr(second, ==, "");
	g_assert_cmpstr(third, ==,
			"ringside: nobody read 2 messages before this one\nfour\nfive\n");
	g_free(first);
	g_free(second);
	g_free(third);
}

/* The reader reads on, but slowly. Returns how long many messages wait then, in ms. */
static gint64 say_often(void)
{
	g_autofree char *line = g_strnfill(1000, 'y');
	gint64 began = now;

	line[999] = '\n';
	fill(ends[1]);
	rate = 100; /* that is 10 ms for each message */
	for (guint i = 0; i < 100; i++)
		say(line);
	rate = 0;
	return (now - began) / MS;
}

/* The reader reads all, so that the next message is there at once. */
static char *read_on(void)
{
	g_free(read_all(ends[0]));
	say("and\n");
	return read_all(ends[0]);
}

/* However slow the reader is, all messages together wait no longer than they may. */
static void test_slow(void)
{
	g_autofree char *told = NULL;
	gint64 waited[3];

	now += 3600 * SECOND;
	waited[0] = say_often();
	told = read_on();
	now += SECOND;
	waited[1] = say_often();
	g_free(read_on());
	now += 3600 * SECOND;
	waited[2] = say_often();
	g_free(read_on());
	g_assert_cmpint(waited[0], >, 100);
	g_assert_cmpint(waited[0], <, 210);
	g_assert_nonnull(strstr(told, "messages before this one\nand\n"));
	/* Of each second they may wait a part. */
	g_assert_cmpint(waited[1], >, 10);
	g_assert_cmpint(waited[1], <=, 30);
	g_assert_cmpint(waited[2], ==, waited[0]);
}

/* What is said goes elsewhere from then on. */
static void test_to(void)
{
	g_autofree char *first = NULL, *second = NULL;
	int other[2];

	now += 3600 * SECOND;
	g_assert_cmpint(pipe(other), ==, 0);
	fcntl(other[0], F_SETFL, O_NONBLOCK);
	rs_say_to(other[1]);
	say("one\n");
	first = read_all(ends[0]);
	second = read_all(other[0]);
	g_assert_cmpstr(first, ==, "");
	g_assert_cmpstr(second, ==, "one\n");
	/* Nothing of ours keeps what was written to before from its end. */
	rs_say_to(ends[1]);
	close(other[1]);
	g_assert_cmpint(read(other[0], &now, 1), ==, 0);
	close(other[0]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	set_up();
	g_test_add_func("/base/say/unread", test_unread);
	g_test_add_func("/base/say/slow", test_slow);
	g_test_add_func("/base/say/to", test_to);
	return g_test_run();
}
