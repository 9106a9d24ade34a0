/* SPDX-License-Identifier: MIT */
#include "libvirt/qga_answer.h"

#include <errno.h>
#include <string.h>

#define INFO(commands)                                                                             \
	"{\"return\": {\"version\": \"7.2.0\", \"supported_commands\": [" commands "]}}"
#define EXEC(enabled) "{\"name\": \"guest-exec\", \"enabled\": " enabled "}"

static void test_numbers_are_taken(void)
{
	struct rs_error err;
	gint64 n = -1;

	g_assert_cmpint(rs_qga_take_number("{\"return\": 1000}", NULL, &n, &err), ==, 0);
	g_assert_cmpint(n, ==, 1000);
	g_assert_cmpint(rs_qga_take_number("{\"return\": {\"pid\": 7}}", "pid", &n, &err), ==, 0);
	g_assert_cmpint(n, ==, 7);
}

static void test_nonsense_is_refused(void)
{
	static const char *const answers[] = {
		"",
		"7",
		"{",
		"[]",
		"{\"return\": null}",
		"{\"return\": \"7\"}",
		"{\"return\": 1.5}",
		"{\"return\": {\"count\": []}}",
		"{\"return\": {\"exited\": 1}}",
		"{\"error\": {}}",
		"{\"return\": {\"supported_commands\": {}}}",
	};
	static const char *const needed[] = {"guest-exec", NULL};
	g_autofree char *deep = g_strnfill(100000, '[');
	struct rs_qga_run run;
	struct rs_error err;
	gint64 n;

	for (gsize i = 0; i <= G_N_ELEMENTS(answers); i++) {
		const char *answer = i < G_N_ELEMENTS(answers) ? answers[i] : deep;

		g_assert_cmpint(rs_qga_take_number(answer, NULL, &n, &err), ==, -EPROTO);
		g_assert_cmpint(rs_qga_take_number(answer, "count", &n, &err), ==, -EPROTO);
		g_assert_cmpint(rs_qga_take_run(answer, &run, &err), ==, -EPROTO);
		g_assert_cmpint(rs_qga_check_commands(answer, needed, &err), ==, -EPROTO);
	}
}

static void test_what_an_agent_may_not_do_is_named(void)
{
	static const char *const needed[] = {"guest-exec", NULL};
	struct rs_error err;

	g_assert_cmpint(rs_qga_check_commands(INFO(EXEC("true")), needed, &err), ==, 0);
	g_assert_cmpint(
		rs_qga_check_commands(INFO("1, {}, {\"name\": 3}," EXEC("null")), needed, &err), ==,
		0);
	g_assert_cmpint(rs_qga_check_commands(INFO(EXEC("false")), needed, &err), ==, -ENOTSUP);
	g_assert_nonnull(strstr(err.message, "forbids the guest agent guest-exec"));
	g_assert_cmpint(rs_qga_check_commands(INFO(""), needed, &err), ==, -ENOTSUP);
	g_assert_nonnull(strstr(err.message, "(version 7.2.0) is too old: it has no guest-exec"));
}

static struct rs_qga_run take(const char *answer)
{
	struct rs_qga_run run;
	struct rs_error err;

	g_assert_cmpint(rs_qga_take_run(answer, &run, &err), ==, 0);
	return run;
}

static void test_what_a_program_did_is_taken(void)
{
	struct rs_qga_run run = take("{\"return\": {\"exited\": false}}");

	g_assert_false(run.exited);
	rs_qga_run_clear(&run);
	run = take(
		"{\"return\": {\"exited\": true, \"exitcode\": 3, \"out-data\": \"L3RtcC94Cg==\", "
		"\"err-data\": \"YQBi\"}}");
	g_assert_true(run.exited);
	g_assert_cmpint(run.code, ==, 3);
	g_assert_cmpstr(run.out, ==, "/tmp/x");
	g_assert_cmpstr(run.err, ==, "a");
	rs_qga_run_clear(&run);
	run = take("{\"return\": {\"exited\": true, \"signal\": 9, \"err-data\": \"!!\"}}");
	g_assert_cmpint(run.code, ==, -1);
	g_assert_cmpstr(run.err, ==, "");
	rs_qga_run_clear(&run);
}

static void test_texts_are_bounded(void)
{
	g_autofree char *text = g_strnfill(4 * RS_QGA_TEXT_MAX, 'a');
	g_autofree char *coded = g_base64_encode((const guchar *)text, strlen(text));
	g_autofree char *answer = g_strdup_printf(
		"{\"return\": {\"exited\": true, \"exitcode\": 99999, \"out-data\": \"%s\"}}",
		coded);
	struct rs_qga_run run = take(answer);

	g_assert_cmpuint(strlen(run.out), ==, RS_QGA_TEXT_MAX);
	g_assert_cmpint(run.code, ==, 255);
	rs_qga_run_clear(&run);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/qga/numbers", test_numbers_are_taken);
	g_test_add_func("/qga/nonsense", test_nonsense_is_refused);
	g_test_add_func("/qga/commands", test_what_an_agent_may_not_do_is_named);
	g_test_add_func("/qga/run", test_what_a_program_did_is_taken);
	g_test_add_func("/qga/bounded", test_texts_are_bounded);
	return g_test_run();
}
