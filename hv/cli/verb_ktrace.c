/* SPDX-License-Identifier: MIT */
#include "cli/verb.h"

#include <ringside/facility.h>
#include <rs-trace-kdump.h>
#include <stdio.h>
#include <unistd.h>

/* Whose wish it is that the events of ktrace are on: not the host's, which may have its own. */
#define OWNER "ktrace"

#define NOTHING_DONE G_MAXUINT

struct args {
	char *session, *letters, *source;
	gboolean clear, clear_all, descend, inherit, quiet;
	gint64 pid, group;
	guint32 facilities;
};

static bool parse(const struct rs_verb *verb, struct args *a, int *argc, char ***argv, int *code)
{
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &a->session, "The session", "NAME"},
		{"clear-all", 'C', 0, G_OPTION_ARG_NONE, &a->clear_all,
		 "End the tracing of all processes", NULL},
		{"clear", 'c', 0, G_OPTION_ARG_NONE, &a->clear, "End what -t names", NULL},
		{"descend", 'd', 0, G_OPTION_ARG_NONE, &a->descend, "The present descendants, too",
		 NULL},
		{"group", 'g', 0, G_OPTION_ARG_INT64, &a->group, "The processes of this group",
		 "PGID"},
		{"inherit", 'i', 0, G_OPTION_ARG_NONE, &a->inherit, "Future children, too", NULL},
		{"pid", 'p', 0, G_OPTION_ARG_INT64, &a->pid, "The process", "PID"},
		{"points", 't', 0, G_OPTION_ARG_STRING, &a->letters,
		 "What to trace: " RS_TRACE_KDUMP_LETTERS, "LETTERS"},
		{"source", 0, 0, G_OPTION_ARG_STRING, &a->source,
		 "Only in this source of the session", "NAME"},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &a->quiet, "Say nothing on success", NULL},
		{0}};

	return rs_cli_parse(verb, options, argc, argv, code);
}

static bool in_range(gint64 id)
{
	return id >= 1 && id <= G_MAXINT32;
}

/* Returns 0, or RS_CLI_USAGE after a message. */
static int check(const struct rs_verb *verb, struct args *a)
{
	const bool has_pid = a->pid != G_MININT64, has_group = a->group != G_MININT64;
	const char *letters = a->letters ? a->letters : "+";
	guint32 points;
	const char *at = rs_trace_kdump_points(letters, &points);

	if (a->clear && a->clear_all)
		return rs_cli_usage(verb, "-c or -C?");
	if (a->clear_all && (has_pid || has_group || a->letters || a->inherit || a->descend))
		return rs_cli_usage(verb, "-C ends the tracing of all processes, and goes alone");
	if (!a->clear_all && has_pid == has_group)
		return rs_cli_usage(verb, has_pid ? "-p or -g?" : "which process? -p PID");
	if (has_pid && !in_range(a->pid))
		return rs_cli_usage(verb, "-p: a process id, 1 to %d", G_MAXINT32);
	if (has_group && !in_range(a->group))
		return rs_cli_usage(verb, "-g: the id of a group, 1 to %d", G_MAXINT32);
	if (at && !*at)
		return rs_cli_usage(verb, "-t: no letter (" RS_TRACE_KDUMP_LETTERS ")");
	if (at)
		return rs_cli_usage(
			verb, "-t: there is no letter '%c' (" RS_TRACE_KDUMP_LETTERS ")", *at);
	/* To end the tracing of a process as a whole ends that of all its points. */
	a->facilities = a->clear && !a->letters ? RS_KTRFAC_POINTS : points << 1 & RS_KTRFAC_POINTS;
	if (!a->facilities)
		return rs_cli_usage(verb, "-t: no guest writes what '%s' means", letters);
	if (a->inherit)
		a->facilities |= RS_KTRFAC_INHERIT;
	return 0;
}

/* Of the named source, if there is one: what others write stays as it is. */
static char *glob_of(const struct args *a, const char *event)
{
	return a->source ? g_strdup_printf("%s/ktrace:%s", a->source, event)
			 : g_strdup_printf("ktrace:%s", event);
}

/* In whose name: the lasting wish, or one that ends with us. To be freed. */
static char *owner_of(bool lasting)
{
	return lasting ? g_strdup(OWNER) : g_strdup_printf(OWNER "-%d", (int)getpid());
}

static GVariant *owner_options(bool lasting)
{
	g_autofree char *owner = owner_of(lasting);
	GVariantDict dict;

	g_variant_dict_init(&dict, NULL);
	g_variant_dict_insert(&dict, "owner", "s", owner);
	if (!lasting)
		g_variant_dict_insert(&dict, "until-disconnect", "b", TRUE);
	return g_variant_dict_end(&dict);
}

/* An agent has these events if its guest has what writes them. */
static int fail_enable(GError *error)
{
	if (!g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_EVENT))
		return rs_cli_fail_gerror(error);
	g_error_free(error);
	return rs_cli_fail(
		RS_CLI_NOT_FOUND,
		"no guest there writes such records; a Linux guest does with our module, "
		"not with ringside-guest, and another OS with an agent that has ktrace");
}

