/* SPDX-License-Identifier: MIT */
/* Globs of events with a selection by level and keyword. */
#include "session/event_glob.h"

#include <errno.h>
#include <string.h>

static RsTraceEvent event(guint level, guint64 keyword)
{
	return (RsTraceEvent){.system = (char *)"net",
			      .name = (char *)"sent",
			      .level = level,
			      .keyword = keyword};
}

static bool matches(const char *text, guint level, guint64 keyword)
{
	const RsTraceEvent one = event(level, keyword);
	RsTraceEventGlob *glob = rs_trace_event_glob_new(text, NULL);
	bool yes = rs_trace_event_glob_matches(glob, "here", &one);

	rs_trace_event_glob_free(glob);
	return yes;
}

static void test_without_a_selection(void)
{
	for (guint level = 0; level <= 5; level++) {
		g_assert_true(matches("net:sent", level, 0));
		g_assert_true(matches("*", level, 6));
		g_assert_true(matches("he*/net:*", level, 6));
		g_assert_false(matches("there/net:*", level, 6));
		g_assert_false(matches("net:got", level, 0));
	}
	g_assert_cmpint(rs_event_glob_check("net:sent", NULL), ==, 0);
}

static void test_names_that_no_event_has(void)
{
	static const char *const good[] = {"*",     "net:sent",    "n?t:s[a-z]*",
					   "a-b.c", "s-rc.1/net",  "net:*@level=3",
					   "\\net", "a,b@level=1", "!a@level=1,keyword=2,b"};
	static const char *const bad[] = {"bad glob:*", "[",       "a:b:c",          "net:se\nt",
					  "src/a b",    "a,b c,d", "!a b,c",         "level=1",
					  "net:",       ":net",    "s rc/net",       "/net",
					  "a/b/c",      "s:r/net", "a,net:@level=1", "a[b:c]"};

	for (guint i = 0; i < G_N_ELEMENTS(good); i++)
		g_assert_cmpint(rs_event_glob_check_names(good[i], NULL), ==, 0);
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_cmpint(rs_event_glob_check_names(bad[i], NULL), ==, -EINVAL);
}

static void test_level_selects_it_and_what_is_more_severe(void)
{
	for (guint wanted = 1; wanted <= 5; wanted++) {
		g_autofree char *text = g_strdup_printf("net:*@level=%u", wanted);

		g_assert_cmpint(rs_event_glob_check(text, NULL), ==, 0);
		for (guint level = 1; level <= 5; level++)
			g_assert_cmpint(matches(text, level, 0), ==, level <= wanted);
		g_assert_false(matches(text, 0, 0)); /* it has none */
	}
	g_assert_false(matches("disk:*@level=5", 1, 0));
	g_assert_true(matches("here/net:*@level=5", 1, 0));
	g_assert_false(matches("there/net:*@level=5", 1, 0));
}

static void test_keyword_selects_any_bit(void)
{
	g_assert_true(matches("*@keyword=0x6", 0, 2));
	g_assert_true(matches("*@keyword=6", 0, 4));
	g_assert_true(matches("*@keyword=0X6", 0, 6));
	g_assert_false(matches("*@keyword=0x6", 0, 1));
	g_assert_false(matches("*@keyword=0x6", 0, 0));
	g_assert_true(matches("*@keyword=0xffffffffffffffff", 0, 1ull << 63));
	g_assert_true(matches("*@keyword=18446744073709551615", 0, 1ull << 63));
}

static void test_keyword_all_selects_all_bits(void)
{
	g_assert_true(matches("*@keyword-all=0x6", 0, 6));
	g_assert_true(matches("*@keyword-all=0x6", 0, 7));
	g_assert_false(matches("*@keyword-all=0x6", 0, 2));
	g_assert_false(matches("*@keyword-all=0x6", 0, 0));
}

static void test_all_terms_must_hold(void)
{
	static const char *const orders[] = {"*@level=3,keyword=0x6,keyword-all=0x10",
					     "*@keyword-all=0x10,keyword=0x6,level=3", NULL};

	for (guint i = 0; orders[i]; i++) {
		g_assert_true(matches(orders[i], 3, 0x12));
		g_assert_false(matches(orders[i], 4, 0x12));
		g_assert_false(matches(orders[i], 3, 0x10));
		g_assert_false(matches(orders[i], 3, 0x02));
	}
}

