/* SPDX-License-Identifier: MIT */
#include "cli/line_diff.h"

#include <glib.h>

static void check(const char *before, const char *after, const char *expected)
{
	g_autofree char *diff = rs_line_diff(before, after);

	g_assert_cmpstr(diff, ==, expected);
}

static void test_equal_texts_differ_in_nothing(void)
{
	check("", "", "");
	check("a\nb\n", "a\nb\n", "");
}

static void test_lines_that_come_and_go(void)
{
	check("a\nb\n", "a\nx\nb\n", " a\n+x\n");
	check("a\nx\nb\n", "a\nb\n", " a\n-x\n");
	check("a\nb\n", "x\na\nb\n", "+x\n");
	check("a\nb\nc\n", "a\nB\nc\n", " a\n-b\n+B\n");
}

static void test_each_group_has_its_context(void)
{
	check("a\nb\nc\nd\n", "a\n1\nb\nc\n2\nd\n", " a\n+1\n c\n+2\n");
}

static void test_a_line_that_moves_is_told_twice(void)
{
	check("x\na\nb\n", "a\nb\nx\n", "-x\n b\n+x\n");
}

static void test_very_different_texts_are_told_whole(void)
{
	GString *before = g_string_new(NULL), *after = g_string_new(NULL);
	g_autofree char *diff = NULL;

	for (int i = 0; i < 3000; i++) {
		g_string_append_printf(before, "a%d\n", i);
		g_string_append_printf(after, "b%d\n", i);
	}
	diff = rs_line_diff(before->str, after->str);
	g_assert_true(g_str_has_prefix(diff, "-a0\n-a1\n"));
	g_assert_true(g_str_has_suffix(diff, "+b2998\n+b2999\n"));
	g_string_free(before, TRUE);
	g_string_free(after, TRUE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/line-diff/equal", test_equal_texts_differ_in_nothing);
	g_test_add_func("/line-diff/come-and-go", test_lines_that_come_and_go);
	g_test_add_func("/line-diff/context", test_each_group_has_its_context);
	g_test_add_func("/line-diff/moves", test_a_line_that_moves_is_told_twice);
	g_test_add_func("/line-diff/large", test_very_different_texts_are_told_whole);
	return g_test_run();
}
