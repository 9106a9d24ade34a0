/* SPDX-License-Identifier: MIT */
/*
 * Reads the records of a session of this process for its triggers, and writes their snapshots
 * (session/triggers.h). Nothing is read while there is no trigger. Thread: main.
 */
#ifndef RS_HV_CLI_RUN_TRIGGERS_H
#define RS_HV_CLI_RUN_TRIGGERS_H

#include "cli/symbols.h"
#include "session/session.h"

#define RS_RUN_TRIGGERS_OPTION(texts)                                                              \
	{                                                                                          \
		"trigger", 0, 0, G_OPTION_ARG_STRING_ARRAY, &(texts),                              \
			"When the event comes: pause, freeze, snapshot=FILE, stack, enable=GLOB "  \
			"…",                                                                       \
			"'ACTION[; …] @ EVENT'"                                                  \
	}

struct rs_verb;
struct rs_run_triggers;

/* Checks --trigger. 0, or an exit code after a message. */
int rs_run_triggers_check(const struct rs_verb *verb, char **texts);
/* Appends the globs of their events and of what they enable and disable, as char *. */
void rs_run_triggers_add_globs(char **texts, GPtrArray *globs);

/*
 * From now on the session takes triggers, and has those of `texts` (checked; NULL: none). Both
 * outlive it. `symbols` NULL: none are shown.
 */
int rs_run_triggers_new(struct rs_session *session, const struct rs_cli_symbols *symbols,
			char **texts, struct rs_run_triggers **out, struct rs_error *err);
/* Once nothing more comes: what the rings hold is still looked at. Accepts NULL. */
void rs_run_triggers_finish(struct rs_run_triggers *triggers);
/* Accepts NULL. */
void rs_run_triggers_free(struct rs_run_triggers *triggers);

#endif
