/* SPDX-License-Identifier: MIT */
#include "timeline/rs-trace-ticks.h"

#define SECOND 1000000000ull

/* No more ticks than asked for, not far fewer, and the minor ones divide them. */
static void test_steps(void)
{
	for (guint64 range = 1; range < G_MAXUINT64 / 7; range = range * 7 / 3 + 1) {
		for (guint most = 1; most < 30; most += 3) {
			const RsTraceTicks ticks = rs_trace_ticks_of(range, most);

			g_assert_cmpuint(ticks.step, >, 0);
			g_assert_cmpuint(ticks.minor, >, 0);
			g_assert_cmpuint(ticks.step % ticks.minor, ==, 0);
			g_assert_cmpuint(range / ticks.step, <=, most);
			if (range >= most && range < 100 * 86400 * SECOND)
				g_assert_cmpuint(range / ticks.step, >=, most / 5);
		}
	}
	g_assert_cmpuint(rs_trace_ticks_of(100, 10).step, ==, 10);
	g_assert_cmpuint(rs_trace_ticks_of(101, 10).step, ==, 20);
	g_assert_cmpuint(rs_trace_ticks_of(3, 10).step, ==, 1);
	g_assert_cmpuint(rs_trace_ticks_of(600 * SECOND, 10).step, ==, 60 * SECOND);
}

static void test_first(void)
{
	g_assert_cmpuint(rs_trace_ticks_first(10, 0), ==, 0);
	g_assert_cmpuint(rs_trace_ticks_first(10, 1), ==, 10);
	g_assert_cmpuint(rs_trace_ticks_first(10, 10), ==, 10);
	g_assert_cmpuint(rs_trace_ticks_first(10, G_MAXUINT64 - 1), ==, G_MAXUINT64);
}

static void check(char *text, const char *wanted)
{
	g_assert_cmpstr(text, ==, wanted);
	g_free(text);
}

static void test_labels(void)
{
	check(rs_trace_ticks_label(0, SECOND), "0\u2009s");
	check(rs_trace_ticks_label(12345678000, 1000), "12.345\u2009678\u2009s");
	check(rs_trace_ticks_label(1500000000, 500000000), "1.5\u2009s");
	check(rs_trace_ticks_label(1, 1), "0.000\u2009000\u2009001\u2009s");
	check(rs_trace_ticks_label(62500000000, 500000000), "1:02.5");
	check(rs_trace_ticks_label(3602 * SECOND, SECOND), "1:00:02");
	check(rs_trace_ticks_label(G_MAXUINT64, SECOND), "5124095:34:33");
}

static void test_durations(void)
{
	check(rs_trace_ticks_duration(0), "0\u2009ns");
	check(rs_trace_ticks_duration(999), "999\u2009ns");
	check(rs_trace_ticks_duration(12300), "12.3\u2009µs");
	check(rs_trace_ticks_duration(1000000), "1\u2009ms");
	check(rs_trace_ticks_duration(1234567), "1.234\u2009567\u2009ms");
	check(rs_trace_ticks_duration(1000001000), "1.000\u2009001\u2009s");
	check(rs_trace_ticks_duration(7500 * SECOND), "2:05:00");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ticks/steps", test_steps);
	g_test_add_func("/ticks/first", test_first);
	g_test_add_func("/ticks/labels", test_labels);
	g_test_add_func("/ticks/durations", test_durations);
	return g_test_run();
}
