/* SPDX-License-Identifier: MIT */
/* What is a glob alone, and what is an expression. */
#include "../../../viewer/document/rs-trace-wish-private.h"

static void check(const char *text, const char *expected)
{
	g_autofree char *glob = rs_trace_wish_glob(text);

	g_assert_cmpstr(glob, ==, expected);
}

static void test_globs(void)
{
	check("sched:*", "sched:*: CPU >= 0");
	check("sched:switch", "sched:switch: CPU >= 0");
	check("sched:switch:", "sched:switch: CPU >= 0");
	check(" sched:* ", "sched:*: CPU >= 0");
	check("*switch*", "*switch*: CPU >= 0");
	check("sched:*,!sched:switch", "sched:*,!sched:switch: CPU >= 0");
	check("sched:*@level=3", "sched:*@level=3: CPU >= 0");
	check("web1/sched:[sw]*", "web1/sched:[sw]*: CPU >= 0");
}

static void test_expressions(void)
{
	check("", NULL);
	check(":", NULL);
	check("pid", NULL);
	check("pid==1", NULL);
	check("pid == 1", NULL);
	check("sched:switch: pid == 1", NULL);
	check("sched:switch:pid", NULL);
	check("COMM~\"a*\"", NULL);
	check("a&b", NULL);
	check("!pid:x y", NULL);
}

static void test_select(void)
{
	static const char *const good[] = {"sched:*", "pid == 1", NULL};
	static const char *const bad[] = {"sched:*", "pid = 1", NULL};
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceSelection) all = rs_trace_wish_select(NULL, &error);
	g_autoptr(RsTraceSelection) some = rs_trace_wish_select(good, &error);

	g_assert_no_error(error);
	g_assert_false(rs_trace_selection_is_filtered(all));
	g_assert_true(rs_trace_selection_is_filtered(some));
	g_assert_null(rs_trace_wish_select(bad, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/wish/globs", test_globs);
	g_test_add_func("/wish/expressions", test_expressions);
	g_test_add_func("/wish/select", test_select);
	return g_test_run();
}
