/* SPDX-License-Identifier: MIT */
/* Each part runs in a process of its own, since a log is started once. */
#define _GNU_SOURCE
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PIPE 4096

static int reader;

/* A log whose reader is this very process. */
static void start(void)
{
	int ends[2];

	g_assert_cmpint(pipe2(ends, O_CLOEXEC | O_NONBLOCK), ==, 0);
	g_assert_cmpint(fcntl(ends[1], F_SETPIPE_SZ, PIPE), ==, PIPE);
	reader = ends[0];
	rs_log_start(ends[1]);
}

static void say(const char *text)
{
	const GLogField field = {"MESSAGE", text, -1};

	rs_log_write(G_LOG_LEVEL_WARNING, &field, 1, NULL);
}

/* What was written, of 64 KiB at most. */
static char *take(void)
{
	char *text = g_malloc0(65536);
	gssize n = read(reader, text, 65535);

	g_assert_true(n >= 0 || errno == EAGAIN);
	return text;
}

/* GDBus prints a message that it cannot parse, of megabytes. */
static void cut(void)
{
	g_autofree char *text = g_strnfill(1u << 20, '\n'), *got = NULL;

	start();
	say(text);
	got = take();
	g_assert_true(g_str_has_prefix(got, "ringside: \\x0a\\x0a"));
	g_assert_cmpuint(strlen(got), <, 8 * RS_LOG_TEXT_MAX);
	g_assert_true(strchr(got, '\n') == got + strlen(got) - 1);
	g_free(got);
	say("short");
	got = take();
	g_assert_cmpstr(got, ==, "ringside: short\n");
}

static void few(void)
{
	g_autofree char *got = NULL;
	guint lines = 0;

	start();
	for (guint i = 0; i < 1000; i++)
		say("again");
	got = take();
	for (const char *c = got; *c; c++)
		lines += *c == '\n';
	g_assert_cmpuint(lines, ==, RS_LOG_BURST);
}

/* Ten messages of many bytes do not fit, and nobody reads: none of them waits. */
static void unread(void)
{
	g_autofree char *text = g_strnfill(RS_LOG_TEXT_MAX, '\x01');
	g_autofree char *got = NULL;

	start();
	for (guint i = 0; i < 1000; i++)
		say(text);
	got = take();
	g_assert_cmpuint(strlen(got), <=, PIPE);
	g_assert_cmpuint(strlen(got), >, RS_LOG_TEXT_MAX);
}

static void fatal(void)
{
	rs_log_start(STDERR_FILENO);
	for (guint i = 0; i < 1000; i++)
		say("again");
	g_error("this is the end");
}

static void test_passes(gconstpointer body)
{
	if (g_test_subprocess()) {
		((void (*)(void))body)();
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
	g_test_trap_assert_passed();
}

static void test_fatal(void)
{
	if (g_test_subprocess()) {
		fatal();
		return;
	}
	g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
	g_test_trap_assert_failed();
	g_test_trap_assert_stderr("*ringside: this is the end*");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/base/log/cut", cut, test_passes);
	g_test_add_data_func("/base/log/few", few, test_passes);
	g_test_add_data_func("/base/log/unread", unread, test_passes);
	g_test_add_func("/base/log/fatal", test_fatal);
	return g_test_run();
}
