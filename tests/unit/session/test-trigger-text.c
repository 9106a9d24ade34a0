/* SPDX-License-Identifier: MIT */
/* A trigger as text: what it becomes, and what is refused. */
#include "session/trigger_text.h"

#include <errno.h>
#include <string.h>

static struct rs_trigger_text *parse(const char *line)
{
	struct rs_trigger_text *text = NULL;
	struct rs_error err = {0};

	if (rs_trigger_text_parse(line, &text, &err))
		g_error("%s: %s", line, err.message);
	return text;
}

static const struct rs_trigger_action *nth(const struct rs_trigger_text *text, guint i)
{
	g_assert_cmpuint(i, <, text->actions->len);
	return &g_array_index(text->actions, struct rs_trigger_action, i);
}

static void test_line(void)
{
	struct rs_trigger_text *text =
		parse(" pause;snapshot=/a b.trace ; stack ;enable=x:*@level=3; count=7 @ "
		      "sched:switch: next_comm ~ \"a @ b\"");
	g_autofree char *actions = rs_trigger_text_actions(text);
	g_autofree char *event = rs_trigger_text_event(text);

	g_assert_cmpstr(event, ==, "sched:switch: next_comm ~ \"a @ b\"");
	g_assert_cmpstr(text->glob, ==, "sched:switch");
	g_assert_cmpstr(text->expression, ==, "next_comm ~ \"a @ b\"");
	g_assert_cmpuint(text->count, ==, 7);
	g_assert_cmpuint(text->actions->len, ==, 4);
	g_assert_cmpint(nth(text, 0)->act, ==, RS_TRIGGER_PAUSE);
	g_assert_cmpint(nth(text, 1)->act, ==, RS_TRIGGER_SNAPSHOT);
	g_assert_cmpstr(nth(text, 1)->arg, ==, "/a b.trace");
	g_assert_cmpuint(nth(text, 2)->frames, ==, RS_TRIGGER_FRAMES);
	g_assert_cmpuint(rs_trigger_text_stack(text), ==, RS_TRIGGER_FRAMES);
	g_assert_cmpint(nth(text, 3)->act, ==, RS_TRIGGER_ENABLE);
	g_assert_cmpstr(nth(text, 3)->arg, ==, "x:*@level=3");
	g_assert_true(rs_trigger_text_has(text, RS_TRIGGER_ENABLE));
	g_assert_false(rs_trigger_text_has(text, RS_TRIGGER_FREEZE));
	g_assert_cmpstr(actions, ==, "pause; snapshot=/a b.trace; stack=16; enable=x:*@level=3");
	rs_trigger_text_free(text);
}

static void test_event(void)
{
	static const char *const globs[] = {"sched:switch",
					    "sched:*@level=3,keyword=0x6",
					    "web/[a-c]*:x?",
					    "sched:switch:",
					    "words:longest,primes:found",
					    "words:*,!words:longest",
					    "!sched:switch",
					    "longest",
					    "*"};

	for (guint i = 0; i < G_N_ELEMENTS(globs); i++) {
		g_autofree char *line = g_strconcat("freeze @ ", globs[i], NULL);
		struct rs_trigger_text *text = parse(line);

		g_assert_true(g_str_has_prefix(globs[i], text->glob));
		g_assert_null(text->expression);
		g_assert_cmpuint(text->count, ==, 0);
		rs_trigger_text_free(text);
	}
}

/* Neither keeps anything of the other. */
static void test_copy(void)
{
	struct rs_trigger_text *text = parse("pause; snapshot=/a; count=3 @ a:b: x");
	struct rs_trigger_text *copy = rs_trigger_text_copy(text);
	g_autofree char *event = NULL;

	rs_trigger_text_free(text);
	event = rs_trigger_text_event(copy);
	g_assert_cmpstr(event, ==, "a:b: x");
	g_assert_cmpuint(copy->count, ==, 3);
	g_assert_cmpstr(nth(copy, 1)->arg, ==, "/a");
	rs_trigger_text_free(copy);
	text = parse("pause @ a:b");
	copy = rs_trigger_text_copy(text);
	g_assert_null(copy->expression);
	rs_trigger_text_free(copy);
	rs_trigger_text_free(text);
}

