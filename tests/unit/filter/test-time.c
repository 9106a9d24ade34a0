/* SPDX-License-Identifier: MIT */
#include "filter/rs-trace-time.h"
#include "rs-trace-error.h"

static void test_times(void)
{
	static const struct {
		const char *text;
		RsTraceTimeKind kind;
		guint64 ns;
	} rows[] = {
		{NULL, RS_TRACE_TIME_NONE, 0},
		{"0", RS_TRACE_TIME_AT, 0},
		/* as lines show it, rounded to microseconds */
		{"12.5", RS_TRACE_TIME_AT, 12499999500},
		{".5", RS_TRACE_TIME_AT, 499999500},
		{".000001", RS_TRACE_TIME_AT, 500},
		{"12.5000000", RS_TRACE_TIME_AT, 12500000000},
		{"+12.5", RS_TRACE_TIME_AFTER_FIRST, 12500000000},
		{"77000.000999001", RS_TRACE_TIME_AT, 77000000999001},
		/* more digits than a double has, and more than there are nanoseconds */
		{"9007199254.740993001999", RS_TRACE_TIME_AT, 9007199254740993001},
		{"1s", RS_TRACE_TIME_AT, 1000000000},
		{"+300ms", RS_TRACE_TIME_AFTER_FIRST, 300000000},
		{"-2.5us", RS_TRACE_TIME_BEFORE_LAST, 2500},
		{"7ns", RS_TRACE_TIME_AT, 7},
		{"18446744073709551615ns", RS_TRACE_TIME_AT, G_MAXUINT64},
	};
	RsTraceTime time;

	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_assert_true(rs_trace_time_parse(rows[i].text, &time, NULL));
		g_assert_cmpint(time.kind, ==, rows[i].kind);
		g_assert_cmpuint(time.ns, ==, rows[i].ns);
	}
}

static void test_what_is_no_time(void)
{
	static const char *const wrong[] = {"",
					    ".",
					    "+",
					    "-",
					    "s",
					    "1 s",
					    "1m",
					    "1x",
					    "1.2.3",
					    "--1",
					    "1e3",
					    "+-1",
					    "nan",
					    "18446744073.709551616s",
					    "18446744073709551616ns",
					    "99999999999999999999999999"};

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;
		RsTraceTime time = {.ns = 5};

		g_assert_false(rs_trace_time_parse(wrong[i], &time, &error));
		g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
		g_assert_cmpuint(time.ns, ==, 5);
	}
}

static void test_places(void)
{
	const RsTraceTime none = {0}, at = {RS_TRACE_TIME_AT, 7};
	const RsTraceTime after = {RS_TRACE_TIME_AFTER_FIRST, 7};
	const RsTraceTime before = {RS_TRACE_TIME_BEFORE_LAST, 7};

	g_assert_cmpuint(rs_trace_time_resolve(none, 100, 200, 3), ==, 3);
	g_assert_cmpuint(rs_trace_time_resolve(at, 100, 200, 3), ==, 7);
	g_assert_cmpuint(rs_trace_time_resolve(after, 100, 200, 3), ==, 107);
	g_assert_cmpuint(rs_trace_time_resolve(before, 100, 200, 3), ==, 193);
	g_assert_cmpuint(rs_trace_time_resolve(before, 100, 5, 3), ==, 0);
	g_assert_cmpuint(rs_trace_time_resolve(after, G_MAXUINT64 - 1, 5, 3), ==, G_MAXUINT64);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/filter/time/times", test_times);
	g_test_add_func("/filter/time/what-is-no-time", test_what_is_no_time);
	g_test_add_func("/filter/time/places", test_places);
	return g_test_run();
}
