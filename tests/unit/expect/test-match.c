/* SPDX-License-Identifier: MIT */
#include "expect/rs-trace-match.h"
#include "items.h"

#include <rs-trace-error.h>
#include <string.h>

typedef struct {
	TestItems items;
	RsTraceMatch *match;
} Fixture;

static Fixture *fixture_new(const char *event)
{
	Fixture *f = g_new0(Fixture, 1);
	GError *error = NULL;

	test_items_init(&f->items);
	f->match = rs_trace_match_new(event, &error);
	g_assert_no_error(error);
	return f;
}

static void fixture_free(Fixture *f)
{
	rs_trace_match_free(f->match);
	test_items_clear(&f->items);
	g_free(f);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Fixture, fixture_free)

/* A task's switch to `next`. */
static RsTraceMatchResult look(Fixture *f, guint pid, guint next)
{
	return rs_trace_match_look(f->match, test_items_switch(&f->items, 1, pid, pid, next));
}

static gboolean know(Fixture *f, guint id)
{
	return rs_trace_match_know(f->match, NULL, rs_trace_schema_by_id(f->items.schema, id));
}

static void test_glob(void)
{
	g_autoptr(Fixture) f = fixture_new("sched:*");

	g_assert_cmpint(look(f, 3, 4), ==, RS_TRACE_MATCH_SO);
	g_assert_cmpint(rs_trace_match_look(f->match, test_items_all(&f->items, 2, 7)), ==,
			RS_TRACE_MATCH_NOT);
	g_assert_cmpint(rs_trace_match_look(f->match, test_items_loss(&f->items, 3, 5)), ==,
			RS_TRACE_MATCH_NOT);
	g_assert_cmpuint(rs_trace_match_n_of_event(f->match), ==, 1);
	g_assert_cmpstr(rs_trace_match_name(f->match), ==, "sched:*");
	g_assert_null(rs_trace_match_missing(f->match));
}

static void test_list(void)
{
	g_autoptr(Fixture) f = fixture_new("irq:entry,sched:switch");
	g_autoptr(Fixture) filtered = fixture_new("irq:entry,sched:switch: next == 4");
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(look(f, 3, 4), ==, RS_TRACE_MATCH_SO);
	g_assert_true(rs_trace_match_check(f->match, &error));
	g_assert_cmpint(look(filtered, 3, 5), ==, RS_TRACE_MATCH_NEAREST);
	g_assert_cmpint(look(filtered, 3, 4), ==, RS_TRACE_MATCH_SO);
	g_assert_null(rs_trace_match_new("next == 4", &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
}

/* The nearest has the most true terms, and of those that have as many it is the first. */
static void test_nearest(void)
{
	g_autoptr(Fixture) f = fixture_new("sched:switch: prev == 3 && next == 4 && PID == 9");

	g_assert_cmpint(look(f, 1, 2), ==, RS_TRACE_MATCH_NEAREST);
	g_assert_cmpint(look(f, 1, 2), ==, RS_TRACE_MATCH_NOT);
	g_assert_cmpstr(rs_trace_match_missing(f->match), ==, "prev == 3");
	g_assert_cmpint(look(f, 3, 4), ==, RS_TRACE_MATCH_NEAREST);
	g_assert_cmpstr(rs_trace_match_missing(f->match), ==, "PID == 9");
	g_assert_cmpint(look(f, 3, 5), ==, RS_TRACE_MATCH_NOT);
	g_assert_cmpint(rs_trace_match_look(f->match, test_items_switch(&f->items, 1, 9, 3, 4)), ==,
			RS_TRACE_MATCH_SO);
	g_assert_cmpuint(rs_trace_match_n_of_event(f->match), ==, 5);
	g_assert_cmpstr(rs_trace_match_name(f->match), ==, "sched:switch");
}

/* With a single term none is nearer than the first. */
static void test_single_term(void)
{
	g_autoptr(Fixture) f = fixture_new("sched:switch: next == 4");

	g_assert_cmpint(look(f, 1, 2), ==, RS_TRACE_MATCH_NEAREST);
	g_assert_cmpint(look(f, 1, 3), ==, RS_TRACE_MATCH_NOT);
	g_assert_cmpint(look(f, 1, 4), ==, RS_TRACE_MATCH_SO);
	g_assert_null(rs_trace_match_missing(f->match));
}

static void test_mistakes(void)
{
	g_autoptr(Fixture) f = fixture_new("sched:*: nxt == 4");
	GError *error = NULL;

	g_assert_false(know(f, TEST_ALL));
	g_assert_true(rs_trace_match_check(f->match, &error)); /* no event of it is known */
	g_assert_true(know(f, TEST_SWITCH));
	g_assert_false(rs_trace_match_check(f->match, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	g_assert_nonnull(strstr(error->message, "did you mean 'next'"));
	g_clear_error(&error);
	g_assert_null(rs_trace_match_new("sched:switch: next ==", &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	g_clear_error(&error);
	g_assert_null(rs_trace_match_new("sched:switch@level=9", &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	g_clear_error(&error);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/expect/match/glob", test_glob);
	g_test_add_func("/expect/match/list", test_list);
	g_test_add_func("/expect/match/nearest", test_nearest);
	g_test_add_func("/expect/match/single-term", test_single_term);
	g_test_add_func("/expect/match/mistakes", test_mistakes);
	return g_test_run();
}
