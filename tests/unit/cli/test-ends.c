/* SPDX-License-Identifier: MIT */
/* The exit codes for how a source ended. What a signal to both of us and the program means. */
#include "cli/ends.h"

#include "cli/verb.h"
#include <glib.h>
#include <signal.h>

static const struct rs_ends_view plain = {.name = "the guest"};

static int code_of(enum rs_end_reason reason, int code, const char *text)
{
	struct rs_target_end end = {.reason = reason, .code = code};

	g_strlcpy(end.text, text, sizeof(end.text));
	return rs_ends_tell(&end, &plain);
}

static void test_codes(void)
{
	const struct rs_ends_view propagate = {.name = "the guest", .propagate = true};
	const struct rs_ends_view stopping = {.name = "the guest", .stopping = true};
	const struct rs_target_end three = {.reason = RS_END_EXIT, .code = 3};
	const struct rs_target_end killed = {.reason = RS_END_KILLED};

	g_assert_cmpint(code_of(RS_END_EXIT, 0, ""), ==, RS_CLI_OK);
	g_assert_cmpint(code_of(RS_END_EXIT, 3, ""), ==, RS_CLI_GUEST_CODE);
	g_assert_cmpint(rs_ends_tell(&three, &propagate), ==, 3);
	g_assert_cmpint(code_of(RS_END_KILLED, 0, ""), ==, RS_CLI_GUEST);
	g_assert_cmpint(code_of(RS_END_KILLED, 0, "ringside stop"), ==, RS_CLI_OK);
	g_assert_cmpint(rs_ends_tell(&killed, &stopping), ==, RS_CLI_OK);
	g_assert_cmpint(code_of(RS_END_PANIC, 0, "why"), ==, RS_CLI_GUEST);
	g_assert_cmpint(code_of(RS_END_TRIPLE_FAULT, 0, ""), ==, RS_CLI_GUEST);
	g_assert_cmpint(code_of(RS_END_RESET, 0, ""), ==, RS_CLI_GUEST);
	g_assert_cmpint(code_of(RS_END_GONE, 0, ""), ==, RS_CLI_GUEST);
	g_assert_cmpint(code_of(RS_END_FAULT, 0, "why"), ==, RS_CLI_GUEST);
}

static void test_signals(void)
{
	static const struct {
		int program, us, code;
		bool shared;
	} cases[] = {
		{SIGINT, SIGINT, RS_CLI_OK, true},
		{SIGTERM, SIGTERM, RS_CLI_OK, true},
		{SIGHUP, SIGHUP, RS_CLI_OK, true},
		{SIGINT, 0, RS_CLI_GUEST, true},
		{SIGINT, SIGTERM, RS_CLI_GUEST, true},
		{SIGSEGV, SIGSEGV, RS_CLI_GUEST, false},
		{SIGSEGV, SIGINT, RS_CLI_GUEST, false},
		{0, SIGINT, RS_CLI_GUEST, false},
		{0, 0, RS_CLI_GUEST, false},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const struct rs_target_end end = {.reason = RS_END_FAULT,
						  .signal = cases[i].program,
						  .text = "killed by a signal"};
		const struct rs_ends_view view = {.name = "the guest", .signalled = cases[i].us};

		g_assert_cmpint(rs_ends_by_shared_signal(&end), ==, cases[i].shared);
		g_assert_cmpint(rs_ends_tell(&end, &view), ==, cases[i].code);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ends/codes", test_codes);
	g_test_add_func("/ends/signals", test_signals);
	return g_test_run();
}
