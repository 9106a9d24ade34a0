/* SPDX-License-Identifier: MIT */
/* Outcomes of tests, with hostile bytes in all that may hold them. */
#ifndef TEST_REPORT_SAMPLES_H
#define TEST_REPORT_SAMPLES_H

#include "cli/test_report.h"

/* One of each verdict, in their order, and two that passed. The first of all and these are good. */
#define N_REPORT_SAMPLES 7
extern const struct rs_test_outcome report_samples[N_REPORT_SAMPLES];

/* All that a report says of `n` outcomes that took 3.21 s; to be freed. */
char *report_of(enum rs_test_format format, bool colour, const struct rs_test_outcome *outcomes,
		unsigned int n);

#endif
