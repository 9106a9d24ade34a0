/* SPDX-License-Identifier: MIT */
#include "cli/launch.h"
#include "cli/verb.h"

/* A session that died: ends its QEMU guests, and removes what is left of it. */
static int stop_dead(const RsTraceRundirEntry *old)
{
	struct rs_rundir_claim *claim = NULL;
	struct rs_error err = {0};
	int code = RS_CLI_OK;

	if (rs_rundir_claim(old, &claim, &err))
		return rs_cli_fail_error(&err);
	if (rs_launch_end(old, &err))
		code = rs_cli_fail_error(&err);
	/* What still runs, or is still patched, can be stopped again. */
	rs_rundir_release(claim, code && (rs_launch_lives(old) || rs_launch_owes(old)));
	return code;
}

/* The session of that name, if it died. */
static RsTraceRundirEntry *find_dead(const char *name)
{
	g_autoptr(RsTraceRundirEntry) entry = name ? rs_trace_rundir_find(name, NULL) : NULL;

	return entry && !entry->live ? g_steal_pointer(&entry) : NULL;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"}, {0}};
	g_autoptr(RsDBusSession1) session = NULL;
	g_autoptr(RsTraceRundirEntry) dead = NULL;
	GError *error = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	dead = find_dead(name ? name : argc == 2 ? argv[1] : NULL);
	if (dead)
		return stop_dead(dead);
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
