/* SPDX-License-Identifier: MIT */
#include "cli/verb.h"

#include <rs-trace-escape.h>
#include <stdio.h>

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL, *text = NULL, *shown = NULL;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"}, {0}};
	g_autoptr(RsDBusSession1) session = NULL;
	GError *error = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (argc < 2 || argc > 3)
		return rs_cli_usage(verb, "which event?");
	session = rs_cli_connect(verb, name, 1, &argc, argv, &code);
	if (!session)
		return code;
	if (argc != 2)
		return rs_cli_usage(verb, "one glob, please");
	if (!rs_dbus_session1_call_format_sync(session, argv[1], rs_trace_client_no_options(),
					       &text, NULL, NULL, &error))
		return rs_cli_fail_gerror(error);
	/* Only tabs and newlines of a format file are control bytes that belong there. */
	shown = rs_trace_escape(text, -1, "\n\t");
	fputs(shown, stdout);
	return RS_CLI_OK;
}

const struct rs_verb rs_verb_format = {
	.name = "format",
	.args = "[NAME] GLOB",
	.summary = "show events as Linux format files",
	.run = run,
};
