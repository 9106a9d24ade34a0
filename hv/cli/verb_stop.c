/* SPDX-License-Identifier: MIT */
#include "cli/remains.h"
#include "cli/verb.h"

#include <errno.h>
#include <signal.h>

/* What a session may take for the rest of its output and for the end of its guests. */
#define END_US (10 * G_USEC_PER_SEC)
#define LOOK_US 10000

/* Until its name is free, or has been taken by the next one. */
static int await_end(const RsTraceRundirEntry *ours)
{
	const gint64 until = g_get_monotonic_time() + END_US;

	while (g_get_monotonic_time() < until) {
		g_autoptr(RsTraceRundirEntry) now = rs_trace_rundir_find(ours->name, NULL);

		if (!now || !now->live || now->pid != ours->pid)
			return RS_CLI_OK;
		g_usleep(LOOK_US);
	}
	return rs_cli_fail(RS_CLI_FAILED,
			   "session '%s' still ends: perhaps nobody reads what it prints",
			   ours->name);
}

static bool is_program(const GPtrArray *sources, guint32 number)
{
	for (guint i = 0; i < sources->len; i++) {
		const RsTraceClientSource *source = sources->pdata[i];

		if (source->number == number)
			return g_str_equal(source->kind, "hosted");
	}
	return false;
}

/*
 * Processes that joined a program of the session, and that have not ended with it, as far as their
 * ids are true. Those inside a guest do end with it.
 */
static void tell_running(const GPtrArray *sources)
{
	g_autoptr(GString) names = g_string_new(NULL);
	guint n = 0;

	for (guint i = 0; i < sources->len; i++) {
		const RsTraceClientSource *source = sources->pdata[i];

		if (!source->joined || !source->pid || *source->end ||
		    !is_program(sources, source->machine) ||
		    (kill((pid_t)source->pid, 0) && errno != EPERM))
			continue;
		g_string_append_printf(names, "%s%s (%u)", n++ ? ", " : "", source->name,
				       source->pid);
	}
	if (n)
		rs_cli_fail(0, "%s %s on, since the session did not start %s", names->str,
			    n > 1 ? "run" : "runs", n > 1 ? "them" : "it");
}

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
	g_autoptr(RsTraceRundirEntry) named = NULL, ours = NULL;
	g_autoptr(GPtrArray) sources = NULL;
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
	ours = rs_trace_rundir_find(rs_dbus_session1_get_name(session), NULL);
	sources = rs_trace_client_sources(session, NULL);
	if (!rs_dbus_session1_call_stop_sync(session, "ringside stop", rs_trace_client_no_options(),
					     NULL, NULL, &error))
		return rs_cli_fail_gerror(error);
	/* A session that ends need not wait for us. */
	g_clear_object(&session);
	code = ours ? await_end(ours) : RS_CLI_OK;
	if (sources)
		tell_running(sources);
	return code;
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
