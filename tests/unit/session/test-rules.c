/* SPDX-License-Identifier: MIT */
/*
 * What was asked for, applied to events that come later: which of it is a failure, and which only
 * causes a message. The time is this test's.
 */
#include "session/session.h"

#include "sham.h"
#include <errno.h>
#include <ringside/record.h>
#include <string.h>

#define FIRST RS_FIRST_EVENT_ID
#define START_US (RS_SESSION_START_MS * G_GINT64_CONSTANT(1000))

static const char *const net[] = {"packet", "drop", NULL};
static const char *const one[] = {"one", NULL};

static gint64 now;

gint64 __wrap_g_get_monotonic_time(void);

gint64 __wrap_g_get_monotonic_time(void)
{
	return now;
}

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct sham *sham;
	int failed, code;
	GPtrArray *said;
};

static void on_message(void *data, const char *text)
{
	g_ptr_array_add(((struct fixture *)data)->said, g_strdup(text));
}

static void on_failed(void *data, const struct rs_error *err)
{
	struct fixture *f = data;

	f->failed++;
	f->code = err->code;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "kern"};

	now = START_US;
	f->said = g_ptr_array_new_with_free_func(g_free);
	f->sham = sham_new_with_text(1, RS_CHANNEL_MAILBOX, 4096);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, NULL, NULL),
			==, 0);
	f->listener =
		(struct rs_session_listener){.data = f, .message = on_message, .failed = on_failed};
	rs_session_add_listener(f->session, &f->listener);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	f->sham->unstoppable = false;
	rs_session_destroy(f->session);
	sham_free(f->sham);
	g_ptr_array_unref(f->said);
}

static void filter(struct fixture *f, const char *glob, const char *expression)
{
	g_assert_cmpint(
		rs_session_set_filter(f->session, RS_OWNER_HOST, glob, expression, NULL, NULL), ==,
		0);
}

static void enable(struct fixture *f, const char *owner, const char *glob)
{
	g_assert_cmpint(rs_session_enable(f->session, owner, glob, NULL, NULL), ==, 0);
}

static void start(struct fixture *f)
{
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
}

/* The guest reports, with a provider that nobody has asked for. */
static void come_up(struct fixture *f)
{
	sham_hello(f->sham, 0);
	sham_provider(f->sham, "first", one);
	rs_session_refresh(f->session);
}

static void come(struct fixture *f, const char *system, const char *const *events)
{
	sham_provider(f->sham, system, events);
	rs_session_refresh(f->session);
}

static bool is_on(struct fixture *f, uint32_t n)
{
	return sham_word(f->sham, FIRST + n) & RS_EVENT_ENABLED;
}

static bool is_filtered(struct fixture *f, uint32_t n)
{
	return sham_word(f->sham, FIRST + n) >> RS_EVENT_FILTER_SHIFT;
}

static void check_failed(struct fixture *f, int code)
{
	g_assert_cmpint(f->failed, ==, 1);
	g_assert_cmpint(f->code, ==, code);
	g_assert_cmpuint(f->said->len, ==, 0);
}

/* There is one message, which contains this. */
static void check_said(struct fixture *f, const char *what)
{
	g_assert_cmpint(f->failed, ==, 0);
	g_assert_cmpuint(f->said->len, ==, 1);
	g_assert_nonnull(strstr(f->said->pdata[0], what));
}

/* An event comes so much later than the guest, and a filter from before the start does not fit. */
static void come_unfit(struct fixture *f, gint64 later)
{
	filter(f, "net:*", "nix == 1");
	enable(f, RS_OWNER_HOST, "net:*");
	start(f);
	come_up(f);
	now += later;
	come(f, "net", net);
	/* They are recorded all the same. */
	g_assert_true(is_on(f, 1) && is_on(f, 2));
	g_assert_false(is_filtered(f, 1) || is_filtered(f, 2));
}

static void test_unfit_at_start(struct fixture *f, gconstpointer data)
{
	come_unfit(f, START_US - 1);
	check_failed(f, EBADMSG);
	/* Once is enough. */
	come(f, "net", net);
	check_failed(f, EBADMSG);
}

static void test_unfit_later(struct fixture *f, gconstpointer data)
{
	come_unfit(f, START_US);
	check_said(f, "does not fit");
	come(f, "net", net);
	check_said(f, "does not fit");
}

