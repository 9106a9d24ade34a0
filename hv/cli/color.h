/* SPDX-License-Identifier: MIT */
/*
 * Colours of what verbs print, by the option --color. All escape sequences that the command itself
 * writes begin here or in rs-trace-text.c; texts of guests are escaped before. Thread: main.
 */
#ifndef RS_HV_CLI_COLOR_H
#define RS_HV_CLI_COLOR_H

#include "cli/verb.h"

#define RS_CLI_COLOR_OPTION(to)                                                                    \
	{                                                                                          \
		"color", 0, 0, G_OPTION_ARG_STRING, &(to),                                         \
			"Colours: auto (on a terminal), always or never", "WHEN"                   \
	}

/* What a colour says; the numbers of SGR, ECMA-48. */
#define RS_COLOR_GOOD "32"
#define RS_COLOR_WARN "33"
#define RS_COLOR_BAD "31"
#define RS_COLOR_HEAD "1"
#define RS_COLOR_FAINT "2"
#define RS_COLOR_INVERSE "7"

/*
 * Whether what is written to `fd` (-1: a file) has colours. `when`: as the option was given; NULL
 * is auto: on a terminal that has some, unless the environment has a NO_COLOR that is not empty.
 * RS_CLI_OK, or RS_CLI_USAGE after a message.
 */
int rs_cli_color_take(const struct rs_verb *verb, const char *when, int fd, bool *out);
/* Appends the text as it is, in a colour if there are any. */
void rs_cli_append_painted(GString *out, bool color, const char *sgr, const char *text);

#endif
