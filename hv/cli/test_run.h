/* SPDX-License-Identifier: MIT */
/*
 * One run of a test's guest: a folder, the commands of the spec before and after it, and a
 * `ringside run` of its own that records into the folder. docs/adr/0029-test-runs.md says why it is
 * another process. Cases with `boot = once` share one. Thread: main.
 */
#ifndef RS_HV_CLI_TEST_RUN_H
#define RS_HV_CLI_TEST_RUN_H

#include "expect/rs-trace-setup.h"

#include <stdbool.h>

enum rs_test_run_end {
	RS_TEST_RUN_ENDED,     /* there is a trace and a result */
	RS_TEST_RUN_NO_TRACE,  /* it has ended without: `why` */
	RS_TEST_RUN_STUCK,     /* it did not end in time, and was killed */
	RS_TEST_RUN_TOO_LARGE, /* it wrote more than it may, and was stopped */
	RS_TEST_RUN_STOPPED,   /* by rs_test_run_stop() */
	RS_TEST_RUN_NO_SETUP,  /* a command failed: `why` */
};

/* Names of files in the folder. */
#define RS_TEST_RUN_TRACE "trace"
#define RS_TEST_RUN_RESULT "result"
#define RS_TEST_RUN_MESSAGES "messages"

struct rs_test_run;

struct rs_test_run_config {
	RsTraceSetup *setup;     /* referenced */
	GPtrArray *faults;       /* of char *, as --fault has them; likewise */
	const char *spec_folder; /* in which commands run */
	const char *folder; /* of the evidence: it is made, perhaps with -2, -3 … behind it */
};

/* Referenced once. */
struct rs_test_run *rs_test_run_new(const struct rs_test_run_config *config);
struct rs_test_run *rs_test_run_ref(struct rs_test_run *run);
/* The last one kills what runs, and removes the files if nobody keeps them. Accepts NULL. */
void rs_test_run_unref(struct rs_test_run *run);

/* Called once it is over, and never from here. The first call starts it. */
void rs_test_run_await(struct rs_test_run *run, void (*over)(void *data), void *data);
/* Asks it to end. Its teardown is done in any case. As often as one likes. */
void rs_test_run_stop(struct rs_test_run *run);
/* The same, and kills the process of its phase. */
void rs_test_run_kill(struct rs_test_run *run);
/* Its files stay. */
void rs_test_run_keep(struct rs_test_run *run);

/* Of one that is over. */
enum rs_test_run_end rs_test_run_end(const struct rs_test_run *run);
const char *rs_test_run_why(const struct rs_test_run *run); /* one line; NULL: nothing is wrong */
/* The exit code of `ringside run`; -1: a signal ended it. */
int rs_test_run_code(const struct rs_test_run *run);
/* The file with what the command said that failed; NULL: none did. */
const char *rs_test_run_command(const struct rs_test_run *run);
int64_t rs_test_run_us(const struct rs_test_run *run); /* that it has taken, so far */
/* The last line of its messages, for a terminal; to be freed. */
char *rs_test_run_last_message(const struct rs_test_run *run);

const char *rs_test_run_folder(const struct rs_test_run *run);
/* The path of a file in it; to be freed. */
char *rs_test_run_file(const struct rs_test_run *run, const char *name);
/* The path of what the guest wrote to its console; to be freed. */
char *rs_test_run_console(const struct rs_test_run *run);

#endif
