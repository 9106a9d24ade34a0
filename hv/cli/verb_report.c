/* SPDX-License-Identifier: MIT */
/* `ringside report`: a trace that was recorded. */
#include "cli/choice.h"
#include "cli/figures.h"
#include "cli/replay.h"
#include "cli/symbols.h"
#include "cli/verb.h"

#include <rs-trace-lines.h>
#include <unistd.h>

struct args {
	RsCliChoice choice;
	struct rs_printer_style style;
	struct rs_line_time time;
	gboolean json, raw;
	gint64 count, last;
	gint64 jobs;
	bool has_last, has_jobs;
	RsCliSymbols symbols;
	gboolean stat, stacks;
	char *hist, *by, *latency, *key;
};

static bool parse(const struct rs_verb *verb, struct args *a, int *argc, char ***argv, int *code)
{
	const GOptionEntry options[] = {
		{"json", 'j', 0, G_OPTION_ARG_NONE, &a->json, "One JSON object a line", NULL},
		RS_PRINTER_STYLE_OPTIONS(a->style),
		{"raw", 'R', 0, G_OPTION_ARG_NONE, &a->raw,
		 "Fields as they are, name=value, in place of the event's own text", NULL},
		{"count", 'n', 0, G_OPTION_ARG_INT64, &a->count,
		 "End after so many events (0: no limit)", "N"},
		{"last", 0, 0, G_OPTION_ARG_INT64, &a->last, "Only the last so many events", "N"},
		{"stat", 0, 0, G_OPTION_ARG_NONE, &a->stat,
		 "Counts and rates of events, and what each vCPU has lost", NULL},
		{"hist", 0, 0, G_OPTION_ARG_STRING, &a->hist,
		 "How the values of a field are spread, or of comm, cpu, pid, event …",
		 "[EVENT.]FIELD"},
		{"by", 0, 0, G_OPTION_ARG_STRING, &a->by,
		 "With --hist or --latency: for each value of this", "[EVENT.]FIELD"},
		{"latency", 0, 0, G_OPTION_ARG_STRING, &a->latency,
		 "How long it takes from one event to another", "EVENT..EVENT"},
		{"key", 0, 0, G_OPTION_ARG_STRING, &a->key,
		 "With --latency: what both have in common, if not the task", "FIELD[..FIELD]"},
		{"stacks", 0, 0, G_OPTION_ARG_NONE, &a->stacks,
		 "Call stacks, folded for flame graphs", NULL},
		{"jobs", 0, 0, G_OPTION_ARG_INT64, &a->jobs,
		 "Threads that make lines, 1 to 64 (one for each CPU, 4 at most)", "N"},
		RS_CLI_SYMBOLS_FILE(a->symbols),
		RS_CLI_SYMBOLS_NONE(a->symbols),
		RS_CLI_CHOICE_OPTIONS(a->choice),
		RS_CLI_CHOICE_TIMES(a->choice),
		{0}};

	return rs_cli_parse(verb, options, argc, argv, code);
}

static bool is_figures(const struct args *a)
{
	return a->stat || a->stacks || a->hist || a->latency;
}

static int check(const struct rs_verb *verb, struct args *a)
{
	int code = rs_cli_check_limits(verb, a->count, 0);

	if (!code)
		code = rs_printer_style_take(verb, &a->style, STDOUT_FILENO);
	if (!code)
		code = rs_line_time_take(verb, a->style.time, a->style.ns, a->json, &a->time);
	if (code)
		return code;
	if (a->has_last && a->last < 1)
		return rs_cli_usage(verb, "--last is a number of events, 1 or more");
	if (a->has_jobs && (a->jobs < 1 || a->jobs > RS_TRACE_LINES_JOBS_MAX))
		return rs_cli_usage(verb, "--jobs is a number of threads, 1 to %u",
				    RS_TRACE_LINES_JOBS_MAX);
	if (a->has_jobs && is_figures(a))
		return rs_cli_usage(verb, "--jobs is of lines, not of figures");
	if (a->json && a->raw)
		return rs_cli_usage(verb, "-R is of text");
	if (a->by && !a->hist && !a->latency)
		return rs_cli_usage(verb, "--by needs --hist or --latency");
	if (a->key && !a->latency)
		return rs_cli_usage(verb, "--key needs --latency");
	if (is_figures(a) && (a->count || a->raw || a->style.bare || a->style.ns || a->style.time))
		return rs_cli_usage(verb, "-n, -R, --ns, --short and --time are of lines, not of "
					  "figures");
	if (a->stacks && (a->stat || a->hist || a->latency))
		return rs_cli_usage(verb, "--stacks is for another program to read: alone");
	return RS_CLI_OK;
}

static int show(struct args *a, struct rs_cli_input *input)
{
	const struct rs_printer_config printer = {
		.fd = STDOUT_FILENO,
		.json = a->json,
		.style = a->style,
		.time = &a->time,
		.raw = a->raw,
		.count = (uint64_t)a->count,
	};

	return rs_cli_replay(input, &printer,
			     a->has_jobs ? (unsigned)a->jobs : rs_cli_replay_jobs());
}

static int figure(const struct args *a, struct rs_cli_input *input)
{
	struct rs_cli_figures figures = {.stat = a->stat,
					 .stacks = a->stacks,
					 .hist = a->hist,
					 .by = a->by,
					 .latency = a->latency,
					 .key = a->key};
	g_autoptr(GString) out = g_string_new(NULL);
	int code, more = RS_CLI_OK;

	input->progress = true;
	code = rs_cli_figures_read(&figures, input);
	if (figures.was_read)
		more = rs_cli_figures_show(&figures, a->json, out);
	if (figures.was_read && !more)
		more = rs_cli_put(out);
	if (figures.of_stacks && !out->len && !code && !more)
		rs_cli_fail(0, "no event came with a call stack: see ringside enable --stack");
	rs_cli_figures_clear(&figures);
	return more ? more : code;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct rs_cli_input input = {0};
	struct args a = {.last = G_MININT64, .jobs = G_MININT64};
	int code;

	if (!parse(verb, &a, &argc, &argv, &code)) {
		argc = 0;
	} else {
		a.has_last = a.last != G_MININT64;
		a.has_jobs = a.jobs != G_MININT64;
		code = check(verb, &a);
	}
	if (argc && !code)
		input.paths = rs_cli_input_paths(verb, argc, argv, &code);
	if (argc && !code)
		code = rs_cli_symbols_take(verb, &a.symbols);
	if (argc && !code)
		code = rs_cli_choice_take(&a.choice, &input.selection);
	if (argc && !code) {
		input.last = a.has_last ? (uint64_t)a.last : 0;
		rs_cli_choice_expect(&a.choice, &input);
		rs_cli_input_expect_pair(&input, a.latency);
		input.symbols = a.symbols.file;
		input.no_symbols = a.symbols.none;
		input.progress = !isatty(STDOUT_FILENO);
		code = is_figures(&a) ? figure(&a, &input) : show(&a, &input);
	}
	rs_cli_choice_clear(&a.choice);
	rs_cli_symbols_clear(&a.symbols);
	rs_printer_style_clear(&a.style);
	g_free(a.hist);
	g_free(a.by);
	g_free(a.latency);
	g_free(a.key);
	return code;
}

const struct rs_verb rs_verb_report = {
	.name = "report",
	.args = "[FILE...]",
	.summary = "show a trace that was recorded",
	.details = "Prints what `ringside record` wrote, as `ringside trace` prints what comes: in "
		   "the order of\ntime, with losses in their place. \"-\" is standard input. "
		   "Several files are shown on one clock.",
	.run = run,
};