/* What only an expression could tell from a glob does not matter if they come apart. */
static void test_parts(void)
{
	static const char *const stack[] = {"stack", NULL};
	struct rs_trigger_text *text = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_trigger_text_new(" a:*,!a:b ", "x == \"y: z\"", stack, 0, &text, &err),
			==, 0);
	g_assert_cmpstr(text->glob, ==, "a:*,!a:b");
	g_assert_cmpstr(text->expression, ==, "x == \"y: z\"");
	rs_trigger_text_free(text);
	g_assert_cmpint(rs_trigger_text_new("a:b", "", stack, 0, &text, &err), ==, 0);
	g_assert_null(text->expression);
	rs_trigger_text_free(text);
	g_assert_cmpint(rs_trigger_text_new("a:b: c", NULL, stack, 0, &text, &err), ==, -EINVAL);
	g_assert_cmpint(rs_trigger_text_new("", "c", stack, 0, &text, &err), ==, -EINVAL);
}

/* The disk has an end, and who says how often knows it. */
static void test_snapshots(void)
{
	struct rs_trigger_text *text = parse("snapshot @ a:b");

	g_assert_null(nth(text, 0)->arg);
	g_assert_cmpuint(text->count, ==, RS_TRIGGER_SNAPSHOTS);
	rs_trigger_text_free(text);
	text = parse("snapshot; count=1000 @ a:b");
	g_assert_cmpuint(text->count, ==, 1000);
	rs_trigger_text_free(text);
}

static void test_mistakes(void)
{
	static const struct {
		const char *line, *message;
	} wrong[] = {
		{"", "ACTION"},
		{"pause", "ACTION"},
		{"pause@a:b", "ACTION"},
		{" @ a:b", "does something"},
		{"; @ a:b", "does something"},
		{"count=1 @ a:b", "does something"},
		{"pausee @ a:b", "'pausee' is nothing"},
		{"pause=1 @ a:b", "'pause=1' is nothing"},
		{"enable @ a:b", "'enable' is nothing"},
		{"enable= @ a:b", "'enable=' is nothing"},
		{"snapshot= @ a:b", "'snapshot=' is nothing"},
		{"enable=a:b@nix=1 @ a:b", "nix"},
		{"stack=0 @ a:b", "frames"},
		{"stack=65 @ a:b", "frames"},
		{"stack=x @ a:b", "frames"},
		{"stack=-1 @ a:b", "frames"},
		{"pause; count=0 @ a:b", "count="},
		{"pause; count=x @ a:b", "count="},
		{"pause; count=4294967296 @ a:b", "count="},
		{"pause; count=1; count=2 @ a:b", "twice"},
		{"pause @ a > 2", "GLOB"},
		{"pause @  ", "GLOB"},
		{"pause @ a:b@nix=1", "nix"},
		{"pause @ a:b,c:d:e > 1", "GLOB"},
		{"pause @ a b: c > 1", "'a b'"},
		{"pause @ a::", "'a:'"},
		{"pause; pause; pause; pause; pause; pause; pause; pause; pause @ a:b",
		 "at most 8"},
		{"\033 @ a:b", "\\x1b"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		struct rs_trigger_text *text = NULL;
		struct rs_error err = {0};

		if (rs_trigger_text_parse(wrong[i].line, &text, &err) != -EINVAL || text ||
		    !strstr(err.message, wrong[i].message))
			g_error("'%s': %s", wrong[i].line, err.message);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/trigger-text/line", test_line);
	g_test_add_func("/trigger-text/event", test_event);
	g_test_add_func("/trigger-text/parts", test_parts);
	g_test_add_func("/trigger-text/copy", test_copy);
	g_test_add_func("/trigger-text/snapshots", test_snapshots);
	g_test_add_func("/trigger-text/mistakes", test_mistakes);
	return g_test_run();
}
