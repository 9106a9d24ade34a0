/* SPDX-License-Identifier: MIT */
/*
 * One case of a spec as `ringside test` runs it: its fixtures, a run (cli/test_run.h), its verdict,
 * and perhaps another attempt. Thread: main.
 */
#ifndef RS_HV_CLI_TEST_CASE_H
#define RS_HV_CLI_TEST_CASE_H

#include "cli/test_fixture.h"
#include "cli/test_report.h"
#include "expect/rs-trace-spec.h"

struct rs_test_case;

/* Runs that cases share: struct rs_test_shared by what is run. */
GHashTable *rs_test_shared_new(void);

struct rs_test_case_config {
	const char *path;        /* of the spec */
	const RsTraceSpec *spec; /* which outlives the case; NULL: it could not be loaded: */
	const GError *broken;    /* that is why */
	unsigned int number;     /* of the case in it */
	const char *folder;      /* in which the case makes its own */
	bool keep;               /* the folder stays, whatever the verdict is */
	int retries;             /* in place of the spec's; -1: as it says */
	struct rs_test_fixtures *fixtures;
	GHashTable *shared; /* as rs_test_shared_new(); both outlive the case */
	/* The case is over: the outcome is valid until rs_test_case_free(). Never from start(). */
	void (*done)(struct rs_test_case *test, void *data);
	void *data;
};

/* Checks the case. If it is broken, that is the outcome. Takes nothing over. */
struct rs_test_case *rs_test_case_new(const struct rs_test_case_config *config);
/* A case that runs is ended by force. Accepts NULL. */
void rs_test_case_free(struct rs_test_case *test);

/* NULL: there is none yet. */
const struct rs_test_outcome *rs_test_case_outcome(const struct rs_test_case *test);
const char *rs_test_case_name(const struct rs_test_case *test);
bool rs_test_case_has_tag(const struct rs_test_case *test, const char *tag);
/* How long it has been running, in us; -1: it is not. */
int64_t rs_test_case_running_us(const struct rs_test_case *test);

/* `done` is called later. */
void rs_test_case_start(struct rs_test_case *test);
/* Somebody wants the end: the guest is stopped, and the outcome is that it was not run. */
void rs_test_case_stop(struct rs_test_case *test);
/* The same at once. What it leaves is put right. */
void rs_test_case_kill(struct rs_test_case *test);
/* It will not be started. */
void rs_test_case_skip(struct rs_test_case *test);

#endif
