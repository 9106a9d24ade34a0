/* SPDX-License-Identifier: MIT */
/*
 * What `run` and `attach` have in common: a session in this process, served to others, its trace
 * printed, until the guest ends or somebody wants it to. Main thread.
 */
#ifndef RS_HV_CLI_RUNNER_H
#define RS_HV_CLI_RUNNER_H

#include <rs-trace-ring.h>
#include "session/rundir.h"
#include "session/session.h"

struct rs_runner_config {
	char **enable;  /* globs; NULL: none */
	char **filters; /* "GLOB: EXPR"; NULL: none */
	bool json;
	bool short_names;   /* in text: events without their system */
	bool quiet;         /* print no trace and no summary */
	bool propagate;     /* the guest's exit code becomes ours */
	bool detach;        /* at the end leave the guest running */
	const char *output; /* file for the trace; NULL: standard output */
	double duration;    /* seconds; 0: until the guest ends */
	uint64_t count;     /* records; 0: no end */
	RsTraceFrom from;
	/* Between start and the loop; may be NULL. */
	int (*started)(struct rs_session *session, void *data, struct rs_error *err);
	void *data;
};

/*
 * Starts and serves a session until it is over; returns an exit code. Takes the session over and
 * destroys it; the claim stays the caller's.
 */
int rs_runner_run(struct rs_session *session, const struct rs_runner_config *config);

#endif
