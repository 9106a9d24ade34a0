/* SPDX-License-Identifier: MIT */
/*
 * `run --background` and `run --stay`, as their caller sees them: cli/background.h has the session
 * in its own process. Thread: main.
 */
#ifndef RS_HV_CLI_RUN_APART_H
#define RS_HV_CLI_RUN_APART_H

#include "cli/background.h"
#include "cli/printer.h"
#include "cli/symbols.h"
#include "cli/verb.h"

struct rs_run_apart_options {
	gboolean background, stay;
	char *log; /* NULL: in the runtime directory */
};

#define RS_RUN_APART_OPTIONS(o)                                                                    \
	{"background",                                                                             \
	 0,                                                                                        \
	 0,                                                                                        \
	 G_OPTION_ARG_NONE,                                                                        \
	 &(o).background,                                                                          \
	 "Print the session's name once its guest is up, and leave it running",                    \
	 NULL},                                                                                    \
		{"stay",                                                                           \
		 0,                                                                                \
		 0,                                                                                \
		 G_OPTION_ARG_NONE,                                                                \
		 &(o).stay,                                                                        \
		 "The session stays when its trace is no longer printed: after Ctrl-C, -n, "       \
		 "--duration",                                                                     \
		 NULL},                                                                            \
	{                                                                                          \
		"log", 0, 0, G_OPTION_ARG_FILENAME, &(o).log,                                      \
			"With these two: the guest's console and messages go there", "FILE"        \
	}

/* What else the user has asked for. */
struct rs_run_apart_view {
	bool quiet;
	bool propagate;                   /* --propagate-exit */
	bool has_text;                    /* --text */
	bool core_late;                   /* --core-late */
	const char *output;               /* a recording; NULL: none */
	struct rs_printer_config printer; /* of --stay */
	const struct rs_cli_symbols *symbols;
	double duration;
};

/* Whether the session gets a process of its own. */
bool rs_run_apart_asked(const struct rs_run_apart_options *o);
/* Returns 0, or RS_CLI_USAGE after a message. */
int rs_run_apart_check(const struct rs_verb *verb, const struct rs_run_apart_options *o,
		       const struct rs_run_apart_view *view);
/* In the caller, after rs_background_fork(). Returns an exit code. */
int rs_run_apart_wait(const struct rs_verb *verb, const struct rs_run_apart_options *o,
		      struct rs_run_apart_view *view, struct rs_background *b);
void rs_run_apart_options_clear(struct rs_run_apart_options *o);

#endif
