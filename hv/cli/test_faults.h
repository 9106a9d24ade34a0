/* SPDX-License-Identifier: MIT */
/*
 * The groups [fault NAME] of a spec: what is injected into the guest of a test run, and when. Their
 * texts are a user's. Thread: main.
 */
#ifndef RS_HV_CLI_TEST_FAULTS_H
#define RS_HV_CLI_TEST_FAULTS_H

#include "expect/rs-trace-spec.h"

#include <stdbool.h>

/* What the option --fault of a run gets, of the case that was chosen. */
struct rs_test_faults {
	GPtrArray *options; /* of char *, in their order */
	bool kills;         /* one of them ends the guest */
};

/* Fills in `out`, which is to be cleared. FALSE: RS_TRACE_SPEC_ERROR, with the place. */
bool rs_test_faults_read(const RsTraceSpec *spec, struct rs_test_faults *out, GError **error);
void rs_test_faults_clear(struct rs_test_faults *faults);
/* Whether a run has ended by the fault "kill", as rs_ends_write() has its end and text. */
bool rs_test_faults_killed(const char *end, const char *text);

#endif
