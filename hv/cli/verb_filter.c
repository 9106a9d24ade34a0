/* SPDX-License-Identifier: MIT */
#include "cli/verb.h"

#include "session/session.h"

#include <stdio.h>

/* What has come of all filters so far. */
struct outcome {
	bool part, frozen;
};

static int clear(RsDBusSession1 *session, const char *owner, const char *glob, bool quiet,
		 struct outcome *outcome)
{
	g_autoptr(GVariant) more = NULL;
	g_auto(GStrv) problems = NULL;
	GError *error = NULL;
	guint touched;

	if (!rs_dbus_session1_call_clear_filter_sync(session, glob, rs_cli_owner_options(owner),
						     &touched, NULL, &problems, &more, NULL,
						     &error))
		return rs_cli_fail_gerror(error);
	if (!quiet)
		printf("%s: no filter on %u event%s\n", glob, touched, touched == 1 ? "" : "s");
	outcome->part |= rs_cli_tell_problems(problems);
	outcome->frozen |= rs_cli_says_frozen(more);
	return RS_CLI_OK;
}

static int set(RsDBusSession1 *session, const char *owner, const char *text, bool ahead, bool quiet,
	       struct outcome *outcome)
{
	g_autoptr(GVariant) more = NULL;
	g_autofree char *glob = NULL, *expression = NULL;
	g_auto(GStrv) problems = NULL;
	struct rs_error err = {0};
	GError *error = NULL;
	guint touched, unfiltered = 0;
	gboolean pending;

	if (rs_session_split_filter(text, &glob, &expression, &err))
		return rs_cli_fail_error(&err);
	if (!*expression)
		return clear(session, owner, glob, quiet, outcome);
	if (!rs_dbus_session1_call_set_filter_sync(session, glob, expression,
						   rs_cli_wish_options(owner, ahead), &touched,
						   &pending, &problems, &more, NULL, &error))
		return rs_cli_fail_wish(error);
	if (!quiet)
		rs_cli_tell_doubt(expression);
	if (!quiet && pending) {
		rs_cli_print_pending(glob, ahead);
	} else if (!quiet) {
		g_variant_lookup(more, "unfiltered", "u", &unfiltered);
		touched -= MIN(touched, unfiltered);
		printf("%s: filter set on %u event%s", glob, touched, touched == 1 ? "" : "s");
		if (unfiltered)
			printf("; %u without its fields %s no filter", unfiltered,
			       unfiltered == 1 ? "has" : "have");
		rs_cli_print_kept(more, "is recorded without one for",
				  "are recorded without one for",
				  "will be recorded without one for");
		printf("\n");
	}
	outcome->part |= rs_cli_tell_problems(problems);
	outcome->frozen |= rs_cli_says_frozen(more);
	return RS_CLI_OK;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL, *owner = NULL;
	gboolean ahead = FALSE, quiet = FALSE, clearing = FALSE;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"ahead", 'a', 0, G_OPTION_ARG_NONE, &ahead, "Also if no event matches yet", NULL},
		{"clear", 'c', 0, G_OPTION_ARG_NONE, &clearing,
		 "Arguments are globs: remove their filters", NULL},
		{"owner", 0, 0, G_OPTION_ARG_STRING, &owner, "For whom, if not for the host",
		 "OWNER"},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "Say nothing on success", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	int code = RS_CLI_OK;
	struct outcome outcome = {0};

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (argc < 2)
		return rs_cli_usage(verb, "which filter?");
	session = rs_cli_connect_for(verb, name, ahead, &argc, argv, &code);
	for (int i = 1; session && i < argc && code == RS_CLI_OK; i++)
		code = clearing ? clear(session, owner, argv[i], quiet, &outcome)
				: set(session, owner, argv[i], ahead, quiet, &outcome);
	if (outcome.frozen && !quiet)
		rs_cli_tell_frozen(rs_dbus_session1_get_name(session));
	return code == RS_CLI_OK && outcome.part ? RS_CLI_FAILED : code;
}

const struct rs_verb rs_verb_filter = {
	.name = "filter",
	.args = "[NAME] 'GLOB: EXPRESSION'…",
	.summary = "set or clear the filters of events",
	.details =
		"EXPRESSION compares fields: == != < <= > >= & ~ (glob), joined by && || ! ( ). A "
		"field alone\n"
		"is true if it is not 0. COMM, PID, TGID and CPU name the task and the CPU, "
		"CPUS{0-2} some CPUs.\n"
		"'GLOB: 0' and 'GLOB:' clear. A term whose field an event lacks is left out there, "
		"and an event\n"
		"that lacks all of them is not filtered. A field that no event has, or a value "
		"that "
		"does not\n"
		"suit one of them, is an error, and then nothing changes.",
	.run = run,
};