static void test_a_wrong_selection_is_einval_and_matches_nothing(void)
{
	static const char *const wrong[] = {"*@",
					    "@level=1",
					    "*@level",
					    "*@level=",
					    "*@level=0",
					    "*@level=6",
					    "*@level=11",
					    "*@level=+1",
					    "*@level= 1",
					    "*@level=1,",
					    "*@,level=1",
					    "*@level=1,level=1",
					    "*@level=1@keyword=1",
					    "*@keyword=",
					    "*@keyword=0",
					    "*@keyword=0x",
					    "*@keyword=0x0",
					    "*@keyword=0x0x1",
					    "*@keyword=\v6",
					    "*@keyword=0x\v6",
					    "*@keyword=-1",
					    "*@keyword= 1",
					    "*@keyword=1g",
					    "*@keyword=0x10000000000000000",
					    "*@keyword=18446744073709551616",
					    "*@keyword=1,keyword=2",
					    "*@keyword-all=0",
					    "*@keyword-all=1,keyword-all=1",
					    "*@keyword-any=1",
					    "*@Level=1",
					    "*@level=1,keyword=1,keyword-all=1,level=1",
					    "!",
					    "a,!",
					    "!@level=1",
					    "a,*@level=6,b",
					    NULL};

	for (guint i = 0; wrong[i]; i++) {
		struct rs_error err = {0};

		g_assert_cmpint(rs_event_glob_check(wrong[i], &err), ==, -EINVAL);
		g_assert_cmpuint(strlen(err.message), >, 10);
		for (guint level = 0; level <= 5; level++)
			g_assert_false(matches(wrong[i], level, ~0ull));
	}
}

static void test_lists(void)
{
	static const char *const in[] = {"net:sent,a",   "a,net:sent",        "a,,net:*,",
					 "!a",           "!a,!b:*",           "!a,net:sent",
					 "a,*@level=3",  "*@keyword=2,a",     "!*@level=2,*",
					 "!there/*,net", "!*@keyword-all=6,*"};
	static const char *const out[] = {"a,b",
					  "!net:*",
					  "net:sent,!net:sent",
					  "!net:sent,*",
					  "*,!*@level=3",
					  "!*@keyword=2,level=3,*",
					  "!he*/net:*",
					  ",",
					  "",
					  "a,!b"};

	for (guint i = 0; i < G_N_ELEMENTS(in); i++)
		g_assert_true(matches(in[i], 3, 2));
	for (guint i = 0; i < G_N_ELEMENTS(out); i++)
		g_assert_false(matches(out[i], 3, 2));
}

static void test_a_list_is_bounded(void)
{
	g_autoptr(GString) text = g_string_new("net:sent");
	struct rs_error err = {0};

	for (guint i = 1; i < RS_TRACE_EVENT_GLOB_PARTS; i++)
		g_string_append(text, ",a");
	g_assert_true(matches(text->str, 1, 1));
	g_string_append(text, ",a");
	g_assert_cmpint(rs_event_glob_check(text->str, &err), ==, -EINVAL);
	g_assert_cmpstr(err.message, ==, "a list has more than 64 globs");
}

static void test_a_list_is_split_by_what_is_in_it(void)
{
	static const struct {
		const char *text, *globs;
	} cases[] = {
		{"a", "a"},
		{"a,b", "a b"},
		{"a,!x,b", "!x,a !x,b"},
		{"!x,!y", "!x,!y,*"},
		{"a@level=1,keyword=2,b@level=3", "a@level=1,keyword=2 b@level=3"},
		{"!x@level=1,keyword=2,b", "!x@level=1,keyword=2,b"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GStrv) globs = rs_trace_event_glob_split(cases[i].text);
		g_autofree char *all = g_strjoinv(" ", globs);

		g_assert_cmpstr(all, ==, cases[i].globs);
	}
}

static void test_a_message_names_the_mistake(void)
{
	struct rs_error err = {0};

	rs_event_glob_check("*@level=7", &err);
	g_assert_cmpstr(err.message, ==, "'7' is no level: 1 (critical) to 5 (verbose)");
	rs_event_glob_check("*@keyword=\033", &err);
	g_assert_cmpstr(err.message, ==,
			"'\\x1b' is no mask of keywords, such as 6 or 0x6; it has 64 bits");
	rs_event_glob_check("*@level=1,level=2", &err);
	g_assert_cmpstr(err.message, ==, "level is given twice");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/event-glob/without", test_without_a_selection);
	g_test_add_func("/event-glob/lists", test_lists);
	g_test_add_func("/event-glob/list-bounded", test_a_list_is_bounded);
	g_test_add_func("/event-glob/split", test_a_list_is_split_by_what_is_in_it);
	g_test_add_func("/session/event-glob/names", test_names_that_no_event_has);
	g_test_add_func("/event-glob/level", test_level_selects_it_and_what_is_more_severe);
	g_test_add_func("/event-glob/any", test_keyword_selects_any_bit);
	g_test_add_func("/event-glob/all", test_keyword_all_selects_all_bits);
	g_test_add_func("/event-glob/together", test_all_terms_must_hold);
	g_test_add_func("/event-glob/wrong", test_a_wrong_selection_is_einval_and_matches_nothing);
	g_test_add_func("/event-glob/message", test_a_message_names_the_mistake);
	return g_test_run();
}
