/* SPDX-License-Identifier: MIT */
#include "report-samples.h"

/* An escape, a delete, other control characters, half a character, markup, lines. */
#define HOSTILE "\033[2J\177\001\r\n\xc3(\xff\xed\xa0\x80\xef\xbf\xbe ]]> <b>&\"' %0A::error::x,"

static const struct rs_test_check good_checks[] = {
	{"boots", 4, true, NULL},
	{"then # TODO", 5, true, NULL},
};
static const struct rs_test_check bad_checks[] = {
	{"boots", 7, true, NULL},
	{"no " HOSTILE, 8, false, "saw " HOSTILE},
	{"\nnot ok 3", 9, false, NULL},
};

const struct rs_test_outcome report_samples[N_REPORT_SAMPLES] = {
	{"boot (accel=tcg, cpus=2)", "a.test", 0, RS_TEST_PASSED, 314159, .checks = good_checks,
	 .n_checks = 2},
	{"bad # TODO " HOSTILE, "dir,1:2/a&b.test", 8, RS_TEST_FAILED, 1500000, "saw " HOSTILE,
	 "\n  \n  12.5 demo:tick\r\n...\nBail out! " HOSTILE
	 "\n\nnot ok 1\n  ---\n[[ATTACHMENT|/etc/passwd]]\n]]>\n::error::x\n\n",
	 "/tmp/kept \033 <1>", bad_checks, 3},
	{"spec\\", "b.test", 3, RS_TEST_BROKEN, 0, "unknown word \"\\" HOSTILE},
	{"run", "c.test", 0, RS_TEST_NOT_RUN, -1, NULL, " \n", "/tmp/kept"},
	{"kvm\n", "d.test", 0, RS_TEST_SKIPPED, 10, "/dev/kvm is #not\n here"},
	{"a # SKIP and \\# skip, #todo", "e.test", 0, RS_TEST_PASSED, 2000},
	{"", "f.test", 0, RS_TEST_PASSED, 0},
};

char *report_of(enum rs_test_format format, bool colour, const struct rs_test_outcome *outcomes,
		unsigned int n)
{
	struct rs_test_report *report = rs_test_report_new(format, colour, n);
	GString *out = g_string_new(NULL);

	rs_test_report_begin(report, out);
	for (unsigned int i = 0; i < n; i++)
		rs_test_report_add(report, &outcomes[i], out);
	rs_test_report_end(report, 3210000, out);
	rs_test_report_free(report);
	return g_string_free(out, FALSE);
}
