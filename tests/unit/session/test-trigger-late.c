/* SPDX-License-Identifier: MIT */
/* Triggers on very many events: whoever adds one learns later what became of its wishes. */
#include "many.h"

#include "session/private.h"
#include "session/triggers.h"

#include <errno.h>
#include <ringside/atomic.h>
#include <ringside/record.h>
#include <string.h>

#define TERMS 100u

struct fixture {
	struct rs_session *session;
	struct rs_session_listener listener;
	struct rs_trigger_watcher watcher;
	struct sham *sham;
	struct rs_session_result result; /* of the last that was added */
	int watched;
	/* Of the last that was settled, of those that somebody waits for. */
	uint32_t request, problems;
	int settled, ret;
	guint listed; /* triggers by then */
};

static guint count(struct fixture *f)
{
	g_autoptr(GArray) list = rs_session_list_triggers(f->session);

	return list->len;
}

static void on_settled(void *data, uint32_t request, int ret,
		       const struct rs_session_result *result, const struct rs_error *err)
{
	struct fixture *f = data;

	if (request != f->result.later)
		return;
	f->settled++;
	f->request = request;
	f->ret = ret;
	f->problems = result->problems ? result->problems->len : 0;
	f->listed = count(f);
	g_assert_true(!ret || *err->message);
}

static int watch(void *data, uint32_t number, const char *glob, const char *expression, bool shows,
		 struct rs_error *err)
{
	((struct fixture *)data)->watched++;
	return 0;
}

static void unwatch(void *data, uint32_t number)
{
	((struct fixture *)data)->watched--;
}

static uint64_t hits(void *data, uint32_t number)
{
	return 0;
}

static void set_up(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	f->sham = many_add(f->session, 4u << 20);
	f->listener = (struct rs_session_listener){.data = f, .settled = on_settled};
	f->watcher = (struct rs_trigger_watcher){
		.data = f, .watch = watch, .unwatch = unwatch, .hits = hits};
	rs_session_add_listener(f->session, &f->listener);
	rs_session_set_trigger_watcher(f->session, &f->watcher);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	many_describe(f->sham);
	while (g_main_context_iteration(NULL, FALSE))
		;
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_session_set_trigger_watcher(f->session, NULL);
	rs_session_result_clear(&f->result);
	rs_session_destroy(f->session);
	sham_free(f->sham);
}

/* `term`: one more of its expression, or NULL. `times`: 0: no limit. Returns its number. */
static uint32_t add(struct fixture *f, const char *term, uint64_t times)
{
	static const char *const actions[] = {"pause", NULL};
	g_autofree char *filter = many_filter("s*", TERMS), *expression = NULL;
	struct rs_trigger_text *text;
	uint32_t number;

	expression = g_strconcat(strstr(filter, ": ") + 2, term ? "&&" : NULL, term, NULL);
	g_assert_cmpint(rs_trigger_text_new("s*:*", expression, actions, times, &text, NULL), ==,
			0);
	rs_session_result_clear(&f->result);
	g_assert_cmpint(rs_session_add_trigger(f->session, text, false, &number, &f->result, NULL),
			==, 0);
	g_assert_cmpuint(f->result.later, >, 0);
	return number;
}

static void await_settled(struct fixture *f)
{
	for (guint turns = 0; !f->settled; turns++) {
		g_assert_cmpuint(turns, <, 10000);
		g_main_context_iteration(NULL, TRUE);
	}
}

/* Once filter and event are in force, and not before. */
static void test_done(struct fixture *f, gconstpointer data)
{
	add(f, NULL, 0);
	g_assert_cmpuint(many_filtered(f->session), ==, 0);
	await_settled(f);
	g_assert_cmpint(f->ret, ==, 0);
	g_assert_cmpuint(f->problems, ==, 0);
	g_assert_cmpuint(many_filtered(f->session), ==, MANY_EVENTS);
	for (guint i = 0; i < MANY_EVENTS; i++)
		g_assert_true(many_is_on(f->sham, i));
	many_check_work(f->session);
	g_assert_cmpint(f->watched, ==, 1);
}

