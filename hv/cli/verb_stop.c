/* SPDX-License-Identifier: MIT */
#include "cli/remains.h"
#include "cli/verb.h"

/* A session that died: ends its QEMU guests, and removes what is left of it. */
static int stop_dead(const RsTraceRundirEntry *old)
{
	struct rs_rundir_claim *claim = NULL;
	struct rs_error err = {0};
	int code = RS_CLI_OK;

	if (rs_rundir_claim(old, &claim, &err))
		return rs_cli_fail_error(&err);
	if (rs_remains_end(old, &err))
		code = rs_cli_fail_error(&err);
	/* What still runs, or is still patched, can be stopped again. */
	rs_remains_release(claim, false);
	return code;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"}, {0}};
	g_autoptr(RsDBusSession1) session = NULL;
	g_autoptr(RsTraceRundirEntry) named = NULL;
	GError *error = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (name || argc == 2)
		named = rs_trace_rundir_find(name ? name : argv[1], NULL);
	if (named && !named->live)
		return stop_dead(named);
	session = rs_cli_connect(verb, name, 0, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "too many arguments");
	if (!rs_dbus_session1_call_stop_sync(session, "ringside stop", rs_trace_client_no_options(),
					     NULL, NULL, &error))
		return rs_cli_fail_gerror(error);
	return RS_CLI_OK;
}

const struct rs_verb rs_verb_stop = {
	.name = "stop",
	.args = "[NAME]",
	.summary = "end a session, and its guest if it started that",
	.details =
		"A guest that was attached, such as a domain of libvirt, runs on. Also ends a "
		"QEMU guest\n"
		"whose session died, or was detached, by its name. A dead session is removed from "
		"the\n"
		"list of ringside ps.",
	.run = run,
};
