/* SPDX-License-Identifier: MIT */
/*
 * report-sample tap|junit [good]: prints a report of the samples for other programs to read, or of
 * those that passed or were skipped.
 */
#include "report-samples.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct rs_test_outcome outcomes[N_REPORT_SAMPLES];
	bool junit = argc > 1 && g_str_equal(argv[1], "junit");
	g_autofree char *report = NULL;
	unsigned int n = 0;

	for (unsigned int i = 0; i < N_REPORT_SAMPLES; i++) {
		enum rs_test_verdict verdict = report_samples[i].verdict;

		if (argc < 3 || verdict == RS_TEST_PASSED || verdict == RS_TEST_SKIPPED)
			outcomes[n++] = report_samples[i];
	}
	report = report_of(junit ? RS_TEST_JUNIT : RS_TEST_TAP, false, outcomes, n);
	fputs(report, stdout);
	return 0;
}
