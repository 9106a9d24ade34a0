/* SPDX-License-Identifier: MIT */
/* `ringside report`: a trace that was recorded. */
#include "cli/replay.h"
#include "cli/verb.h"

#include <unistd.h>

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	gboolean json = FALSE, bare = FALSE;
	gint64 count = 0;
	const GOptionEntry options[] = {
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "One JSON object a line", NULL},
		{"short", 0, 0, G_OPTION_ARG_NONE, &bare,
		 "Events without their system: switch in place of sched:switch", NULL},
		{"count", 'n', 0, G_OPTION_ARG_INT64, &count,
		 "End after so many events (0: no limit)", "N"},
		{0}};
	struct rs_printer_config printer = {.fd = STDOUT_FILENO};
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	code = rs_cli_check_limits(verb, count, 0);
	if (code)
		return code;
	if (argc != 2)
		return rs_cli_usage(verb, argc < 2 ? "no file is named" : "too many arguments");
	printer.json = json;
	printer.short_names = bare;
	printer.count = (uint64_t)count;
	return rs_cli_replay(argv[1], &printer);
}

const struct rs_verb rs_verb_report = {
	.name = "report",
	.args = "FILE",
	.summary = "show a trace that was recorded",
	.details = "Prints what `ringside record` wrote, as `ringside trace` prints what comes: in "
		   "the order of\ntime, with losses in their place. \"-\" is standard input.",
	.run = run,
};
