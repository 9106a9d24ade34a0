/* SPDX-License-Identifier: MIT */
/*
 * One case of a spec as `ringside test` runs it: a `ringside run` of its own, with a session, a
 * folder and a name of its own, whose trace is judged when it has ended. docs/adr/0029-test-runs.md
 * says why it is another process. Thread: main.
 */
#ifndef RS_HV_CLI_TEST_CASE_H
#define RS_HV_CLI_TEST_CASE_H

#include "cli/test_report.h"
#include "expect/rs-trace-expectation.h"

#include <gio/gio.h>

struct rs_test_case;

struct rs_test_case_config {
	const char *path;    /* of the spec */
	unsigned int number; /* of the case in it */
	const char *folder;  /* in which the case makes its own */
	bool keep;           /* the folder stays, whatever the verdict is */
	/* The case is over: the outcome is valid until rs_test_case_free(). */
	void (*done)(struct rs_test_case *test, void *data);
	void *data;
};

/* Loads the spec. If it is broken, that is the outcome, and there is nothing to start. */
struct rs_test_case *rs_test_case_new(const struct rs_test_case_config *config);
/* A case that runs is ended by force. Accepts NULL. */
void rs_test_case_free(struct rs_test_case *test);

/* NULL: there is none yet. */
const struct rs_test_outcome *rs_test_case_outcome(const struct rs_test_case *test);
const char *rs_test_case_name(const struct rs_test_case *test);
bool rs_test_case_has_tag(const struct rs_test_case *test, const char *tag);

/* `done` is called later, or at once if it is over already. */
void rs_test_case_start(struct rs_test_case *test);
/* Somebody wants the end: the guest is stopped, and the outcome is that it was not run. */
void rs_test_case_stop(struct rs_test_case *test);

#endif
