/* SPDX-License-Identifier: MIT */
/*
 * Reads the records of a session of this process for its triggers, and writes their snapshots
 * (session/triggers.h). Nothing is read while there is no trigger. Thread: main.
 */
#ifndef RS_HV_CLI_RUN_TRIGGERS_H
#define RS_HV_CLI_RUN_TRIGGERS_H

#include "cli/symbols.h"
#include "session/session.h"

#define RS_RUN_TRIGGERS_OPTION(lines)                                                              \
	{                                                                                          \
		"trigger", 0, 0, G_OPTION_ARG_STRING_ARRAY, &(lines),                              \
			"When the event comes: pause, freeze, snapshot=FILE, stack, enable=GLOB "  \
			"…",                                                                       \
			"'ACTION[; …] @ EVENT'"                                                  \
	}

struct rs_verb;
struct rs_run_triggers;

/*
 * Appends what --trigger says to a list of rs_trigger_texts_new(); `lines` NULL: nothing. 0, or an
 * exit code after a message.
 */
int rs_run_triggers_take(const struct rs_verb *verb, char **lines, GPtrArray *triggers);
/*
 * Appends the globs of their events and of what they enable and disable, as char *. `triggers`
 * NULL: none.
 */
void rs_run_triggers_add_globs(const GPtrArray *triggers, GPtrArray *globs);

/*
 * From now on the session takes triggers, and has those of `triggers` (NULL: none). Session and
 * symbols outlive it. `symbols` NULL: none are shown.
 */
int rs_run_triggers_new(struct rs_session *session, const struct rs_cli_symbols *symbols,
			const GPtrArray *triggers, struct rs_run_triggers **out,
			struct rs_error *err);
/* Once nothing more comes: what the rings hold is still looked at. Accepts NULL. */
void rs_run_triggers_finish(struct rs_run_triggers *triggers);
/* Accepts NULL. */
void rs_run_triggers_free(struct rs_run_triggers *triggers);

#endif
