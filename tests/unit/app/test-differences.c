/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-differences.h"

#include <math.h>

#define ROWS 6u

static GListModel *make(void)
{
	static RsTraceDiffRow rows[ROWS] = {
		{RS_TRACE_DIFF_EVENT, (char *)"sched:fork", {0, 5}, {0, 2.5}, INFINITY, 1, 0},
		{RS_TRACE_DIFF_EVENT, (char *)"sched:exit", {4, 0}, {2, 0}, -1, 0, 1},
		{RS_TRACE_DIFF_LOST, NULL, {1, 3}, {0.001, 0.003}, 2, 0, 0},
		{RS_TRACE_DIFF_EVENT, (char *)"a:b\x1b", {8, 6}, {4, 3}, -0.25, 0, 0},
		{RS_TRACE_DIFF_EVENT, (char *)"#7", {2, 2}, {1, 1}, 0, 0, 0},
		{RS_TRACE_DIFF_EVENT, (char *)"other", {1, 1}, {1, 1}, 0, 0, 0},
	};
	g_autoptr(GPtrArray) array = g_ptr_array_new();

	for (guint i = 0; i < ROWS; i++)
		g_ptr_array_add(array, &rows[i]);
	return rs_viewer_differences_new(array);
}

static void check_row(GListModel *model, guint n, const char *const *wanted)
{
	g_autoptr(RsViewerDifference) row = g_list_model_get_item(model, n);

	for (guint i = 0; i < RS_VIEWER_DIFFERENCE_COLUMNS; i++) {
		g_autofree char *text = rs_viewer_difference_text(row, i);

		g_assert_cmpstr(text, ==, wanted[i]);
	}
}

static void test_texts(void)
{
	static const char *const wanted[][RS_VIEWER_DIFFERENCE_COLUMNS] = {
		{"sched:fork", "0", "5", "0.0/s", "2.5/s", "+2.5/s", "new"},
		{"sched:exit", "4", "0", "2.0/s", "0.0/s", "-2.0/s", "gone"},
		{"Lost events", "1", "3", "0.100 %", "0.300 %", "+0.200 %", "+200.0 %"},
		{"a:b\\x1b", "8", "6", "4.0/s", "3.0/s", "-1.0/s", "-25.0 %"},
	};
	g_autoptr(GListModel) model = make();

	g_assert_cmpuint(g_list_model_get_n_items(model), ==, ROWS);
	for (guint i = 0; i < G_N_ELEMENTS(wanted); i++)
		check_row(model, i, wanted[i]);
}

static void test_filters(void)
{
	static const char *const wanted[ROWS] = {"sched:fork:", "sched:exit:", NULL,
						 "a:b\x1b:",    NULL,          NULL};
	g_autoptr(GListModel) model = make();

	for (guint i = 0; i < ROWS; i++) {
		g_autoptr(RsViewerDifference) row = g_list_model_get_item(model, i);
		g_autofree char *filter = rs_viewer_difference_filter(row);

		g_assert_cmpstr(filter, ==, wanted[i]);
	}
}

static int compare(GListModel *model, guint a, guint b, RsViewerDifferenceColumn column)
{
	g_autoptr(RsViewerDifference) x = g_list_model_get_item(model, a);
	g_autoptr(RsViewerDifference) y = g_list_model_get_item(model, b);

	g_assert_cmpint(rs_viewer_difference_compare(x, x, column), ==, 0);
	g_assert_cmpint(rs_viewer_difference_compare(y, x, column) < 0, ==,
			rs_viewer_difference_compare(x, y, column) > 0);
	return rs_viewer_difference_compare(x, y, column);
}

/* Changes and differences by how large they are. */
static void test_order(void)
{
	g_autoptr(GListModel) model = make();

	g_assert_cmpint(compare(model, 1, 0, RS_VIEWER_DIFFERENCE_NAME), <, 0);
	g_assert_cmpint(compare(model, 0, 1, RS_VIEWER_DIFFERENCE_COUNT_A), <, 0);
	g_assert_cmpint(compare(model, 1, 0, RS_VIEWER_DIFFERENCE_COUNT_B), <, 0);
	g_assert_cmpint(compare(model, 0, 3, RS_VIEWER_DIFFERENCE_RATE_A), <, 0);
	g_assert_cmpint(compare(model, 0, 3, RS_VIEWER_DIFFERENCE_RATE_B), <, 0);
	g_assert_cmpint(compare(model, 3, 1, RS_VIEWER_DIFFERENCE_DELTA), <, 0);
	g_assert_cmpint(compare(model, 3, 1, RS_VIEWER_DIFFERENCE_CHANGE), <, 0);
	g_assert_cmpint(compare(model, 1, 0, RS_VIEWER_DIFFERENCE_CHANGE), <, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/differences/texts", test_texts);
	g_test_add_func("/differences/filters", test_filters);
	g_test_add_func("/differences/order", test_order);
	return g_test_run();
}
