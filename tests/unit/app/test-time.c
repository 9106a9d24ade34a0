/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-time.h"

#include <locale.h>

#define SECOND G_GUINT64_CONSTANT(1000000000)
/* 2026-11-24 13:03:07 UTC */
#define WALL (G_GUINT64_CONSTANT(1795525387) * SECOND)

static void check(char *got, const char *want)
{
	g_assert_cmpstr(got, ==, want);
	g_free(got);
}

static void test_moment(void)
{
	check(rs_viewer_time_moment(0, RS_VIEWER_TIME_SECONDS, 0), "0.000000000");
	check(rs_viewer_time_moment(1, RS_VIEWER_TIME_SECONDS, WALL), "0.000000001");
	check(rs_viewer_time_moment(12 * SECOND + 345678901, RS_VIEWER_TIME_SECONDS, 0),
	      "12.345678901");
	check(rs_viewer_time_moment(G_MAXUINT64, RS_VIEWER_TIME_SECONDS, 0),
	      "18446744073.709551615");
}

static void test_wall(void)
{
	check(rs_viewer_time_moment(345678901, RS_VIEWER_TIME_WALL, WALL), "14:03:07.345678901");
	/* the wall's own part of a second counts too */
	check(rs_viewer_time_moment(600000000, RS_VIEWER_TIME_WALL, WALL + 500000000),
	      "14:03:08.100000000");
	check(rs_viewer_time_moment(3600 * SECOND * 11, RS_VIEWER_TIME_WALL, WALL),
	      "01:03:07.000000000");
	/* not known, or out of all numbers */
	check(rs_viewer_time_moment(SECOND, RS_VIEWER_TIME_WALL, 0), "1.000000000");
	check(rs_viewer_time_moment(G_MAXUINT64, RS_VIEWER_TIME_WALL, WALL),
	      "18446744073.709551615");
}

static void test_date(void)
{
	check(rs_viewer_time_date(1, WALL), "2026-11-24 14:03:07.000000001 +0100");
	check(rs_viewer_time_date(1, 0), NULL);
	check(rs_viewer_time_date(G_MAXUINT64, 1), NULL);
	/* far ahead, but a day */
	check(rs_viewer_time_date(0, G_MAXUINT64), "2554-07-22 00:34:33.709551615 +0100");
}

static void test_duration(void)
{
	check(rs_viewer_time_duration(0), "0 ns");
	check(rs_viewer_time_duration(999), "999 ns");
	check(rs_viewer_time_duration(1000), "1.000 µs");
	check(rs_viewer_time_duration(12345), "12.345 µs");
	check(rs_viewer_time_duration(999999), "999.999 µs");
	check(rs_viewer_time_duration(1000000), "1.000 ms");
	check(rs_viewer_time_duration(999999999), "999.999 ms"); /* cut, not rounded */
	check(rs_viewer_time_duration(SECOND), "1.000 s");
	check(rs_viewer_time_duration(60 * SECOND - 1), "59.999 s");
	check(rs_viewer_time_duration(60 * SECOND), "1 min 00.000 s");
	check(rs_viewer_time_duration(185 * SECOND + 250000000), "3 min 05.250 s");
	check(rs_viewer_time_duration(3600 * SECOND), "1 h 00 min 00 s");
	check(rs_viewer_time_duration((27 * 3600 + 185) * SECOND), "27 h 03 min 05 s");
	check(rs_viewer_time_duration(G_MAXUINT64), "5124095 h 34 min 33 s");
}

static void test_difference(void)
{
	check(rs_viewer_time_difference(5, 5), "+0 ns");
	check(rs_viewer_time_difference(5, 12350), "+12.345 µs");
	check(rs_viewer_time_difference(12350, 5), "−12.345 µs");
	check(rs_viewer_time_difference(G_MAXUINT64, 0), "−5124095 h 34 min 33 s");
}

static void test_number(void)
{
	check(rs_viewer_number(0), "0");
	check(rs_viewer_number(999), "999");
	check(rs_viewer_number(1000), "1,000");
	check(rs_viewer_number(49770), "49,770");
	check(rs_viewer_number(G_MAXUINT64), "18,446,744,073,709,551,615");
}

int main(int argc, char **argv)
{
	g_setenv("TZ", "UTC-1", TRUE);
	setlocale(LC_ALL, "C");
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/time/moment", test_moment);
	g_test_add_func("/time/wall", test_wall);
	g_test_add_func("/time/date", test_date);
	g_test_add_func("/time/duration", test_duration);
	g_test_add_func("/time/difference", test_difference);
	g_test_add_func("/time/number", test_number);
	return g_test_run();
}
