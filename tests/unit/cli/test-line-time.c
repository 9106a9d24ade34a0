/* SPDX-License-Identifier: MIT */
#include "cli/line_time.h"

static const struct rs_verb verb = {.name = "test", .args = "", .summary = "", .details = ""};

static struct rs_line_time made(const char *format, bool in_ns)
{
	struct rs_line_time time;

	g_assert_cmpint(rs_line_time_take(&verb, format, in_ns, false, &time), ==, RS_CLI_OK);
	return time;
}

static void expect(struct rs_line_time *time, uint64_t ns, const char *expected)
{
	char text[RS_LINE_TIME_MAX];

	g_assert_cmpstr(rs_line_time_text(time, ns, text), ==, expected);
}

static void test_a_format_is_one_of_four(void)
{
	struct rs_line_time time;

	g_assert_cmpint(rs_line_time_take(&verb, "", false, false, &time), ==, RS_CLI_USAGE);
	g_assert_cmpint(rs_line_time_take(&verb, "walls", false, false, &time), ==, RS_CLI_USAGE);
	g_assert_cmpint(rs_line_time_take(&verb, "delta", false, true, &time), ==, RS_CLI_USAGE);
	g_assert_cmpint(rs_line_time_take(&verb, "wall", false, true, &time), ==, RS_CLI_OK);
	g_assert_cmpint(rs_line_time_take(&verb, NULL, false, true, &time), ==, RS_CLI_OK);
}

static void test_a_session_has_its_own(void)
{
	struct rs_line_time time = made("session", false), none = made(NULL, true);

	expect(&time, 5, NULL);
	expect(&none, 5, NULL);
}

static void test_relative(void)
{
	struct rs_line_time time = made("relative", false);

	expect(&time, 7000000000, "    0.000000");
	expect(&time, 7000001499, "    0.000001");
	expect(&time, 7000001500, "    0.000002");
	expect(&time, 6999999700, "    0.000000");
	expect(&time, 6999000000, "-   0.001000");
	expect(&time, 12007000000000, " 12000.000000");
}

static void test_delta(void)
{
	struct rs_line_time time = made("delta", true);

	expect(&time, UINT64_MAX, "    0.000000000");
	expect(&time, 0, "-18446744073.709551615");
	expect(&time, 17, "    0.000000017");
	expect(&time, 17, "    0.000000000");
	expect(&time, 1000000018, "    1.000000001");
}

static void test_wall(void)
{
	struct rs_line_time time = made("wall", false), ns = made("wall", true);
	g_autoptr(GDateTime) noon = g_date_time_new_local(2001, 2, 3, 12, 34, 56);
	const uint64_t begin = (uint64_t)g_date_time_to_unix(noon) * 1000000000;

	time.wall_ns = ns.wall_ns = begin;
	expect(&time, 0, "12:34:56.000000");
	expect(&time, 3999999499, "12:34:59.999999");
	/* Rounded up, it is another second. */
	expect(&time, 3999999500, "12:35:00.000000");
	expect(&ns, 3999999500, "12:34:59.999999500");
}

static void test_a_live_trace_is_of_now(void)
{
	struct rs_line_time time = made("wall", true);
	const uint64_t origin = (uint64_t)g_get_monotonic_time() * 1000 - 5;
	const uint64_t before = (uint64_t)g_get_real_time() * 1000;

	rs_line_time_live(&time, origin);
	g_assert_cmpuint(time.wall_ns, >, before - 1000000000);
	g_assert_cmpuint(time.wall_ns, <, (uint64_t)g_get_real_time() * 1000 + 1000000000);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/line-time/formats", test_a_format_is_one_of_four);
	g_test_add_func("/line-time/session", test_a_session_has_its_own);
	g_test_add_func("/line-time/relative", test_relative);
	g_test_add_func("/line-time/delta", test_delta);
	g_test_add_func("/line-time/wall", test_wall);
	g_test_add_func("/line-time/live", test_a_live_trace_is_of_now);
	return g_test_run();
}
