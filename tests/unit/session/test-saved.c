/* SPDX-License-Identifier: MIT */
/* What an owner wished is saved, and he wishes it again. */
#include "session/saved.h"

#include "sham.h"
#include <ringside/record.h>

#define FIRST RS_FIRST_EVENT_ID

static const char *const one[] = {"one", "two", NULL};
static const char *const late[] = {"read", "write", NULL};

struct fixture {
	struct rs_session *session;
	struct sham *sham;
	struct rs_saved *saved;
};

static void set_up(struct fixture *f, gconstpointer data)
{
	struct rs_source_config config = {.kernel = "kern"};

	f->sham = sham_new(1, RS_CHANNEL_MAILBOX);
	g_assert_cmpint(rs_session_create("t", &f->session, NULL), ==, 0);
	g_assert_cmpint(rs_session_add_source(f->session, &config, f->sham->region,
					      &f->sham->target, NULL, NULL),
			==, 0);
	g_assert_cmpint(rs_session_start(f->session, NULL), ==, 0);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	sham_provider(f->sham, "first", one);
	rs_session_refresh(f->session);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	rs_saved_unref(f->saved);
	rs_session_destroy(f->session);
	sham_free(f->sham);
}

static int ask(struct fixture *f, enum rs_session_ask_kind kind, const char *glob,
	       const char *expression)
{
	const struct rs_session_ask what = {.owner = "x",
					    .kind = kind,
					    .glob = glob,
					    .expression = expression,
					    .stack = kind == RS_ASK_ENABLE ? 3 : 0,
					    .ahead = true};

	return rs_session_ask(f->session, &what, NULL, NULL);
}

static void restore(struct fixture *f)
{
	struct rs_session_result result = {0};

	g_assert_cmpint(rs_session_restore(f->session, NULL, f->saved, &result, NULL), ==, 0);
	g_assert_cmpuint(result.later, ==, 0);
	g_assert_null(result.failed);
	rs_session_result_clear(&result);
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

/* "KIND GLOB [if FILTER]", one line for each rule. */
static void check_rules(struct fixture *f, const char *what)
{
	g_autoptr(GArray) list = rs_session_list_rules(f->session);
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < list->len; i++) {
		const struct rs_rule *rule = g_array_index(list, struct rs_session_rule, i).rule;

		g_string_append_printf(text, "%d %s %u%s%s%s\n", rule->kind, rule->glob,
				       rule->stack, rule->expression ? " if " : "",
				       rule->expression ? rule->expression : "",
				       rule->met ? " met" : "");
	}
	g_assert_cmpstr(text->str, ==, what);
}

#define RULES                                                                                      \
	"2 first:* 0 if a > 1 met\n"                                                               \
	"0 first:one 3 met\n"                                                                      \
	"0 late:* 3\n"

static void wish(struct fixture *f)
{
	g_assert_cmpint(ask(f, RS_ASK_FILTER, "first:*", "a > 1"), ==, 0);
	g_assert_cmpint(ask(f, RS_ASK_ENABLE, "first:one", NULL), ==, 0);
	g_assert_cmpint(ask(f, RS_ASK_ENABLE, "late:*", NULL), ==, 0);
	f->saved = rs_session_save(f->session, "x");
}

/* Everything is another one by now. */
static void wish_something_else(struct fixture *f)
{
	g_assert_cmpint(ask(f, RS_ASK_DISABLE, "*", NULL), ==, 0);
	g_assert_cmpint(ask(f, RS_ASK_FILTER, "*", NULL), ==, 0);
	g_assert_cmpint(ask(f, RS_ASK_FILTER, "first:one", "a > 2 && a > 3"), ==, 0);
	g_assert_cmpint(ask(f, RS_ASK_ENABLE, "first:two", NULL), ==, 0);
}

