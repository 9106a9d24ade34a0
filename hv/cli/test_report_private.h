/* SPDX-License-Identifier: MIT */
/* What the formats of test_report.h share. Thread: main. */
#ifndef RS_HV_CLI_TEST_REPORT_PRIVATE_H
#define RS_HV_CLI_TEST_REPORT_PRIVATE_H

#include "cli/test_report.h"

#define RS_TEST_VERDICTS (RS_TEST_SKIPPED + 1)

/* Each appends to `out`. What an outcome adds is counted before add() is called. */
struct rs_test_report_ops {
	void (*begin)(struct rs_test_report *report, GString *out); /* may be NULL */
	void (*add)(struct rs_test_report *report, const struct rs_test_outcome *outcome,
		    GString *out);
	void (*end)(struct rs_test_report *report, int64_t us, GString *out);
};

struct rs_test_report {
	const struct rs_test_report_ops *ops;
	bool colour;
	unsigned int n;                        /* that there will be */
	unsigned int done;                     /* that there were */
	unsigned int counts[RS_TEST_VERDICTS]; /* of each verdict */
	GString *body;                         /* JUnit's cases so far */
};

extern const struct rs_test_report_ops rs_test_report_tap, rs_test_report_junit,
	rs_test_report_github;

/* The lines of any bytes, none of which has a control character but tabs; to be freed. */
char **rs_test_report_split(const char *text);
/* "SPEC:LINE: NAME: WHY" of each failed check; NULL: none; to be freed. */
char **rs_test_report_failed(const struct rs_test_outcome *outcome);
/* Any bytes as what fits into a line. */
void rs_test_report_append(GString *out, const char *text);
/* Why it did not pass, on one line, with a word before it if no expectation is to blame. */
void rs_test_report_append_why(GString *out, const struct rs_test_outcome *outcome);
/* "passed at attempt 2; the first said: WHY". False: it passed at once, or did not, and nothing is
 * appended. */
bool rs_test_report_append_attempts(GString *out, const struct rs_test_outcome *outcome);
/* "0.31", whatever the locale is. `digits`: 1 to 6, of which the last is rounded. */
void rs_test_report_append_seconds(GString *out, int64_t us, unsigned int digits);
/* "12 passed, 1 failed, 2 skipped in 3.2 s"; names other verdicts only if there are some. */
void rs_test_report_append_totals(GString *out, const struct rs_test_report *report, int64_t us);

#endif
