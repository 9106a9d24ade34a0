/* SPDX-License-Identifier: MIT */
/*
 * Faults that a session of this process injects, as `run --fault 'FAULT @ WHEN'` asks for them:
 * each once. WHEN is a time after the first agent's hello, or an event: the first record of it
 * counts, as far as the session's own sources have it. Without it, it is at that hello. Thread:
 * main.
 */
#ifndef RS_HV_CLI_RUN_FAULTS_H
#define RS_HV_CLI_RUN_FAULTS_H

#include "session/session.h"

struct rs_verb;
struct rs_run_faults;

#define RS_RUN_FAULTS_OPTION(texts)                                                                \
	{                                                                                          \
		"fault", 0, 0, G_OPTION_ARG_STRING_ARRAY, &(texts),                                \
			"Let something go wrong, as `inject` does, after a time or at an event",   \
			"'FAULT [@ TIME|EVENT]'"                                                   \
	}

/* What lies before " @ ", and *when behind it, NULL: nothing. Both to be freed. */
char *rs_run_faults_split(const char *text, char **when);
/* Whether this is a time or an event. FALSE: `error` says why not, perhaps with a caret. */
bool rs_run_faults_check_when(const char *when, GError **error);

/* Checks the option; `texts` may be NULL. Returns 0, or RS_CLI_USAGE after a message. */
int rs_run_faults_check(const struct rs_verb *verb, char **texts);

/* Before the session starts; `texts` was checked. NULL: there are none. All others accept that. */
struct rs_run_faults *rs_run_faults_new(struct rs_session *session, char **texts);
/* A source's agent has reported. */
void rs_run_faults_hello(struct rs_run_faults *faults, const struct rs_source *source);
/*
 * Injects no more, and frees it. Returns 0, or RS_CLI_FAILED: one was refused. `tell`: one whose
 * time has not come is a failure, too, which is told.
 */
int rs_run_faults_finish(struct rs_run_faults *faults, bool tell);

#endif
