/* SPDX-License-Identifier: MIT */
#include "cli/launch.h"
#include "cli/run_recording_options.h"
#include "cli/runner.h"
#include "cli/verb.h"

static int attach(const char *name, const struct rs_runner_config *runner)
{
	g_autoptr(GPtrArray) lines = NULL;
	g_autoptr(RsTraceRundirEntry) old = NULL;
	struct rs_rundir_claim *claim = NULL;
	struct rs_session *session;
	struct rs_error err = {0};
	GError *error = NULL;
	bool owes;
	int code;

	old = rs_trace_rundir_find(name, &error);
	if (!old)
		return rs_cli_fail_gerror(error);
	if (rs_rundir_claim(old, &claim, &err))
		return rs_cli_fail_error(&err);
	code = rs_launch_attach(old, &session, &lines, &err);
	for (guint i = 0; i < lines->len; i++)
		rs_cli_fail(0, "%s", (const char *)lines->pdata[i]);
	if (code)
		code = rs_cli_fail_error(&err);
	else
		code = rs_runner_run(session, runner);
	owes = rs_launch_owes(old);
	if (owes)
		rs_cli_fail(0,
			    "text of a program of '%s' is still patched: 'ringside attach %s' "
			    "tries again",
			    name, name);
	/* Keep the file of a guest that goes on, so that it can be attached again. */
	rs_rundir_release(claim, owes || rs_launch_lives(old));
	return code;
}

struct options {
	struct rs_runner_config runner;
	struct rs_run_recording_options to;
	struct rs_run_recording_config record;
	RsCliSymbols symbols;
	gint64 count;
	struct rs_printer_style style;
	gboolean json, quiet, fresh;
};

static int check(const struct rs_verb *verb, struct options *o)
{
	struct rs_runner_config *runner = &o->runner;
	int code = rs_cli_check_limits(verb, o->count, runner->duration);

	runner->json = o->json;
	runner->style = o->style;
	runner->quiet = o->quiet;
	runner->count = (uint64_t)MAX(o->count, 0);
	runner->from = o->fresh ? RS_TRACE_FROM_NOW : RS_TRACE_FROM_OLDEST;
	runner->output = o->to.text;
	runner->symbols = o->record.symbols = &o->symbols;
	runner->record = o->to.output ? &o->record : NULL;
	if (!code)
		code = rs_run_recording_options_check(verb, &o->to, o->quiet, &o->record);
	return code ? code : rs_cli_symbols_take(verb, &o->symbols);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct options o = {.runner.detach = true};
	struct rs_runner_config *runner = &o.runner;
	const GOptionEntry options[] = {
		{"enable", 'e', 0, G_OPTION_ARG_STRING_ARRAY, &runner->enable,
		 "Enable these events", "GLOB"},
		{"filter", 'f', 0, G_OPTION_ARG_STRING_ARRAY, &runner->filters,
		 "Filter these events", "'GLOB: EXPR'"},
		RS_CLI_SYMBOLS_FILE(o.symbols),
		RS_CLI_SYMBOLS_NONE(o.symbols),
		RS_RUN_RECORDING_OPTIONS(o.to),
		{"json", 'j', 0, G_OPTION_ARG_NONE, &o.json, "One JSON object a line", NULL},
		RS_PRINTER_STYLE_OPTIONS(o.style),
		{"count", 'n', 0, G_OPTION_ARG_INT64, &o.count,
		 "End after so many events (0: no limit)", "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &runner->duration,
		 "End after so many seconds (0: no limit)", "SECONDS"},
		{"new", 0, 0, G_OPTION_ARG_NONE, &o.fresh,
		 "Only what comes from now on, not what the rings hold", NULL},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &o.quiet, "Print no trace and no summary",
		 NULL},
		{0}};
	int code;

	if (rs_cli_parse(verb, options, &argc, &argv, &code)) {
		code = check(verb, &o);
		if (!code && argc != 2)
			code = rs_cli_usage(verb, "which session? See ringside ps");
		if (!code)
			code = attach(argv[1], runner);
	}
	g_strfreev(runner->enable);
	g_strfreev(runner->filters);
	rs_run_recording_options_clear(&o.to);
	rs_cli_symbols_clear(&o.symbols);
	return code;
}

const struct rs_verb rs_verb_attach = {
	.name = "attach",
	.args = "NAME",
	.summary = "take up QEMU guests whose session died",
	.details =
		"Puts the guests' text right by the journals that were left, then traces as `run` "
		"does. The\n"
		"records that the dead session left in the rings come first, and --count counts "
		"them; --new\n"
		"leaves them out. Ctrl-C detaches: the guest runs on, restored, and can be "
		"attached "
		"again.",
	.run = run,
};
