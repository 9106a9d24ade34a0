/* SPDX-License-Identifier: MIT */
/* What listeners are told, and how much of it a guest can cause. The time is this test's. */
#include "session/session.h"

#include "sham.h"
#include <string.h>

#define BURST 200
#define PER_SECOND 50
#define SECOND G_GINT64_CONSTANT(1000000)

static gint64 now;

gint64 __wrap_g_get_monotonic_time(void);

gint64 __wrap_g_get_monotonic_time(void)
{
	return now;
}

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct sham *sham[2];
	guint sources;
	GPtrArray *said;
	uint32_t generation; /* as last told */
	guint changes;       /* told of */
};

static void on_changed(void *data, uint32_t generation)
{
	struct fixture *f = data;

	/* Each one is told. */
	g_assert_cmpuint(generation, ==, f->generation + 1);
	f->generation = generation;
	f->changes++;
}

static void on_message(void *data, const char *text)
{
	g_ptr_array_add(((struct fixture *)data)->said, g_strdup(text));
}

static void add_guest(struct fixture *f)
{
	struct rs_source_config config = {.kernel = "kern"};
	struct sham *sham = sham_new(1, RS_CHANNEL_MAILBOX);

	g_assert_cmpint(
		rs_session_add_source(f->session, &config, sham->region, &sham->target, NULL, NULL),
		==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	f->sham[f->sources++] = sham;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	now = 3600 * SECOND;
	f->said = g_ptr_array_new_with_free_func(g_free);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->listener = (struct rs_session_listener){
		.data = f, .message = on_message, .changed = on_changed};
	rs_session_add_listener(f->session, &f->listener);
	add_guest(f);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_destroy(f->session);
	for (guint i = 0; i < f->sources; i++)
		sham_free(f->sham[i]);
	g_ptr_array_unref(f->said);
}

/* A guest logs a line. */
static void say_in(struct fixture *f, guint i, const char *text)
{
	struct rs_target_events *events = &f->sham[i]->target.events;
	struct rs_target_end end;

	sham_request(f->sham[i], 0, RS_HCALL_LOG, 0, text);
	g_assert_false(events->hypercall(events->data, 0, &end));
}

/* The first guest logs so many lines. Returns how many messages that makes. */
static guint say(struct fixture *f, guint lines)
{
	guint before = f->said->len;

	while (lines--)
		say_in(f, 0, "hear me");
	return f->said->len - before;
}

/* The n-th message from the end is this. */
static void check_said(struct fixture *f, guint n, const char *text)
{
	g_assert_cmpuint(f->said->len, >, n);
	g_assert_cmpstr(f->said->pdata[f->said->len - 1 - n], ==, text);
}

static void test_burst(struct fixture *f, gconstpointer data)
{
	g_assert_cmpuint(say(f, BURST), ==, BURST);
	check_said(f, 0, "guest: hear me");
	g_assert_cmpuint(say(f, 2), ==, 0);
	/* However long it is silent, it may not say more at once. */
	now += 3600 * SECOND;
	g_assert_cmpuint(say(f, 1), ==, 2);
	check_said(f, 1, "2 messages were left out");
	check_said(f, 0, "guest: hear me");
	g_assert_cmpuint(say(f, BURST - 1), ==, BURST - 1);
	g_assert_cmpuint(say(f, 1), ==, 0);
	/* What is left out at the end is told then. */
	rs_session_stop(f->session, "enough");
	check_said(f, 0, "1 message was left out");
}

static void test_earned(struct fixture *f, gconstpointer data)
{
	const gint64 each = SECOND / PER_SECOND;

	g_assert_cmpuint(say(f, BURST), ==, BURST);
	now += each;
	g_assert_cmpuint(say(f, 1), ==, 1);
	now += 3 * each;
	g_assert_cmpuint(say(f, 3), ==, 3);
	/* Once something was left out there is silence, until a second's messages are earned. */
	now += each - 1;
	g_assert_cmpuint(say(f, 1), ==, 0);
	now += 1 + (PER_SECOND - 2) * each;
	g_assert_cmpuint(say(f, 1), ==, 0);
	now += each - 1;
	g_assert_cmpuint(say(f, 1), ==, 0);
	now += 1;
	g_assert_cmpuint(say(f, PER_SECOND), ==, PER_SECOND + 1);
	check_said(f, PER_SECOND, "3 messages were left out");
	g_assert_cmpuint(say(f, 1), ==, 0);
}

/* The host has only just started, so its clock is near 0. */
static void test_early(struct fixture *f, gconstpointer data)
{
	now = 1;
	g_assert_cmpuint(say(f, BURST), ==, BURST);
	g_assert_cmpuint(say(f, 1), ==, 0);
}

/* What one guest says too much takes nothing from another, and each is told what was left out. */
static void test_apart(struct fixture *f, gconstpointer data)
{
	add_guest(f);
	g_assert_cmpuint(say(f, BURST + 3), ==, BURST);
	for (guint i = 0; i < BURST; i++) {
		say_in(f, 1, "and me");
		check_said(f, 0, "kern.2: guest: and me");
	}
	say_in(f, 1, "and me");
	g_assert_cmpuint(f->said->len, ==, 2 * BURST);
	rs_session_stop(f->session, "enough");
	g_assert_cmpuint(f->said->len, ==, 2 * BURST + 2);
	check_said(f, 1, "kern: 3 messages were left out");
	check_said(f, 0, "kern.2: 1 message was left out");
}

/* Of a long line only the beginning is told. */
static void test_long(struct fixture *f, gconstpointer data)
{
	g_autofree char *fits = g_strnfill(300, 'a'), *longer = g_strconcat(fits, "bc", NULL);
	g_autofree char *whole = g_strconcat("guest: ", fits, NULL);
	g_autofree char *cut = g_strconcat(whole, " ... (2 more bytes)", NULL);

	say_in(f, 0, fits);
	check_said(f, 0, whole);
	say_in(f, 0, longer);
	check_said(f, 0, cut);
}

/* With several sources a message says whose it is. */
static void test_names(struct fixture *f, gconstpointer data)
{
	say_in(f, 0, "one");
	check_said(f, 0, "guest: one");
	add_guest(f);
	say_in(f, 0, "two");
	check_said(f, 0, "kern: guest: two");
	say_in(f, 1, "three");
	check_said(f, 0, "kern.2: guest: three");
}

/* So does an error. */
static void test_errors(struct fixture *f, gconstpointer data)
{
	struct rs_error err = {0};

	f->sham[0]->unstoppable = true;
	g_assert_cmpint(rs_session_pause(f->session, &err), <, 0);
	g_assert_cmpstr(err.message, ==, "the guest cannot be paused: it runs away");
	add_guest(f);
	g_assert_cmpint(rs_session_pause(f->session, &err), <, 0);
	g_assert_cmpstr(err.message, ==, "kern: the guest cannot be paused: it runs away");
}

/* There is nothing to say about events without sites, although the host would patch them. */
static void test_quiet(struct fixture *f, gconstpointer data)
{
	static const char *const events[] = {"e", NULL};

	sham_hello(f->sham[0], 0);
	sham_provider(f->sham[0], "s", events);
	rs_session_refresh(f->session);
	sham_provider_dies(f->sham[0], 0);
	rs_session_refresh(f->session);
	g_assert_cmpuint(f->said->len, ==, 0);
}

/* When a source reports, and when it ends. */
static void test_changes(struct fixture *f, gconstpointer data)
{
	uint32_t before = rs_session_source_changes(f->session);
	guint changes;

	sham_hello(f->sham[0], RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	g_assert_cmpuint(rs_session_source_changes(f->session), ==, before + 1);
	g_assert_cmpuint(f->changes, >, 0);
	changes = f->changes;
	rs_session_refresh(f->session);
	g_assert_cmpuint(f->changes, ==, changes);
	rs_session_stop(f->session, "enough");
	g_assert_cmpuint(rs_session_source_changes(f->session), ==, before + 2);
	g_assert_cmpuint(f->changes, ==, changes + 1);
}

/* Who is no longer there is not told, and who is there twice is told twice. */
static void test_listeners(struct fixture *f, gconstpointer data)
{
	struct rs_session_listener deaf = {.data = f};

	rs_session_add_listener(f->session, &deaf);
	rs_session_add_listener(f->session, &f->listener);
	g_assert_cmpuint(say(f, 3), ==, 6);
	rs_session_remove_listener(f->session, &deaf);
	rs_session_remove_listener(f->session, &f->listener);
	g_assert_cmpuint(say(f, 3), ==, 3);
	rs_session_remove_listener(f->session, &f->listener);
	g_assert_cmpuint(say(f, 3), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/say/burst", struct fixture, NULL, set_up, test_burst, tear_down);
	g_test_add("/say/earned", struct fixture, NULL, set_up, test_earned, tear_down);
	g_test_add("/say/early", struct fixture, NULL, set_up, test_early, tear_down);
	g_test_add("/say/apart", struct fixture, NULL, set_up, test_apart, tear_down);
	g_test_add("/say/long", struct fixture, NULL, set_up, test_long, tear_down);
	g_test_add("/say/names", struct fixture, NULL, set_up, test_names, tear_down);
	g_test_add("/say/errors", struct fixture, NULL, set_up, test_errors, tear_down);
	g_test_add("/say/quiet", struct fixture, NULL, set_up, test_quiet, tear_down);
	g_test_add("/say/changes", struct fixture, NULL, set_up, test_changes, tear_down);
	g_test_add("/say/listeners", struct fixture, NULL, set_up, test_listeners, tear_down);
	return g_test_run();
}
