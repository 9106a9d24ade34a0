/* SPDX-License-Identifier: MIT */
#include "filter/nearest.h"

#include <glib.h>
#include <string.h>

static void test_distance(void)
{
	g_autofree char *x = g_strnfill(100, 'x'), *y = g_strnfill(100, 'y');

	g_assert_cmpuint(rs_distance("", ""), ==, 0);
	g_assert_cmpuint(rs_distance("abc", ""), ==, 3);
	g_assert_cmpuint(rs_distance("", "ab"), ==, 2);
	g_assert_cmpuint(rs_distance("switch", "SWITCH"), ==, 0);
	g_assert_cmpuint(rs_distance("switch", "swich"), ==, 1);
	g_assert_cmpuint(rs_distance("switch", "swwitch"), ==, 1);
	g_assert_cmpuint(rs_distance("switch", "swatch"), ==, 1);
	g_assert_cmpuint(rs_distance("kitten", "sitting"), ==, 3);
	/* More is not compared. */
	g_assert_cmpuint(rs_distance(x, y), ==, 64);
}

static void test_nearest(void)
{
	struct rs_nearest nearest = rs_nearest_to("sched:swich");

	g_assert_false(rs_nearest_offer(&nearest, "syscall:enter"));
	g_assert_null(nearest.found);
	g_assert_true(rs_nearest_offer(&nearest, "sched:stitch"));
	g_assert_true(rs_nearest_offer(&nearest, "sched:switch"));
	/* The first of those that are as near stays. */
	g_assert_false(rs_nearest_offer(&nearest, "sched:swish"));
	g_assert_false(rs_nearest_offer(&nearest, "sched:stitch"));
	g_assert_cmpstr(nearest.found, ==, "sched:switch");

	/* No letter is right. */
	nearest = rs_nearest_to("b");
	g_assert_false(rs_nearest_offer(&nearest, "a"));
	g_assert_false(rs_nearest_offer(&nearest, ""));
	g_assert_true(rs_nearest_offer(&nearest, "ab"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/nearest/distance", test_distance);
	g_test_add_func("/filter/nearest/nearest", test_nearest);
	return g_test_run();
}
