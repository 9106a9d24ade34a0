/* SPDX-License-Identifier: MIT */
/*
 * The options of verbs that serve a session of this process, `run` and `attach`: where its trace is
 * recorded, and where it is printed. Thread: main.
 */
#ifndef RS_HV_CLI_RUN_RECORDING_OPTIONS_H
#define RS_HV_CLI_RUN_RECORDING_OPTIONS_H

#include "cli/recording_options.h"
#include "cli/run_recording.h"

struct rs_run_recording_options {
	char *output; /* a recording; NULL: none */
	char *text;   /* the printed trace; NULL: standard output */
	gboolean force;
	struct rs_recording_options limits;
};

/* Rows of a verb's options for a struct rs_run_recording_options. */
#define RS_RUN_RECORDING_OPTIONS(o)                                                                \
	RS_RECORDING_OPTION("output", 'o', FILENAME, (o).output,                                   \
			    "Record the trace there, for `ringside report`; - is standard output", \
			    "FILE"),                                                               \
		RS_RECORDING_OPTION("force", 0, NONE, (o).force,                                   \
				    "Record over a file that is no trace", NULL),                  \
		RS_RECORDING_OPTIONS((o).limits),                                                  \
		RS_RECORDING_OPTION("text", 0, FILENAME, (o).text, "Print the trace there",        \
				    "FILE")

/*
 * Fills `record`, whose strings are those of the options. `quiet`: nothing is printed. Returns 0,
 * or RS_CLI_USAGE after a message.
 */
int rs_run_recording_options_check(const struct rs_verb *verb,
				   const struct rs_run_recording_options *options, bool quiet,
				   struct rs_run_recording_config *record);
/* Where the trace is printed, for rs_cli_color_take(). */
int rs_run_recording_text_fd(const struct rs_run_recording_options *options);
void rs_run_recording_options_clear(struct rs_run_recording_options *options);

#endif
