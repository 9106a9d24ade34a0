/* SPDX-License-Identifier: MIT */
/*
 * What ends a session, while its main loop has always something else to do. What it does to files
 * when it cannot begin.
 */
#include "cli/profile.h"
#include "cli/runner.h"
#include "cli/verb.h"

#include "sham.h"
#include <glib-unix.h>
#include <glib/gstdio.h>
#include <signal.h>

struct busy {
	struct rs_session *session;
	int signal;        /* to be sent; 0: none */
	bool begun;        /* it was sent, or the deadline has passed */
	bool due;          /* it can be seen in the main loop */
	bool over;         /* the session has ended */
	guint calls_after; /* calls of on_busy() between the last two */
};

/* Always ready, and before all others of its priority. */
static gboolean on_busy(gpointer data)
{
	struct busy *busy = data;

	if (!busy->begun) {
		busy->begun = true;
		if (busy->signal) {
			raise(busy->signal);
		} else {
			g_usleep(150000);
			busy->due = true;
		}
	} else if (busy->due && !rs_session_end(busy->session)) {
		busy->calls_after++;
	}
	return G_SOURCE_CONTINUE;
}

/* GLib tells all who wait for a signal, the one that began last first: the runner is before us. */
static gboolean on_due(gpointer data)
{
	((struct busy *)data)->due = true;
	return G_SOURCE_REMOVE;
}

static void on_ended(void *data, struct rs_source *source, const struct rs_target_end *end)
{
	((struct busy *)data)->over = true;
}

/* The guest of the session that runs. */
static struct sham *sham;

static int on_started(struct rs_session *session, struct rs_rundir_claim *claim,
		      struct rs_error *err)
{
	sham_hello(sham, RS_GUEST_SELF_PATCH);
	return 0;
}

/* What ends it is seen before anything else. */
static void run(struct busy *busy, double duration)
{
	const struct rs_source_config source = {.kernel = "k"};
	const struct rs_session_listener listener = {.data = busy, .ended = on_ended};
	const struct rs_runner_config config = {.mode = RS_PROFILE_ANY_MODE,
						.quiet = true,
						.duration = duration,
						.started = on_started};
	guint idle = g_idle_add_full(G_PRIORITY_DEFAULT, on_busy, busy, NULL);

	sham = sham_new(1, RS_CHANNEL_MAILBOX);
	g_assert_cmpint(rs_session_create("t", &busy->session, NULL), ==, 0);
	g_assert_cmpint(rs_session_add_source(busy->session, &source, sham->region, &sham->target,
					      NULL, NULL),
			==, 0);
	rs_session_add_listener(busy->session, &listener);
	if (busy->signal)
		g_unix_signal_add_full(G_PRIORITY_HIGH - 1, busy->signal, on_due, busy, NULL);
	rs_runner_run(busy->session, &config);
	g_source_remove(idle);
	g_assert_true(busy->over);
	g_assert_cmpuint(busy->calls_after, ==, 0);
	sham_free(sham);
}

static void test_signal(gconstpointer signal)
{
	struct busy busy = {.signal = GPOINTER_TO_INT(signal)};

	run(&busy, 0);
}

static void test_duration(void)
{
	struct busy busy = {0};

	run(&busy, 0.1);
}

/* The agent reported to an earlier session, and takes the mode of its rings at its start. */
static void test_refused_mode(void)
{
	const struct rs_source_config source = {.kernel = "k"};
	g_autofree char *path = g_build_filename(g_getenv("XDG_RUNTIME_DIR"), "text", NULL);
	g_autofree char *text = NULL;
	struct rs_line_time time = {0};
	const struct rs_runner_config config = {
		.mode = RS_MODE_DROP, .output = path, .time = &time, .started = on_started};
	struct rs_session *session;

	g_assert_true(g_file_set_contents(path, "as it was", -1, NULL));
	sham = sham_new(1, RS_CHANNEL_MAILBOX);
	sham_hello(sham, RS_GUEST_SELF_PATCH);
	g_assert_cmpint(rs_session_create("t", &session, NULL), ==, 0);
	g_assert_cmpint(
		rs_session_add_source(session, &source, sham->region, &sham->target, NULL, NULL),
		==, 0);
	g_assert_cmpint(rs_runner_run(session, &config), ==, RS_CLI_FAILED);
	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	g_assert_cmpstr(text, ==, "as it was");
	g_remove(path);
	sham_free(sham);
}

int main(int argc, char **argv)
{
	g_autofree char *dir = g_dir_make_tmp("runner-XXXXXX", NULL);
	g_autofree char *ours = g_build_filename(dir, "ringside", NULL);
	int ret;

	g_setenv("XDG_RUNTIME_DIR", dir, TRUE);
	g_assert_cmpint(g_mkdir(ours, 0700), ==, 0);
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/cli/runner/sigterm", GINT_TO_POINTER(SIGTERM), test_signal);
	g_test_add_data_func("/cli/runner/sigint", GINT_TO_POINTER(SIGINT), test_signal);
	g_test_add_data_func("/cli/runner/sighup", GINT_TO_POINTER(SIGHUP), test_signal);
	g_test_add_func("/cli/runner/duration", test_duration);
	g_test_add_func("/cli/runner/refused-mode", test_refused_mode);
	ret = g_test_run();
	g_rmdir(ours);
	g_rmdir(dir);
	return ret;
}
