/* SPDX-License-Identifier: MIT */
#include "cli/test_report.h"

#include "report-samples.h"
#include <string.h>

static char *one(enum rs_test_format format, unsigned int i)
{
	return report_of(format, false, &report_samples[i], 1);
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		g_error("no %s in\n%s", part, text);
}

/* Nothing but lines of text that is UTF-8, whatever the guest said. */
static void test_hostile_bytes_reach_no_format(void)
{
	for (int format = RS_TEST_HUMAN; format <= RS_TEST_GITHUB; format++) {
		g_autofree char *text = report_of(format, false, report_samples, N_REPORT_SAMPLES);

		g_assert_true(g_utf8_validate(text, -1, NULL));
		for (const char *at = text; *at; at = g_utf8_next_char(at)) {
			gunichar c = g_utf8_get_char(at);

			g_assert_true(c == '\n' || g_unichar_isprint(c));
		}
		g_assert_true(g_str_has_suffix(text, "\n"));
	}
}

static void test_people(void)
{
	static const struct {
		unsigned int sample;
		const char *prefix;
	} cases[] = {
		{0, "ok   boot (accel=tcg, cpus=2)  (0.31 s)\n1 passed, 0 failed, 0 skipped in "
		    "3.2 s\n"},
		{1, "FAIL bad # TODO \\x1b[2J\\x7f\\x01\\x0d\\x0a\\xc3(\\xff\\xed\\xa0\\x80"},
		{2, "FAIL spec\\: broken spec: unknown word \"\\\\x1b[2J"},
		{3, "FAIL run: not run: no reason is known\n   \n  evidence: /tmp/kept\n0 passed"},
		{4, "skip kvm\\x0a: /dev/kvm is #not\\x0a here\n0 passed, 0 failed, 1 skipped in"},
	};
	g_autofree char *failed = one(RS_TEST_HUMAN, 1);
	g_autofree char *all = report_of(RS_TEST_HUMAN, false, report_samples, N_REPORT_SAMPLES);

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text = one(RS_TEST_HUMAN, cases[i].sample);

		if (!g_str_has_prefix(text, cases[i].prefix))
			g_error("%s is not how it begins:\n%s", cases[i].prefix, text);
	}
	has(failed, "\n  at dir,1:2/a&b.test:8\n  dir,1:2/a&b.test:8: no \\x1b[2J");
	has(failed, "\n  dir,1:2/a&b.test:9: \\x0anot ok 3: failed\n");
	has(failed, "\n    12.5 demo:tick\n  ...\n");
	has(failed, "\n  evidence: /tmp/kept \\x1b <1>\n0 passed, 1 failed, 0 skipped in 3.2 s\n");
	has(all, "\n3 passed, 1 failed, 1 broken, 1 not run, 1 skipped in 3.2 s\n");
}

static void test_colour_only_if_asked(void)
{
	g_autofree char *passed = report_of(RS_TEST_HUMAN, true, &report_samples[0], 1);
	g_autofree char *failed = report_of(RS_TEST_HUMAN, true, &report_samples[1], 1);
	g_autofree char *skipped = report_of(RS_TEST_HUMAN, true, &report_samples[4], 1);
	g_autofree char *tap = report_of(RS_TEST_TAP, true, report_samples, N_REPORT_SAMPLES);

	g_assert_true(g_str_has_prefix(passed, "\033[32mok\033[0m   boot"));
	g_assert_true(g_str_has_prefix(failed, "\033[31mFAIL\033[0m bad"));
	g_assert_true(g_str_has_prefix(skipped, "\033[33mskip\033[0m kvm"));
	g_assert_null(strchr(strchr(failed, ' '), '\033'));
	g_assert_null(strchr(tap, '\033'));
}

