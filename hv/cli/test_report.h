/* SPDX-License-Identifier: MIT */
/*
 * What `ringside test` tells of its runs: for people, as TAP 14, as JUnit XML, and as annotations
 * of GitHub. One run of a test is an outcome. Names, reasons and stories may hold any bytes of a
 * guest or a spec: each format escapes them. Thread: main.
 */
#ifndef RS_HV_CLI_TEST_REPORT_H
#define RS_HV_CLI_TEST_REPORT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum rs_test_verdict {
	RS_TEST_PASSED,
	RS_TEST_FAILED,  /* an expectation was not met */
	RS_TEST_BROKEN,  /* the spec is wrong */
	RS_TEST_NOT_RUN, /* the machine could not be run */
	RS_TEST_SKIPPED, /* something that it needs is not here */
};

/* One expectation of it. */
struct rs_test_check {
	const char *name;
	unsigned int line; /* of the spec, from 1 on */
	bool passed;
	const char *why; /* one line; NULL if it passed */
};

struct rs_test_outcome {
	const char *name;  /* "boot (accel=tcg, cpus=2)" */
	const char *spec;  /* path of its spec, as it was given */
	unsigned int line; /* of the spec, where what is wrong is said; 0: nowhere */
	enum rs_test_verdict verdict;
	int64_t us;           /* how long it took */
	const char *why;      /* one line; NULL if it passed */
	const char *story;    /* lines that show it; NULL: none */
	const char *evidence; /* the folder that was kept; NULL: none */
	const struct rs_test_check *checks;
	unsigned int n_checks;
	unsigned int attempts; /* it took, from 1 on; 0: it was not run */
	const char *first_why; /* if there were several: why the first did not pass; or NULL */
};

enum rs_test_format {
	RS_TEST_HUMAN,
	RS_TEST_TAP,
	RS_TEST_JUNIT,
	RS_TEST_GITHUB,
};

struct rs_test_report;

/* `colour`: of people's text. `n`: how many outcomes there will be. */
struct rs_test_report *rs_test_report_new(enum rs_test_format format, bool colour, unsigned int n);
/* Accepts NULL. */
void rs_test_report_free(struct rs_test_report *report);
/*
 * Appends to `out` what is to be written at once. JUnit is one document, so it comes whole with
 * rs_test_report_end().
 */
void rs_test_report_begin(struct rs_test_report *report, GString *out);
void rs_test_report_add(struct rs_test_report *report, const struct rs_test_outcome *outcome,
			GString *out);
void rs_test_report_end(struct rs_test_report *report, int64_t us, GString *out);

#endif
