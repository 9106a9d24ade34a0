/* SPDX-License-Identifier: MIT */
/* A session ends, whether somebody reads what it says or not. */
#include "sham.h"

#include <fcntl.h>
#include <ringside/record.h>
#include <string.h>
#include <unistd.h>

static const char *const sched[] = {"switch", NULL};

/* Puts a pipe that is full in the place of standard error. */
static void fill_stderr(int ends[2])
{
	char piece[4096];

	memset(piece, 'x', sizeof(piece));
	g_assert_cmpint(pipe(ends), ==, 0);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], piece, sizeof(piece)) > 0)
		;
	fcntl(ends[1], F_SETFL, 0);
	dup2(ends[1], STDERR_FILENO);
}

static void test_unread(void)
{
	struct sham *sham = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 256);
	const struct rs_source_config config = {.kernel = "k"};
	int ends[2], old = dup(STDERR_FILENO);
	struct rs_session *session;

	g_assert_cmpint(rs_session_create("t", &session, NULL), ==, 0);
	g_assert_cmpint(
		rs_session_add_source(session, &config, sham->region, &sham->target, NULL, NULL),
		==, 0);
	g_assert_cmpint(rs_session_start(session, NULL), ==, 0);
	sham_hello(sham, 0);
	sham_provider(sham, "sched", sched);
	g_assert_cmpint(rs_session_enable(session, "host", "switch", NULL, NULL), ==, 0);
	g_assert_true(sham_patched(sham, RS_FIRST_EVENT_ID));
	sham->read_only = true;
	fill_stderr(ends);
	rs_session_destroy(session);
	dup2(old, STDERR_FILENO);
	g_assert_true(sham_patched(sham, RS_FIRST_EVENT_ID));
	g_assert_true(sham->destroyed);
	sham_free(sham);
	close(ends[0]);
	close(ends[1]);
	close(old);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/session/unread", test_unread);
	return g_test_run();
}
