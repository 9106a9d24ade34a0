/* SPDX-License-Identifier: MIT */
#include "filter/rs-trace-ranges.h"
#include "rs-trace-error.h"

static void test_lists(void)
{
	static const guint32 inside[] = {1, 3, 4, 5, 6, 9},
			     outside[] = {0, 2, 7, 8, 10, G_MAXUINT32};
	g_autoptr(RsTraceRanges) list = rs_trace_ranges_new("9,5-6,1,3-5", 100, NULL);
	g_autoptr(RsTraceRanges) all = rs_trace_ranges_new("0-4294967295,7", G_MAXUINT32, NULL);

	for (guint i = 0; i < G_N_ELEMENTS(inside); i++) {
		g_assert_true(rs_trace_ranges_contain(list, inside[i]));
		g_assert_true(rs_trace_ranges_contain(all, inside[i]));
	}
	for (guint i = 0; i < G_N_ELEMENTS(outside); i++) {
		g_assert_false(rs_trace_ranges_contain(list, outside[i]));
		g_assert_true(rs_trace_ranges_contain(all, outside[i]));
	}
}

static void test_what_is_no_list(void)
{
	static const char *const wrong[] = {
		"",    ",",     "1,",   ",1",   "a",
		"-1",  "1-",    "2-1",  "101",  "1 2",
		"0x1", "5-101", "1--2", "1,,2", "99999999999999999999999"};

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(rs_trace_ranges_new(wrong[i], 100, &error));
		g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/ranges/lists", test_lists);
	g_test_add_func("/filter/ranges/what-is-no-list", test_what_is_no_list);
	return g_test_run();
}