/* What fails late fails as a whole: nothing is left of it when that is told. */
static void test_refused(struct fixture *f, gconstpointer data)
{
	uint32_t number;

	rs_session_set_turn(f->session, 4096);
	number = add(f, "zzz==1", 0);
	await_settled(f);
	g_assert_cmpint(f->ret, ==, -EBADMSG);
	g_assert_cmpuint(f->listed, ==, 0);
	g_assert_cmpint(f->watched, ==, 0);
	g_assert_cmpint(rs_session_remove_trigger(f->session, number, NULL), ==, -ENOENT);
	while (rs_session_knows_owner(f->session, "trigger.1"))
		g_main_context_iteration(NULL, TRUE);
	for (guint i = 0; i < MANY_EVENTS; i++)
		g_assert_false(many_is_on(f->sham, i));
	g_assert_cmpint(f->settled, ==, 1);
}

/* Somebody else removes it meanwhile. */
static void test_removed(struct fixture *f, gconstpointer data)
{
	uint32_t number = add(f, NULL, 0);

	g_assert_cmpint(rs_session_remove_trigger(f->session, number, NULL), ==, 0);
	g_assert_cmpint(f->settled, ==, 1);
	g_assert_cmpint(f->ret, ==, -ECANCELED);
	for (guint i = 0; i < 100; i++)
		g_main_context_iteration(NULL, FALSE);
	g_assert_cmpint(f->settled, ==, 1);
	g_assert_cmpuint(many_filtered(f->session), ==, 0);
}

/* It fires so often as it may, by records of an event that was on before. */
static void test_spent(struct fixture *f, gconstpointer data)
{
	const struct rs_trigger_hit hit = {.source = 1, .event = "s0:e0"};
	uint32_t number = add(f, NULL, 1);

	rs_session_trigger_hit(f->session, number, &hit);
	g_assert_cmpint(f->settled, ==, 1);
	g_assert_cmpint(f->ret, ==, 0);
	g_assert_cmpuint(f->listed, ==, 1);
}

/* A part of it fails late: the agent does not follow. */
static void test_part(struct fixture *f, gconstpointer data)
{
	struct rs_guest_info *info =
		rs_trace_region_section(f->sham->region, RS_SEC_GUEST_INFO, NULL);
	g_autoptr(GArray) list = NULL;

	info->flags |= RS_GUEST_FOLLOWS;
	rs_session_refresh(f->session);
	rs_session_set_patience(f->session, 300);
	add(f, NULL, 0);
	await_settled(f);
	g_assert_cmpint(f->ret, ==, 0);
	g_assert_cmpuint(f->problems, ==, 2); /* of filter and event */
	list = rs_session_list_triggers(f->session);
	g_assert_cmpuint(list->len, ==, 1);
	g_assert_nonnull(
		strstr(g_array_index(list, struct rs_trigger_info, 0).problem, "has not followed"));
}

/* It ends before all is worked out: what the rings hold is still for the trigger. */
static void test_ends(struct fixture *f, gconstpointer data)
{
	add(f, NULL, 0);
	rs_session_stop(f->session, "enough");
	g_assert_cmpint(rs_session_state(f->session), ==, RS_SESSION_ENDED);
	g_assert_cmpint(f->settled, ==, 1);
	g_assert_cmpint(f->ret, ==, -ESHUTDOWN);
	g_assert_cmpuint(count(f), ==, 1);
	g_assert_cmpint(f->watched, ==, 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{"done", test_done},   {"refused", test_refused}, {"removed", test_removed},
		{"spent", test_spent}, {"part", test_part},       {"ends", test_ends},
	};

	g_test_init(&argc, &argv, NULL);
	for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
		g_autofree char *path = g_strdup_printf("/trigger-late/%s", tests[i].name);

		g_test_add(path, struct fixture, NULL, set_up, tests[i].run, tear_down);
	}
	return g_test_run();
}
