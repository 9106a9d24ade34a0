/* SPDX-License-Identifier: MIT */
#include "cli/color.h"
#include "cli/list_events.h"
#include "cli/list_kept.h"
#include "cli/list_providers.h"
#include "cli/list_sites.h"
#include "cli/select.h"

#include <rs-trace-escape.h>
#include <rs-trace-rundir.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_table(GVariant *all, GVariant *events, const struct rs_cli_fields *fields,
			bool color)
{
	g_autoptr(rs_cli_table) table = rs_cli_event_table(all, events, fields, color);

	rs_cli_table_print(table);
}

static int list_providers(RsDBusSession1 *session, bool json, bool names)
{
	g_autoptr(GVariant) providers = NULL;
	GError *error = NULL;

	if (!rs_dbus_session1_call_list_providers_sync(session, rs_trace_client_no_options(),
						       &providers, NULL, NULL, &error))
		return rs_cli_fail_gerror(error);
	if (json)
		rs_cli_print_providers_json(providers);
	else if (names)
		rs_cli_print_provider_names(providers);
	else
		rs_cli_print_providers(providers);
	return RS_CLI_OK;
}

static int list_kept(RsDBusSession1 *session, const char *owner, bool json)
{
	g_autoptr(GVariant) kept = NULL;
	GError *error = NULL;

	kept = rs_cli_ask_kept(session, &error);
	if (!kept)
		return rs_cli_fail_gerror(error);
	if (json)
		rs_cli_print_kept_json(kept, owner);
	else
		rs_cli_print_kept_table(kept, owner);
	return RS_CLI_OK;
}

/* Events that match, or all if the glob is empty. */
static GVariant *ask(RsDBusSession1 *session, const char *glob, GVariant **more, GError **error)
{
	GVariant *events = NULL;

	rs_dbus_session1_call_list_sync(session, glob, rs_trace_client_no_options(), &events, more,
					NULL, error);
	return events;
}

static bool runs(const char *name)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(name, NULL);

	return entry && entry->live;
}

/* The glob may have been meant as the name of a session that runs no more. */
static int no_match(RsDBusSession1 *session, GVariant *more, const char *glob)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(glob, NULL);
	const char *name = rs_dbus_session1_get_name(session);

	if (!entry || entry->live)
		return rs_cli_fail(RS_CLI_NOT_FOUND, "no event of session '%s' matches '%s'%s",
				   name, glob, rs_cli_suggestion(more));
	return rs_cli_fail(RS_CLI_NOT_FOUND,
			   "no event of session '%s' matches '%s'; session '%s' has died: see "
			   "ringside ps",
			   name, glob, glob);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL, *owner = NULL, *glob = NULL, *when = NULL;
	g_auto(RsCliSelect) select = {0};
	gboolean json = FALSE, names = FALSE, providers = FALSE, kept = FALSE;
	gboolean sites = FALSE, verbose = FALSE;
	bool color;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL},
		{"owner", 0, 0, G_OPTION_ARG_STRING, &owner,
		 "Only events of which OWNER wants something", "OWNER"},
		RS_CLI_SELECT_OPTIONS(select),
		{"verbose", 'v', 0, G_OPTION_ARG_NONE, &verbose, "Show the fields of each event",
		 NULL},
		RS_CLI_COLOR_OPTION(when),
		{"names", 'q', 0, G_OPTION_ARG_NONE, &names, "Print only system:name", NULL},
		{"kept", 'k', 0, G_OPTION_ARG_NONE, &kept, "List what is kept for events that come",
		 NULL},
		{"providers", 'p', 0, G_OPTION_ARG_NONE, &providers,
		 "List providers, the images that events are part of", NULL},
		{"sites", 't', 0, G_OPTION_ARG_NONE, &sites,
		 "List the sites of events, where the host patches the guest's text", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	g_autoptr(rs_cli_fields) fields = NULL;
	g_autoptr(GVariant) all = NULL, events = NULL, more = NULL, unmet = NULL;
	GError *error = NULL;
	int code, needed;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	code = rs_cli_select_check(verb, &select);
	if (code == RS_CLI_OK)
		code = rs_cli_color_take(verb, when, STDOUT_FILENO, &color);
	if (code != RS_CLI_OK)
		return code;
	code = rs_cli_check_name(verb, name, 1, argc, argv);
	if (code)
		return code;
	/* A single argument is a session's name if such a session runs, else a glob. */
	needed = argc == 2 && !name && runs(argv[1]) ? 0 : 1;
	session = rs_cli_connect(verb, name, needed, &argc, argv, &code);
	if (!session)
		return code;
	if (providers && (argc > 1 || owner || rs_cli_select_any(&select)))
		return rs_cli_usage(verb,
				    "--providers lists all, whoever wants which of their events");
	if (kept && (argc > 1 || names || providers || rs_cli_select_any(&select)))
		return rs_cli_usage(verb, "--kept lists all of it, or that of --owner");
	if (verbose && (names || providers || kept || sites))
		return rs_cli_usage(verb, "-v shows the fields of events");
	if (sites && (names || owner || providers || kept))
		return rs_cli_usage(verb, "--sites lists sites of events that match");
	if (providers)
		return list_providers(session, json, names);
	if (kept)
		return list_kept(session, owner, json);
	if (argc == 2 || rs_cli_select_any(&select)) {
		g_auto(GStrv) globs = rs_cli_select_globs(&select, argc == 2 ? argv[1] : "*");

		glob = g_strjoinv(",", globs);
	} else {
		glob = g_strdup("");
	}
	all = ask(session, "", NULL, &error);
	if (all)
		events = *glob ? ask(session, glob, &more, &error) : g_variant_ref(all);
	if (!events)
		return rs_cli_fail_gerror(error);
	/* A session that is older than we are has no such list. */
	unmet = json || names ? NULL : rs_cli_ask_kept(session, NULL);
	if (*glob && !g_variant_n_children(events) &&
	    !(unmet && rs_cli_print_unmet(unmet, owner, glob, false)))
		return no_match(session, more, glob);
	if (sites)
		return rs_cli_list_sites(session, glob, json);
	if (owner)
		events = rs_cli_events_of(events, owner);
	if (verbose)
		fields = rs_cli_fields_read(session);
	if (json)
		rs_cli_print_events_json(events, fields);
	else if (names)
		rs_cli_print_event_names(all, events);
	else
		print_table(all, events, fields, color);
	if (unmet)
		rs_cli_print_unmet(unmet, owner, glob, true);
	/* What is frozen stands in the table. */
	if (!json && !names && rs_cli_is_paused(session))
		rs_cli_tell_paused(rs_dbus_session1_get_name(session));
	return RS_CLI_OK;
}

const struct rs_verb rs_verb_list = {
	.name = "list",
	.args = "[NAME] [GLOB]",
	.summary = "list a guest's events",
	.details = "GLOB is system:name with * ? [a-c] [!a]; without a colon it may match either.",
	.run = run,
};