static void test_wishes_and_rules_are_there_again(struct fixture *f, gconstpointer data)
{
	g_autoptr(GArray) list = NULL;

	wish(f);
	check_rules(f, RULES);
	wish_something_else(f);
	g_assert_true(!is_on(f, 0) && is_on(f, 1));
	restore(f);
	check_rules(f, RULES);
	g_assert_true(is_on(f, 0) && !is_on(f, 1));
	g_assert_true(is_filtered(f, 0));
	list = rs_session_list(f->session, "first:*");
	g_assert_cmpuint(list->len, ==, 2);
	for (guint i = 0; i < list->len; i++) {
		const struct rs_wish *was = g_array_index(list, struct rs_session_event, i).wishes;

		g_assert_nonnull(was);
		g_assert_cmpstr(was->filter, ==, "a > 1");
		g_assert_null(was->next);
		g_assert_cmpint(was->wanted, ==, i == 0);
		g_assert_cmpuint(was->stack, ==, i == 0 ? 3 : 0);
	}
}

static void test_an_owner_who_wished_nothing(struct fixture *f, gconstpointer data)
{
	f->saved = rs_session_save(f->session, "x");
	wish_something_else(f);
	restore(f);
	check_rules(f, "");
	g_assert_true(!is_on(f, 0) && !is_on(f, 1));
	g_assert_false(rs_session_knows_owner(f->session, "x"));
}

static void test_others_are_left_alone(struct fixture *f, gconstpointer data)
{
	wish(f);
	g_assert_cmpint(rs_session_enable(f->session, "y", "first:two", NULL, NULL), ==, 0);
	wish_something_else(f);
	restore(f);
	g_assert_true(is_on(f, 0) && is_on(f, 1));
	g_assert_false(is_filtered(f, 1));
}

/* The saved rules are for it, and not the ones that it met. */
static void test_an_event_that_has_come_since(struct fixture *f, gconstpointer data)
{
	wish(f);
	wish_something_else(f);
	g_assert_cmpint(ask(f, RS_ASK_FILTER, "late:read", "a > 7"), ==, 0);
	sham_provider(f->sham, "late", late);
	rs_session_refresh(f->session);
	g_assert_false(is_on(f, 2));
	restore(f);
	g_assert_true(is_on(f, 2) && is_on(f, 3));
	g_assert_false(is_filtered(f, 2));
	check_rules(f, "2 first:* 0 if a > 1 met\n0 first:one 3 met\n0 late:* 3 met\n");
}

/* One of the same number may be another one. */
static void test_an_event_that_has_come_back(struct fixture *f, gconstpointer data)
{
	wish(f);
	wish_something_else(f);
	sham_hello(f->sham, RS_GUEST_SELF_PATCH);
	rs_session_refresh(f->session);
	sham_provider(f->sham, "late", late);
	rs_session_refresh(f->session);
	g_assert_false(is_on(f, 0));
	restore(f);
	g_assert_true(is_on(f, 0) && is_on(f, 1));
	g_assert_false(is_filtered(f, 0));
}

/* It is not freed before it is done. */
static void test_in_turns(struct fixture *f, gconstpointer data)
{
	struct rs_session_result result = {0};

	wish(f);
	wish_something_else(f);
	rs_session_set_turn(f->session, 256);
	g_assert_cmpint(rs_session_restore(f->session, NULL, f->saved, &result, NULL), ==, 0);
	g_assert_cmpuint(result.later, !=, 0);
	g_clear_pointer(&f->saved, rs_saved_unref);
	/* Until it is: the test's timeout is the limit. */
	while (!is_on(f, 0) || is_on(f, 1))
		g_main_context_iteration(NULL, TRUE);
	rs_session_result_clear(&result);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(path, test) g_test_add(path, struct fixture, NULL, set_up, test, tear_down)
	ADD("/saved/again", test_wishes_and_rules_are_there_again);
	ADD("/saved/nothing", test_an_owner_who_wished_nothing);
	ADD("/saved/others", test_others_are_left_alone);
	ADD("/saved/since", test_an_event_that_has_come_since);
	ADD("/saved/back", test_an_event_that_has_come_back);
	ADD("/saved/turns", test_in_turns);
	return g_test_run();
}
