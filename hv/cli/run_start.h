/* SPDX-License-Identifier: MIT */
/*
 * How the start of a session goes: which agents have reported, and what is told of those that have
 * not, to the user and to whoever waits for the start (cli/background.h). Thread: main.
 */
#ifndef RS_HV_CLI_RUN_START_H
#define RS_HV_CLI_RUN_START_H

#include "cli/run_printing.h"
#include "cli/run_wishes.h"

struct rs_run_start;

/*
 * The clock of the start runs from here on. What is borrowed outlives it. `up`: all agents have
 * reported, and had a moment to register their events.
 */
struct rs_run_start *rs_run_start_new(struct rs_session *session,
				      const struct rs_runner_config *config,
				      struct rs_run_wishes *wishes,
				      const struct rs_run_printing *printing, void (*up)(void *),
				      void *data);
/* Accepts NULL. */
void rs_run_start_free(struct rs_run_start *start);

/*
 * Waits for a caller that wants to look on before the guest begins. Nobody has heard of a session
 * whose caller has gone. `stopping` becomes true when somebody asks for the end. -ECANCELED: one of
 * both is so.
 */
int rs_run_start_await_caller(struct rs_run_start *start, const bool *stopping,
			      struct rs_error *err);
/* An agent has reported. Returns whether one of another source has before. */
bool rs_run_start_hello(struct rs_run_start *start, struct rs_source *source);
/* Something has failed, which is more than that no agent has reported. Accepts NULL. */
void rs_run_start_hush(struct rs_run_start *start);

/* The agent of the source, which did not join, has reported, or one of a process of it. */
bool rs_run_start_has_greeted(const struct rs_run_start *start, struct rs_source *source);
/* Returns whether all agents reported. `missing`: tells that of one that did not; NULL: nothing. */
bool rs_run_start_all_greeted(const struct rs_run_start *start, const char *missing);

/* The session has ended, perhaps so soon that globs were not looked at. */
void rs_run_start_look(struct rs_run_start *start);
/* Tells that no agent has reported, if that has not been told so far. */
void rs_run_start_finish(struct rs_run_start *start);

#endif
