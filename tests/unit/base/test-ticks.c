/* SPDX-License-Identifier: MIT */
#include "base/ticks.h"

#include <glib.h>

static void test_rate(void)
{
	struct rs_moment from = {1000, 5000}, to = {3000, 6000};

	g_assert_cmpfloat(rs_moment_rate(&from, &to), ==, 2e9);
	g_assert_cmpfloat(rs_moment_rate(&from, &from), ==, 0);
	g_assert_cmpfloat(rs_moment_rate(&to, &from), ==, 0);
}

/* A moment is the same instant on both clocks, so the rate between any two moments is the same. */
static void test_moments(void)
{
	struct rs_moment first = rs_moment_now(), last;
	uint64_t hz = rs_ticks_hz(&first), ns = rs_monotonic_ns();

	last = rs_moment_now();
	g_assert_cmpuint(last.ns, >=, ns);
	g_assert_cmpuint(last.ns - first.ns, >=, 20000000);
	g_assert_cmpfloat_with_epsilon(rs_moment_rate(&first, &last) / (double)hz, 1.0, 1e-3);
	g_assert_cmpuint(hz, >, 1000000);
	g_assert_cmpuint(rs_ticks(), >=, last.ticks);
}

static void test_wall(void)
{
	gint64 us = g_get_real_time();

	g_assert_cmpint((gint64)(rs_wall_ns() / 1000) - us, <, 60 * G_USEC_PER_SEC);
	g_assert_cmpint((gint64)(rs_wall_ns() / 1000) - us, >=, -1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/base/ticks/rate", test_rate);
	g_test_add_func("/base/ticks/moments", test_moments);
	g_test_add_func("/base/ticks/wall", test_wall);
	return g_test_run();
}