/* Switches the events on that these facilities write: a facility is its event's keyword. */
static int enable(RsDBusSession1 *session, const struct args *a, bool lasting)
{
	g_autofree char *keyword =
		g_strdup_printf("*@keyword=0x%x", a->facilities & RS_KTRFAC_POINTS);
	g_autofree char *glob = glob_of(a, keyword);
	g_auto(GStrv) problems = NULL;
	GError *error = NULL;

	if (!rs_dbus_session1_call_enable_sync(session, glob, owner_options(lasting), NULL, NULL,
					       &problems, NULL, NULL, &error))
		return fail_enable(error);
	/* Those of the other wish are the same. */
	return lasting && rs_cli_tell_problems(problems) ? RS_CLI_FAILED : RS_CLI_OK;
}

static int disable(RsDBusSession1 *session, const struct args *a, bool lasting)
{
	g_autofree char *glob = glob_of(a, "*");
	g_auto(GStrv) problems = NULL;
	GError *error = NULL;

	if (!rs_dbus_session1_call_disable_sync(session, glob, owner_options(lasting), NULL, NULL,
						&problems, NULL, NULL, &error))
		return rs_cli_fail_gerror(error);
	return rs_cli_tell_problems(problems) ? RS_CLI_FAILED : RS_CLI_OK;
}

/* Asks the guests. False: none did it. *changed: processes; *code: how it went. */
static bool ask(RsDBusSession1 *session, const struct args *a, guint32 source, guint *changed,
		int *code)
{
	const char *operation = a->clear_all ? "clear-all" : a->clear ? "clear" : "set";
	gint64 pid = a->clear_all ? 0 : a->pid != G_MININT64 ? a->pid : -a->group;
	g_autoptr(GVariant) more = NULL;
	g_auto(GStrv) problems = NULL;
	GError *error = NULL;
	GVariantDict options;

	g_variant_dict_init(&options, NULL);
	if (a->descend)
		g_variant_dict_insert(&options, "descend", "b", TRUE);
	if (source)
		g_variant_dict_insert(&options, "source", "u", source);
	if (!rs_dbus_session1_call_ktrace_sync(session, operation, a->facilities, (int)pid,
					       g_variant_dict_end(&options), changed, &more, NULL,
					       &error)) {
		*code = rs_cli_fail_gerror(error);
		return false;
	}
	if (g_variant_lookup(more, "problems", "^as", &problems) && rs_cli_tell_problems(problems))
		*code = RS_CLI_FAILED;
	return true;
}

static const char *what_became(const struct args *a)
{
	if (a->clear_all || a->clear)
		return a->letters ? "traced less" : "traced no more";
	return "traced";
}

/*
 * The events are on before the guest is asked, so that no record of what begins is missed. Until it
 * has done that, the wish for them is one that ends with us.
 */
static int begin(RsDBusSession1 *session, const struct args *a, guint32 source, guint *changed)
{
	int code = enable(session, a, false), events;

	if (code)
		return code;
	if (!ask(session, a, source, changed, &code)) {
		disable(session, a, false);
		return code;
	}
	events = enable(session, a, true);
	disable(session, a, false);
	return code ? code : events;
}

static int ktrace(RsDBusSession1 *session, const struct args *a, guint32 source)
{
	guint changed = NOTHING_DONE;
	int code = RS_CLI_OK, events = RS_CLI_OK;

	if (!a->clear && !a->clear_all)
		code = begin(session, a, source, &changed);
	else if (ask(session, a, source, &changed, &code) && a->clear_all)
		events = disable(session, a, true);
	if (!a->quiet && changed != NOTHING_DONE)
		printf("%u process%s %s\n", changed, changed == 1 ? " is" : "es are",
		       what_became(a));
	return code ? code : events;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	struct args a = {.pid = G_MININT64, .group = G_MININT64};
	g_autoptr(RsDBusSession1) session = NULL;
	guint32 source = 0;
	int code = RS_CLI_OK;

	if (parse(verb, &a, &argc, &argv, &code)) {
		code = check(verb, &a);
		if (!code)
			session = rs_cli_connect(verb, a.session, 0, &argc, argv, &code);
		if (session && argc > 1)
			code = rs_cli_usage(verb, "too many arguments");
		else if (session && a.source)
			code = rs_cli_find_source(session, a.source, &source);
		if (session && !code)
			code = ktrace(session, &a, source);
	}
	g_free(a.session);
	g_free(a.letters);
	g_free(a.source);
	return code;
}

const struct rs_verb rs_verb_ktrace = {
	.name = "ktrace",
	.args = "[NAME] -p PID|-g PGID|-C",
	.summary = "choose the processes that write what kdump shows",
	.details = "As ktrace(1) of OpenBSD. Letters of -t: c calls, i I/O, n names, s signals, t "
		   "structures,\n"
		   "u user data, x and X strings and environment of exec, e emulation, w context "
		   "switches;\n"
		   "+ (the default) all but X. The guest's OS needs a task that takes commands.",
	.run = run,
};
