/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-values.h"

#include <math.h>

#define N 20000u
#define COLUMNS 50u

/* Against a look at each value. */
static void test_columns(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(3);
	g_autoptr(RsViewerValues) values = rs_viewer_values_new();
	static guint64 times[N];
	static double all[N];
	guint64 ns = 0;

	for (guint i = 0; i < N; i++) {
		ns += g_rand_int_range(rand, 0, i % 50 == 0 ? 5000 : 3);
		times[i] = ns;
		all[i] = g_rand_double_range(rand, -1e6, 1e6);
		rs_viewer_values_append(values, ns, all[i]);
	}
	g_assert_cmpuint(rs_viewer_values_count(values), ==, N);
	for (guint round = 0; round < 400; round++) {
		RsViewerValueColumn columns[COLUMNS];
		guint64 edges[COLUMNS + 1];
		const guint64 from = g_rand_int_range(rand, 0, (gint)ns);
		const guint64 step = 1 + ((ns / COLUMNS) >> g_rand_int_range(rand, 0, 20));
		guint at = 0;

		for (guint i = 0; i <= COLUMNS; i++)
			edges[i] = from + i * step;
		rs_viewer_values_columns(values, edges, COLUMNS, columns);
		while (at < N && times[at] < from)
			at++;
		for (guint i = 0; i < COLUMNS; i++) {
			double least = INFINITY, most = -INFINITY;

			if (at > 0 && (at >= N || times[at] > edges[i]))
				least = most = all[at - 1];
			for (; at < N && times[at] < edges[i + 1]; at++) {
				least = MIN(least, all[at]);
				most = MAX(most, all[at]);
			}
			g_assert_cmpint(columns[i].has, ==, at > 0);
			if (at == 0)
				continue;
			g_assert_cmpfloat(columns[i].least, ==, least);
			g_assert_cmpfloat(columns[i].most, ==, most);
			g_assert_cmpfloat(columns[i].last, ==, all[at - 1]);
		}
	}
}

static void test_odd(void)
{
	g_autoptr(RsViewerValues) values = rs_viewer_values_new();
	const guint64 edges[3] = {0, 5, 10};
	RsViewerValueColumn columns[2];
	guint64 ns;

	rs_viewer_values_columns(values, edges, 2, columns);
	g_assert_false(columns[0].has);
	rs_viewer_values_append(values, 7, NAN);
	rs_viewer_values_append(values, 3, INFINITY); /* goes back */
	g_assert_cmpfloat(rs_viewer_values_at(values, 1, &ns), ==, INFINITY);
	g_assert_cmpuint(ns, ==, 7);
	rs_viewer_values_columns(values, edges, 2, columns);
	g_assert_false(columns[0].has);
	g_assert_true(columns[1].has);
	g_assert_cmpfloat(columns[1].least, ==, 0);
	g_assert_cmpfloat(columns[1].most, ==, INFINITY);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/values/columns", test_columns);
	g_test_add_func("/values/odd", test_odd);
	return g_test_run();
}
