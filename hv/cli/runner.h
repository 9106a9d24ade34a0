/* SPDX-License-Identifier: MIT */
/*
 * What `run` and `attach` have in common. They serve a session of this process to others and print
 * its trace, until its guests end or somebody asks for the end. Thread: main.
 */
#ifndef RS_HV_CLI_RUNNER_H
#define RS_HV_CLI_RUNNER_H

#include "cli/background.h"
#include "cli/choice.h"
#include "cli/printer.h"
#include "cli/run_recording.h"
#include "cli/symbols.h"

#include <rs-trace-ring.h>
#include "server/rundir.h"
#include "session/session.h"

struct rs_runner_config {
	char **enable;                        /* globs; NULL: none */
	const struct rs_cli_symbols *symbols; /* NULL: none are shown */
	uint32_t stack;                       /* frames of call stacks that they get; 0: none */
	char **disable;                       /* globs, after all of `enable`; NULL: none */
	char **filters;                       /* "GLOB: EXPR"; NULL: none */
	char **places;       /* "FILE:LINE" of the first of them, for messages; NULL: none */
	char **faults;       /* checked by rs_run_faults_check(); NULL: none */
	GPtrArray *triggers; /* of rs_trigger_texts_new(); NULL: none */
	int mode;            /* of the rings: RS_MODE_*; RS_PROFILE_ANY_MODE: as they are */
	bool json;
	struct rs_printer_style style; /* of text */
	struct rs_line_time *time;     /* of text */
	RsTraceSelection *view;        /* what is printed of the trace; NULL: all */
	bool quiet;                    /* print no trace and no summary */
	bool propagate;                /* exit with the guest's exit code */
	bool check;                    /* end once the events are known; bad ones are a failure */
	bool detach;                   /* leave the guests running at the end */
	const char *agent_hint; /* why no agent reports, to end a message; NULL: say nothing */
	const char *output;     /* file for the printed trace; NULL: standard output */
	/* Records the trace too, whatever is printed; NULL: does not. */
	const struct rs_run_recording_config *record;
	const char *result; /* file that gets how the guest ended (rs_ends_write()); NULL: none */
	const char *core;   /* file for the memory of a guest that ends badly; NULL: none */
	bool core_late;     /* its duration's end is a bad one */
	double duration;    /* seconds; 0: until the guest ends */
	uint64_t count;     /* records to print; 0: no limit */
	RsTraceFrom from;
	struct rs_rundir_claim *claim;    /* its place, where it says that it ends; NULL: none */
	struct rs_background *background; /* who waits for its start; NULL: nobody */
	/* Called right after the session has started, with `claim`; may be NULL. */
	int (*started)(struct rs_session *session, struct rs_rundir_claim *claim,
		       struct rs_error *err);
};

/* Starts and serves a session until it is over, and destroys it. Returns an exit code. */
int rs_runner_run(struct rs_session *session, const struct rs_runner_config *config);

#endif
