/* SPDX-License-Identifier: MIT */
#include "cli/verb.h"

static void tell_running(GVariant *more)
{
	g_autofree const char **names = NULL;
	g_autofree char *list = NULL;

	if (!g_variant_lookup(more, "running", "^a&s", &names))
		return;
	list = g_strjoinv(", ", (char **)names);
	rs_cli_fail(0, "%s %s on, since a process that joined cannot be paused", list,
		    names[1] ? "run" : "runs");
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"}, {0}};
	g_autoptr(RsDBusSession1) session = NULL;
	g_autoptr(GVariant) more = NULL;
	GError *error = NULL;
	gboolean done;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	session = rs_cli_connect(verb, name, 0, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "too many arguments");
	done = verb == &rs_verb_pause
		       ? rs_dbus_session1_call_pause_sync(session, rs_trace_client_no_options(),
							  &more, NULL, &error)
		       : rs_dbus_session1_call_resume_sync(session, rs_trace_client_no_options(),
							   NULL, NULL, &error);
	if (!done)
		return rs_cli_fail_gerror(error);
	if (more)
		tell_running(more);
	return RS_CLI_OK;
}

const struct rs_verb rs_verb_pause = {
	.name = "pause",
	.args = "[NAME]",
	.summary = "stop the guest's CPUs for a while",
	.run = run,
};

const struct rs_verb rs_verb_resume = {
	.name = "resume",
	.args = "[NAME]",
	.summary = "let a paused guest go on",
	.run = run,
};
