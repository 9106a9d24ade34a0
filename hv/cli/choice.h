/* SPDX-License-Identifier: MIT */
/* Options of a verb that choose records of a trace. Thread: main. */
#ifndef RS_HV_CLI_CHOICE_H
#define RS_HV_CLI_CHOICE_H

#include "cli/input.h"
#include "filter/rs-trace-selection.h"

/* As given; NULL: not. */
struct rs_cli_choice {
	char **filters;
	char *cpus, *pids, *comm, *events, *from, *until;
};
typedef struct rs_cli_choice RsCliChoice; /* for g_auto() */

#define RS_CLI_CHOICE_OPTION(name, letter, kind, to, help, value)                                  \
	{                                                                                          \
		name, letter, 0, kind, &(to), help, value                                          \
	}
/* Rows of a verb's options, for a verb that chooses processes and events in a way of its own: */
#define RS_CLI_CHOICE_SOME(c, filter)                                                              \
	RS_CLI_CHOICE_OPTION(filter, 'F', G_OPTION_ARG_STRING_ARRAY, (c).filters,                  \
			     "Only events of which EXPR is true; may be repeated",                 \
			     "[GLOB: ]EXPR"),                                                      \
		RS_CLI_CHOICE_OPTION("cpu", 0, G_OPTION_ARG_STRING, (c).cpus,                      \
				     "Only of these vCPUs, such as 0-2,5", "LIST"),                \
		RS_CLI_CHOICE_OPTION("comm", 0, G_OPTION_ARG_STRING, (c).comm,                     \
				     "Only of tasks with such a name; !GLOB: of all others",       \
				     "GLOB")
#define RS_CLI_CHOICE_FEW(c) RS_CLI_CHOICE_SOME(c, "filter")
#define RS_CLI_CHOICE_PIDS(c)                                                                      \
	RS_CLI_CHOICE_OPTION("pid", 0, G_OPTION_ARG_STRING, (c).pids,                              \
			     "Only of the tasks with these numbers", "LIST")
#define RS_CLI_CHOICE_EVENTS(c, letter)                                                            \
	RS_CLI_CHOICE_OPTION("events", letter, G_OPTION_ARG_STRING, (c).events,                    \
			     "Only these events", "GLOB[,GLOB...]")
/* And for the others. */
#define RS_CLI_CHOICE_OPTIONS(c)                                                                   \
	RS_CLI_CHOICE_FEW(c), RS_CLI_CHOICE_PIDS(c), RS_CLI_CHOICE_EVENTS(c, 'e')
/* What a verb prints that has -e and --filter for what its session records. */
#define RS_CLI_CHOICE_PRINTED(c) RS_CLI_CHOICE_SOME(c, "only"), RS_CLI_CHOICE_EVENTS(c, 0)
/* And those of a trace that has an end and a beginning. */
#define RS_CLI_CHOICE_TIMES(c)                                                                     \
	RS_CLI_CHOICE_OPTION("from", 0, G_OPTION_ARG_STRING, (c).from,                             \
			     "Only from then on: 12.5, +2s (after the start), -300ms (before the " \
			     "end)",                                                               \
			     "TIME"),                                                              \
		RS_CLI_CHOICE_OPTION("until", 0, G_OPTION_ARG_STRING, (c).until,                   \
				     "Only before then", "TIME")

bool rs_cli_choice_is_made(const struct rs_cli_choice *choice);
/*
 * *selection is NULL if nothing is chosen, else to be freed. RS_CLI_OK, or RS_CLI_USAGE after a
 * message.
 */
int rs_cli_choice_take(const struct rs_cli_choice *choice, RsTraceSelection **selection);
/*
 * Whether a record of a session that runs is wanted; `selection` NULL: each is. As soon as it is
 * known that none ever will, that is told. Thread: of the records.
 */
bool rs_cli_choice_wants(RsTraceSelection *selection, const RsTraceRecord *record,
			 const RsTraceTask *task);
/* At the end: tells what else was wrong with it. `code`, or RS_CLI_USAGE. Accepts NULL. */
int rs_cli_choice_finish(const RsTraceSelection *selection, int code);
/* The events that are named must be there: rs_cli_input_expect(). */
void rs_cli_choice_expect(const struct rs_cli_choice *choice, struct rs_cli_input *input);
void rs_cli_choice_clear(struct rs_cli_choice *choice);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RsCliChoice, rs_cli_choice_clear)

#endif
