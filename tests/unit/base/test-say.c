/* SPDX-License-Identifier: MIT */
#include "base/say.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <unistd.h>

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

static void say(void)
{
	int ends[2], old = dup(STDERR_FILENO);
	char *first, *second, *third;

	g_assert_cmpint(pipe(ends), ==, 0);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	dup2(ends[1], STDERR_FILENO);
	rs_say("one\n");
	first = read_all(ends[0]);
	/* Nobody reads. */
	fill(ends[1]);
	rs_say("two\n");
	rs_say("three\n");
	second = read_all(ends[0]);
	/* Somebody does again. */
	rs_say("four\n");
	rs_say("five\n");
	third = read_all(ends[0]);
	dup2(old, STDERR_FILENO);
	g_assert_cmpstr(first, ==, "one\n");
	g_assert_cmpstr(second, ==, "");
	g_assert_cmpstr(third, ==,
			"ringside: nobody read 2 messages before this one\nfour\nfive\n");
	g_free(first);
	g_free(second);
	g_free(third);
	close(ends[0]);
	close(ends[1]);
	close(old);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/base/say", say);
	return g_test_run();
}