/* Another boot is no start: the first hello counts. */
static void test_unfit_boot(struct fixture *f, gconstpointer data)
{
	filter(f, "net:*", "nix == 1");
	start(f);
	come_up(f);
	now += START_US;
	come_up(f);
	g_ptr_array_set_size(f->said, 0);
	come(f, "net", net);
	check_said(f, "does not fit");
}

/* Asked after the start, though before the guest has reported. */
static void test_unfit_asked_later(struct fixture *f, gconstpointer data)
{
	start(f);
	filter(f, "net:*", "nix == 1");
	come_up(f);
	come(f, "net", net);
	check_said(f, "does not fit");
}

/*
 * The names of a filter are checked against all events that it meets first. Where a later event
 * lacks them, it is not filtered, which is no mistake; but a value has to fit the field.
 */
static void test_first_met(struct fixture *f, gconstpointer data)
{
	filter(f, "net:*", "a > 3");
	filter(f, "disk:*", "c == \"x\"");
	enable(f, RS_OWNER_HOST, "*");
	start(f);
	come_up(f);
	come(f, "net", net);
	g_assert_false(is_filtered(f, 0));
	g_assert_true(is_filtered(f, 1) && is_filtered(f, 2));
	f->sham->bare = true;
	come(f, "net", one);
	g_assert_true(is_on(f, 3) && is_filtered(f, 3));
	come(f, "disk", one);
	g_assert_true(is_on(f, 4) && !is_filtered(f, 4));
	check_failed(f, EBADMSG);
	f->sham->bare = false;
	come(f, "disk", one);
	g_assert_true(is_on(f, 5) && is_filtered(f, 5));
	check_failed(f, EBADMSG);
}

/* After the first ones, an event that the filter cannot have anything to do with is no mistake. */
static void test_later_met(struct fixture *f, gconstpointer data)
{
	filter(f, "net:*", "c == \"x\"");
	enable(f, RS_OWNER_HOST, "*");
	start(f);
	come_up(f);
	come(f, "net", net);
	f->sham->bare = true;
	come(f, "net", one);
	g_assert_true(is_filtered(f, 1) && is_on(f, 3) && !is_filtered(f, 3));
	g_assert_cmpint(f->failed, ==, 0);
	g_assert_cmpuint(f->said->len, ==, 0);
}

/* What is wanted cannot be switched on when the guest comes, so much later than its hello. */
static void come_unstoppable(struct fixture *f, gint64 later)
{
	f->sham->unstoppable = true;
	start(f);
	come_up(f);
	now += later;
	come(f, "net", net);
	g_assert_false(is_on(f, 1) || is_on(f, 2));
	f->sham->unstoppable = false;
}

static void test_no_switch_at_start(struct fixture *f, gconstpointer data)
{
	enable(f, RS_OWNER_HOST, "net:*");
	come_unstoppable(f, START_US - 1);
	check_failed(f, EIO);
}

/* Whoever asked before the start, and after whomever. */
static void test_no_switch_peer(struct fixture *f, gconstpointer data)
{
	enable(f, "peer", "disk:*");
	start(f);
	enable(f, RS_OWNER_HOST, "net:*");
	enable(f, "peer", "net:*");
	come_unstoppable(f, 0);
	check_failed(f, EIO);
}

static void test_no_switch_later(struct fixture *f, gconstpointer data)
{
	enable(f, RS_OWNER_HOST, "net:*");
	come_unstoppable(f, START_US);
	check_said(f, "what is wanted cannot be switched on");
}

/* What a guest asks for is no failure of the session. */
static void test_no_switch_guest(struct fixture *f, gconstpointer data)
{
	enable(f, RS_OWNER_GUEST, "net:*");
	come_unstoppable(f, 0);
	check_said(f, "what is wanted cannot be switched on");
}

static void test_no_switch_asked_later(struct fixture *f, gconstpointer data)
{
	start(f);
	enable(f, RS_OWNER_HOST, "net:*");
	come_unstoppable(f, 0);
	check_said(f, "what is wanted cannot be switched on");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"unfit-at-start", test_unfit_at_start},
		{"unfit-later", test_unfit_later},
		{"unfit-boot", test_unfit_boot},
		{"unfit-asked-later", test_unfit_asked_later},
		{"first-met", test_first_met},
		{"later-met", test_later_met},
		{"no-switch-at-start", test_no_switch_at_start},
		{"no-switch-peer", test_no_switch_peer},
		{"no-switch-later", test_no_switch_later},
		{"no-switch-guest", test_no_switch_guest},
		{"no-switch-asked-later", test_no_switch_asked_later},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/rules/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
