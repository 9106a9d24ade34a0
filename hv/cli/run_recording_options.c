/* SPDX-License-Identifier: MIT */
#include "cli/run_recording_options.h"

#include <unistd.h>

int rs_run_recording_options_check(const struct rs_verb *verb,
				   const struct rs_run_recording_options *options, bool quiet,
				   struct rs_run_recording_config *record)
{
	const struct rs_recording_options *limits = &options->limits;

	if (!options->output && (options->force || limits->compression || limits->max_size ||
				 limits->rotate || limits->keep || limits->window))
		return rs_cli_usage(verb, "options of a recording need -o FILE");
	if (!options->output)
		return 0;
	if (g_str_equal(options->output, "-") && !quiet &&
	    (!options->text || g_str_equal(options->text, "-")))
		return rs_cli_usage(verb,
				    "-o - records to standard output: print elsewhere with --text "
				    "FILE, or nothing with -q");
	record->file.path = options->output;
	record->file.force = options->force;
	record->quiet = record->alone = quiet;
	return rs_recording_options_check(verb, limits, &record->recording, &record->file);
}

int rs_run_recording_text_fd(const struct rs_run_recording_options *options)
{
	return !options->text || g_str_equal(options->text, "-") ? STDOUT_FILENO : -1;
}

void rs_run_recording_options_clear(struct rs_run_recording_options *options)
{
	g_free(options->output);
	g_free(options->text);
	rs_recording_options_clear(&options->limits);
}