static void test_times(void)
{
	static const struct {
		gint64 us;
		const char *text;
	} cases[] = {
		{-5, "0.00"},
		{4999, "0.00"},
		{5000, "0.01"},
		{994999, "0.99"},
		{995000, "1.00"},
		{61234567, "61.23"},
		{G_MAXINT64, "9223372036854.78"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rs_test_outcome outcome = {"a", "b", 0, RS_TEST_PASSED, cases[i].us};
		g_autofree char *text = report_of(RS_TEST_HUMAN, false, &outcome, 1);
		g_autofree char *line = g_strdup_printf("ok   a  (%s s)\n", cases[i].text);

		g_assert_true(g_str_has_prefix(text, line));
	}
}

static void test_tap_verdicts(void)
{
	g_autofree char *text = report_of(RS_TEST_TAP, false, report_samples, N_REPORT_SAMPLES);

	g_assert_true(g_str_has_prefix(
		text, "TAP version 14\n1..7\n# Subtest: boot (accel=tcg, cpus=2)\n    1..2\n"
		      "    ok 1 - boots\n    ok 2 - then \\\\x23 TODO\n"
		      "ok 1 - boot (accel=tcg, cpus=2)\n# Subtest: bad \\\\x23 TODO "));
	has(text, "\n    not ok 3 - \\\\x0anot ok 3\n      ---\n      message: \"failed\"\n"
		  "      file: \"dir,1:2/a&b.test\"\n      line: 9\n      ...\nnot ok 2 - bad ");
	has(text, "\nnot ok 3 - spec\\\\\n  ---\n  message: \"broken spec: unknown word \\\"\\\\");
	has(text, "\n  file: \"b.test\"\n  line: 3\n  ...\n");
	has(text, "\nnot ok 4 - run\n  ---\n  message: \"not run: no reason is known\"\n"
		  "  file: \"c.test\"\n  evidence: \"/tmp/kept\"\n  ...\n");
	has(text, "\nok 5 - kvm\\\\x0a # SKIP /dev/kvm is \\#not\\\\x0a here\n");
	has(text,
	    "\nok 6 - a \\\\x23 SKIP and \\\\\\\\x23 skip, \\\\x23todo\nok 7 - \n# 3 passed, ");
}

/* The first line says how far the block is indented. Nothing in it ends it, or the run. */
static void test_tap_story(void)
{
	g_autofree char *text = one(RS_TEST_TAP, 1);
	g_autofree char *none = report_of(RS_TEST_TAP, false, NULL, 0);

	has(text, "\n  evidence: \"/tmp/kept \\\\x1b <1>\"\n  story: |\n    \\x20 12.5 demo:tick\n"
		  "    \\x2e..\n    \\x42ail out! \\x1b[2J");
	has(text, "\n    \n    not ok 1\n      ---\n    [[ATTACHMENT|/etc/passwd]]\n    ]]>\n"
		  "    ::error::x\n  ...\n#");
	g_assert_true(g_str_has_prefix(none, "TAP version 14\n1..0 # SKIP "));
}

static void test_junit(void)
{
	g_autofree char *text = report_of(RS_TEST_JUNIT, false, report_samples, N_REPORT_SAMPLES);

	has(text, "<testsuite name=\"ringside test\" tests=\"7\" failures=\"1\" errors=\"2\" "
		  "skipped=\"1\" time=\"3.210\">\n");
	has(text, "<testcase classname=\"a.test\" name=\"boot (accel=tcg, cpus=2)\" "
		  "time=\"0.314\">\n    </testcase>\n");
	has(text, "<failure message=\"saw \\x1b[2J\\x7f");
	has(text, " type=\"expectation\">dir,1:2/a&amp;b.test:8: no \\x1b");
	has(text, "\ndir,1:2/a&amp;b.test:9: \\x0anot ok 3: failed</failure>\n");
	has(text, "type=\"broken\">b.test:3</error>");
	has(text, "type=\"not-run\">c.test</error>");
	has(text, "<skipped message=\"/dev/kvm is #not\\x0a here\"/>");
	has(text, "\n]]&gt;\n::error::x\n[[ATTACHMENT|/tmp/kept \\x1b &lt;1&gt;]]\n</system-out>");
	has(text, "\n[[ATTACHMENT\\x7c/etc/passwd]]\n");
	g_assert_null(strstr(text, "]]>"));
}

static void test_junit_is_written_at_the_end(void)
{
	struct rs_test_report *report = rs_test_report_new(RS_TEST_JUNIT, false, 2);
	g_autoptr(GString) out = g_string_new(NULL);

	rs_test_report_begin(report, out);
	rs_test_report_add(report, &report_samples[0], out);
	g_assert_cmpstr(out->str, ==, "");
	rs_test_report_end(report, 0, out);
	g_assert_true(g_str_has_prefix(out->str, "<?xml version=\"1.0\""));
	rs_test_report_free(report);
	rs_test_report_free(NULL);
}

static void test_github(void)
{
	g_autofree char *text = report_of(RS_TEST_GITHUB, false, report_samples, N_REPORT_SAMPLES);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	/* No command but one a line, and none that a guest gave. */
	g_assert_cmpuint(g_strv_length(lines), ==, 6);
	g_assert_true(g_str_has_prefix(
		lines[0], "::error file=dir%2C1%3A2/a&b.test,line=8,title=bad # TODO \\x1b[2J"));
	has(lines[0], " %250A%3A%3Aerror%3A%3Ax%2C::saw \\x1b");
	has(lines[0], " %250A::error::x,%0Adir,1:2/a&b.test:8: no ");
	has(lines[0], "%0A  12.5 demo:tick%0A...%0A");
	g_assert_true(g_str_has_suffix(lines[0], "%0Aevidence: /tmp/kept \\x1b <1>"));
	g_assert_true(g_str_has_prefix(
		lines[1], "::error file=b.test,line=3,title=spec\\::broken spec: unknown word"));
	g_assert_cmpstr(lines[2], ==,
			"::error file=c.test,title=run::not run: no reason is known%0A %0A"
			"evidence: /tmp/kept");
	g_assert_cmpstr(lines[3], ==,
			"::notice file=d.test,title=kvm\\x0a::skipped: /dev/kvm is #not\\x0a here");
	g_assert_cmpstr(lines[4], ==,
			"3 passed, 1 failed, 1 broken, 1 not run, 1 skipped in 3.2 s");
}

static void test_a_run_that_ends_early(void)
{
	struct rs_test_report *report = rs_test_report_new(RS_TEST_HUMAN, false, 3);
	g_autoptr(GString) out = g_string_new(NULL);

	rs_test_report_add(report, &report_samples[0], out);
	rs_test_report_end(report, 49999, out);
	has(out->str, "\n1 passed, 0 failed, 0 skipped, 2 not begun in 0.0 s\n");
	rs_test_report_free(report);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/test-report/hostile", test_hostile_bytes_reach_no_format);
	g_test_add_func("/test-report/people", test_people);
	g_test_add_func("/test-report/colour", test_colour_only_if_asked);
	g_test_add_func("/test-report/times", test_times);
	g_test_add_func("/test-report/tap", test_tap_verdicts);
	g_test_add_func("/test-report/tap-story", test_tap_story);
	g_test_add_func("/test-report/junit", test_junit);
	g_test_add_func("/test-report/junit-end", test_junit_is_written_at_the_end);
	g_test_add_func("/test-report/github", test_github);
	g_test_add_func("/test-report/early", test_a_run_that_ends_early);
	return g_test_run();
}
