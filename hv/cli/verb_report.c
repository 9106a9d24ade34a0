/* SPDX-License-Identifier: MIT */
/* `ringside report`: a trace that was recorded. */
#include "cli/choice.h"
#include "cli/replay.h"
#include "cli/verb.h"

#include <unistd.h>

struct args {
	RsCliChoice choice;
	gboolean json, bare, raw;
	gint64 count, last;
};

static bool parse(const struct rs_verb *verb, struct args *a, int *argc, char ***argv, int *code)
{
	const GOptionEntry options[] = {
		{"json", 'j', 0, G_OPTION_ARG_NONE, &a->json, "One JSON object a line", NULL},
		{"short", 0, 0, G_OPTION_ARG_NONE, &a->bare,
		 "Events without their system: switch in place of sched:switch", NULL},
		{"raw", 'R', 0, G_OPTION_ARG_NONE, &a->raw,
		 "Fields as they are, name=value, in place of the event's own text", NULL},
		{"count", 'n', 0, G_OPTION_ARG_INT64, &a->count,
		 "End after so many events (0: no limit)", "N"},
		{"last", 0, 0, G_OPTION_ARG_INT64, &a->last, "Only the last so many events", "N"},
		RS_CLI_CHOICE_OPTIONS(a->choice),
		RS_CLI_CHOICE_TIMES(a->choice),
		{0}};

	return rs_cli_parse(verb, options, argc, argv, code);
}

static int check(const struct rs_verb *verb, const struct args *a, int argc)
{
	int code = rs_cli_check_limits(verb, a->count, 0);

	if (code)
		return code;
	if (a->last < 0)
		return rs_cli_usage(verb, "--last: a number of events, 0 or more");
	if (a->json && a->raw)
		return rs_cli_usage(verb, "-R is of text");
	if (argc < 2)
		return rs_cli_usage(verb, "no file is named");
	return RS_CLI_OK;
}

static int show(const struct args *a, struct rs_cli_input *input)
{
	const struct rs_printer_config printer = {
		.fd = STDOUT_FILENO,
		.json = a->json,
		.short_names = a->bare,
		.raw = a->raw,
		.count = (uint64_t)a->count,
	};

	return rs_cli_replay(input, &printer);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct rs_cli_input input = {0};
	struct args a = {0};
	int code;

	if (parse(verb, &a, &argc, &argv, &code))
		code = check(verb, &a, argc);
	else
		argc = 0;
	if (argc && !code)
		code = rs_cli_choice_take(&a.choice, &input.selection);
	if (argc && !code) {
		input.paths = (const char *const *)argv + 1;
		input.last = (uint64_t)a.last;
		input.progress = !isatty(STDOUT_FILENO);
		code = show(&a, &input);
	}
	rs_cli_choice_clear(&a.choice);
	return code;
}

const struct rs_verb rs_verb_report = {
	.name = "report",
	.args = "FILE...",
	.summary = "show a trace that was recorded",
	.details = "Prints what `ringside record` wrote, as `ringside trace` prints what comes: in "
		   "the order of\ntime, with losses in their place. \"-\" is standard input. "
		   "Several files are shown on one clock.",
	.run = run,
};
