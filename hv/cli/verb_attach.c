/* SPDX-License-Identifier: MIT */
#include "cli/launch.h"
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

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct rs_runner_config runner = {.detach = true};
	gboolean json = FALSE, bare = FALSE, quiet = FALSE, fresh = FALSE;
	gint64 count = 0;
	const GOptionEntry options[] = {
		{"enable", 'e', 0, G_OPTION_ARG_STRING_ARRAY, &runner.enable, "Enable these events",
		 "GLOB"},
		{"filter", 'f', 0, G_OPTION_ARG_STRING_ARRAY, &runner.filters,
		 "Filter these events", "'GLOB: EXPR'"},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "One JSON object a line", NULL},
		{"short", 0, 0, G_OPTION_ARG_NONE, &bare,
		 "Events without their system: switch in place of sched:switch", NULL},
		{"count", 'n', 0, G_OPTION_ARG_INT64, &count,
		 "End after so many events (0: no limit)", "N"},
		{"duration", 0, 0, G_OPTION_ARG_DOUBLE, &runner.duration,
		 "End after so many seconds (0: no limit)", "SECONDS"},
		{"new", 0, 0, G_OPTION_ARG_NONE, &fresh,
		 "Only what comes from now on, not what the rings hold", NULL},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "Print no trace and no summary", NULL},
		{0}};
	int code;

	if (rs_cli_parse(verb, options, &argc, &argv, &code)) {
		runner.json = json;
		runner.short_names = bare;
		runner.quiet = quiet;
		runner.count = (uint64_t)MAX(count, 0);
		runner.from = fresh ? RS_TRACE_FROM_NOW : RS_TRACE_FROM_OLDEST;
		code = rs_cli_check_limits(verb, count, runner.duration);
		if (!code && argc != 2)
			code = rs_cli_usage(verb, "which session? See ringside ps");
		if (!code)
			code = attach(argv[1], &runner);
	}
	g_strfreev(runner.enable);
	g_strfreev(runner.filters);
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
