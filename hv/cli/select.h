/* SPDX-License-Identifier: MIT */
/* Options of a verb that select events by level and keyword, beside their globs. Thread: main. */
#ifndef RS_HV_CLI_SELECT_H
#define RS_HV_CLI_SELECT_H

#include "cli/verb.h"

struct rs_cli_select {
	char *level, *any, *all; /* as given; NULL: not */
};
typedef struct rs_cli_select RsCliSelect; /* for g_auto() */

/* Three rows of a verb's options. */
#define RS_CLI_SELECT_OPTION(name, to, help, value)                                                \
	{                                                                                          \
		name, 0, 0, G_OPTION_ARG_STRING, &(to), help, value                                \
	}
#define RS_CLI_SELECT_OPTIONS(s)                                                                   \
	RS_CLI_SELECT_OPTION("level", (s).level,                                                   \
			     "Only events of this level, 1 critical to 5 verbose, or more severe", \
			     "N"),                                                                 \
		RS_CLI_SELECT_OPTION("keyword", (s).any,                                           \
				     "Only events that have any of these keywords", "MASK"),       \
		RS_CLI_SELECT_OPTION("keyword-all", (s).all,                                       \
				     "Only events that have all of these keywords", "MASK")

/* The option --stack[=DEPTH]. */
#define RS_CLI_STACK_OPTION(to)                                                                    \
	{                                                                                          \
		"stack", 0, 0, G_OPTION_ARG_INT, &(to),                                            \
			"With call stacks, of at most DEPTH frames (1 to 64; 16 if not given)",    \
			"DEPTH"                                                                    \
	}
#define RS_CLI_NO_STACK G_MININT
/*
 * RS_CLI_OK, or an exit code after a message. RS_CLI_NO_STACK: it was not given, and it is made 0.
 */
int rs_cli_stack_check(const struct rs_verb *verb, int *stack);

/* RS_CLI_OK, or an exit code after a message. */
int rs_cli_select_check(const struct rs_verb *verb, const struct rs_cli_select *select);
/* Whether something is selected. */
bool rs_cli_select_any(const struct rs_cli_select *select);
/*
 * What a list of globs includes, each with the selection and with what the list excludes, as a
 * session takes it. To be freed.
 */
GStrv rs_cli_select_globs(const struct rs_cli_select *select, const char *list);
/* Likewise of each list, in place of all of them. `*lists` may be NULL. */
void rs_cli_select_lists(const struct rs_cli_select *select, GStrv *lists);
void rs_cli_select_clear(struct rs_cli_select *select);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RsCliSelect, rs_cli_select_clear)

#endif
