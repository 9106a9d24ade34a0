/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-distribution.h"

#include <math.h>
#include <stdlib.h>

static void test_small_numbers_are_exact(void)
{
	g_autoptr(RsTraceDistribution) d = rs_trace_distribution_new();

	g_assert_cmpuint(rs_trace_distribution_percentile(d, 50), ==, 0);
	for (guint i = 1; i <= 100; i++)
		rs_trace_distribution_add(d, 101 - i);
	g_assert_cmpuint(rs_trace_distribution_count(d), ==, 100);
	g_assert_cmpuint(rs_trace_distribution_least(d), ==, 1);
	g_assert_cmpuint(rs_trace_distribution_greatest(d), ==, 100);
	g_assert_cmpfloat(rs_trace_distribution_mean(d), ==, 50.5);
	g_assert_cmpuint(rs_trace_distribution_percentile(d, 0), ==, 1);
	g_assert_cmpuint(rs_trace_distribution_percentile(d, 50), ==, 50);
	g_assert_cmpuint(rs_trace_distribution_percentile(d, 99), ==, 99);
	g_assert_cmpuint(rs_trace_distribution_percentile(d, 99.9), ==, 100);
	g_assert_cmpuint(rs_trace_distribution_percentile(d, 100), ==, 100);
}

static int compare(const void *a, const void *b)
{
	guint64 x = *(const guint64 *)a, y = *(const guint64 *)b;

	return x < y ? -1 : x > y;
}

/* Against the sorted numbers: the error is what the header says. */
static void test_error_is_bounded(void)
{
	static const double percents[] = {1, 25, 50, 90, 95, 99, 99.9};

	for (guint bits = 1; bits <= 64; bits += 7) {
		g_autoptr(RsTraceDistribution) d = rs_trace_distribution_new();
		guint64 values[3000], octaves = 0;

		for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
			values[i] =
				((guint64)g_test_rand_int() << 32 | (guint32)g_test_rand_int()) >>
				(64 - g_test_rand_int_range(1, (gint)bits + 1));
			rs_trace_distribution_add(d, values[i]);
		}
		qsort(values, G_N_ELEMENTS(values), sizeof(*values), compare);
		for (guint i = 0; i < G_N_ELEMENTS(percents); i++) {
			guint rank = (guint)ceil(G_N_ELEMENTS(values) * percents[i] / 100);
			double want = (double)values[rank - 1];
			double got = (double)rs_trace_distribution_percentile(d, percents[i]);

			g_assert_cmpfloat(fabs(got - want), <=, want * 0.004);
		}
		for (guint i = 0; i < 64; i++) {
			guint64 n = 0;

			for (guint k = 0; k < G_N_ELEMENTS(values); k++)
				n += (values[k] | 1) >> i == 1;
			g_assert_cmpuint(rs_trace_distribution_octave(d, i), ==, n);
			octaves += n;
		}
		g_assert_cmpuint(octaves, ==, G_N_ELEMENTS(values));
	}
}

static void test_the_ends_of_the_range(void)
{
	g_autoptr(RsTraceDistribution) d = rs_trace_distribution_new();

	rs_trace_distribution_add(d, G_MAXUINT64);
	rs_trace_distribution_add(d, 0);
	g_assert_cmpuint(rs_trace_distribution_percentile(d, 50), ==, 0);
	g_assert_cmpuint(rs_trace_distribution_percentile(d, 51), >, G_MAXUINT64 / 256 * 254);
	g_assert_cmpuint(rs_trace_distribution_octave(d, 0), ==, 1);
	g_assert_cmpuint(rs_trace_distribution_octave(d, 63), ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/analysis/distribution/small", test_small_numbers_are_exact);
	g_test_add_func("/analysis/distribution/error", test_error_is_bounded);
	g_test_add_func("/analysis/distribution/ends", test_the_ends_of_the_range);
	return g_test_run();
}
