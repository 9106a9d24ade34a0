/* SPDX-License-Identifier: MIT */
#include "cli/input.h"
#include "cli/list_rows.h"
#include "cli/trigger_add.h"
#include "cli/verb.h"

#include <inttypes.h>
#include <rs-trace-escape.h>
#include <rs-trace-rundir.h>
#include <stdio.h>
#include <string.h>

struct row {
	const char *glob, *problem;
	const char *filter; /* NULL: none */
	char *event;        /* with the expression, of the row's own as the next */
	char **actions;
	guint32 number, count;
	guint64 fired, hits;
	gboolean spent;
};

static const struct rs_cli_key keys[] = {
	{"number", "u", offsetof(struct row, number)},
	{"glob", "&s", offsetof(struct row, glob)},
	{"filter", "&s", offsetof(struct row, filter)},
	{"actions", "^a&s", offsetof(struct row, actions)},
	{"count", "u", offsetof(struct row, count)},
	{"fired", "t", offsetof(struct row, fired)},
	{"hits", "t", offsetof(struct row, hits)},
	{"spent", "b", offsetof(struct row, spent)},
	{"problem", "&s", offsetof(struct row, problem)},
};

static struct row read_row(GVariant *trigger)
{
	struct row row = {.glob = "", .problem = ""};

	rs_cli_read_row(trigger, keys, G_N_ELEMENTS(keys), &row);
	row.event = row.filter ? g_strconcat(row.glob, ": ", row.filter, NULL) : g_strdup(row.glob);
	if (!row.actions)
		row.actions = g_new0(char *, 1);
	return row;
}

static void clear_row(const struct row *row)
{
	g_free(row->event);
	g_free(row->actions);
}

/* ---- list ---- */

static void print_row(GVariant *trigger)
{
	const struct row row = read_row(trigger);
	g_autofree char *actions = g_strjoinv("; ", row.actions);
	g_autofree char *event = rs_trace_escape(row.event, -1, NULL);
	g_autofree char *what = rs_trace_escape(actions, -1, NULL);
	g_autofree char *problem = rs_trace_escape(row.problem, -1, NULL);
	g_autofree char *most = row.count ? g_strdup_printf("/%u", row.count) : g_strdup("");
	g_autofree char *fired = g_strdup_printf("%" PRIu64 "%s", (uint64_t)row.fired, most);

	printf("%4u %-6s %9s %9" PRIu64 "  %s @ %s%s%s\n", row.number,
	       row.spent ? "spent" : "armed", fired, (uint64_t)row.hits, what, event,
	       *problem ? "  ! " : "", problem);
	clear_row(&row);
}

static void add_row(JsonBuilder *b, GVariant *trigger, guint64 lost)
{
	const struct row row = read_row(trigger);

	json_builder_begin_object(b);
	rs_cli_add_number(b, "number", row.number);
	rs_cli_add_text(b, "event", row.event);
	json_builder_set_member_name(b, "actions");
	json_builder_begin_array(b);
	for (char **action = row.actions; *action; action++)
		json_builder_add_string_value(b, *action);
	json_builder_end_array(b);
	rs_cli_add_number(b, "count", row.count);
	rs_cli_add_number(b, "fired", row.fired);
	rs_cli_add_number(b, "hits", row.hits);
	json_builder_set_member_name(b, "spent");
	json_builder_add_boolean_value(b, row.spent);
	rs_cli_add_text(b, "problem", row.problem);
	rs_cli_add_number(b, "lost", lost);
	json_builder_end_object(b);
	clear_row(&row);
}

/* `more` may be NULL. */
static GVariant *ask_list(RsDBusSession1 *session, GVariant **more, int *code)
{
	GVariant *triggers = NULL;
	GError *error = NULL;

	if (!rs_dbus_session1_call_list_triggers_sync(session, rs_trace_client_no_options(),
						      &triggers, more, NULL, &error))
		*code = rs_cli_fail_gerror(error);
	return triggers;
}

static int list(RsDBusSession1 *session, bool json)
{
	g_autoptr(JsonBuilder) b = json_builder_new();
	int code = RS_CLI_OK;
	g_autoptr(GVariant) more = NULL;
	g_autoptr(GVariant) triggers = ask_list(session, &more, &code);
	const gsize n = triggers ? g_variant_n_children(triggers) : 0;
	guint64 lost = 0;

	if (!triggers)
		return code;
	g_variant_lookup(more, "lost", "t", &lost);
	if (!json && n)
		printf("%4s %-6s %9s %9s  %s\n", "ID", "STATE", "FIRED", "HITS", "DO @ EVENT");
	json_builder_begin_array(b);
	for (gsize i = 0; i < n; i++) {
		g_autoptr(GVariant) trigger = g_variant_get_child_value(triggers, i);

		if (json)
			add_row(b, trigger, lost);
		else
			print_row(trigger);
	}
	json_builder_end_array(b);
	if (json)
		rs_cli_print_json(b);
	else if (lost)
		printf("%" PRIu64 " events were lost before they could be looked at\n",
		       (uint64_t)lost);
	if (!json)
		rs_cli_tell_still(session);
	return RS_CLI_OK;
}

/* ---- remove ---- */

/* By its number, its event with or without the expression, or "all". */
static bool is_meant(const struct row *row, const char *what)
{
	g_autofree char *number = g_strdup_printf("%u", row->number);

	return g_str_equal(what, "all") || g_str_equal(what, number) ||
	       g_str_equal(what, row->event) || g_str_equal(what, row->glob);
}

static int remove_some(RsDBusSession1 *session, const char *what)
{
	int code = RS_CLI_OK;
	g_autoptr(GVariant) triggers = ask_list(session, NULL, &code);
	const gsize n = triggers ? g_variant_n_children(triggers) : 0;
	guint removed = 0;

	for (gsize i = 0; i < n && code == RS_CLI_OK; i++) {
		g_autoptr(GVariant) trigger = g_variant_get_child_value(triggers, i);
		const struct row row = read_row(trigger);
		GError *error = NULL;

		removed += is_meant(&row, what);
		if (is_meant(&row, what) &&
		    !rs_dbus_session1_call_remove_trigger_sync(
			    session, row.number, rs_trace_client_no_options(), NULL, NULL, &error))
			code = rs_cli_fail_gerror(error);
		clear_row(&row);
	}
	if (code == RS_CLI_OK && !removed && !g_str_equal(what, "all"))
		code = rs_cli_fail(RS_CLI_NOT_FOUND, "there is no trigger '%s'", what);
	return code;
}

/* ---- add ---- */

static int add(RsDBusSession1 *session, const struct rs_trigger_text *text, bool ahead, bool quiet)
{
	GError *error = NULL;
	bool part = false;
	guint32 number = rs_cli_add_trigger(session, text, ahead, &part, &error);

	if (!number)
		return rs_cli_fail_wish(error);
	if (!quiet) {
		printf("trigger %u\n", number);
		rs_cli_tell_still(session);
	}
	return part ? RS_CLI_FAILED : RS_CLI_OK;
}

static int add_on(RsDBusSession1 *session, const char *event, char **actions, gint count,
		  bool ahead, bool quiet)
{
	struct rs_trigger_text *text;
	struct rs_error err = {0};
	int code;

	if (rs_trigger_text_new_on(event, (const char *const *)actions, (uint64_t)count, &text,
				   &err))
		return rs_cli_fail_error(&err);
	code = add(session, text, ahead, quiet);
	rs_trigger_text_free(text);
	return code;
}

/* ---- the verb ---- */

static int check(const struct rs_verb *verb, const char *name, char **actions, char **removed,
		 gint count, int argc, char **argv)
{
	g_autoptr(RsTraceRundirEntry) entry = NULL;

	if (actions && removed)
		return rs_cli_usage(verb, "--do and --remove do not go together");
	if (count < 0)
		return rs_cli_usage(verb, "--count: 1 or more (0: no limit)");
	if (actions && argc < 2)
		return rs_cli_usage(verb, "which event?");
	if (actions || removed || argc < 2)
		return rs_cli_check_name(verb, name, actions ? 1 : 0, argc, argv);
	entry = rs_trace_rundir_find(argv[argc - 1], NULL);
	/* An event, behind a name or alone. */
	if (!entry && (argc > 2 || strpbrk(argv[1], ":*?,@!")))
		return rs_cli_usage(verb, "what is to be done then? --do pause …");
	return rs_cli_check_name(verb, name, 0, argc, argv);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL;
	g_auto(GStrv) actions = NULL, removed = NULL;
	gboolean ahead = FALSE, json = FALSE, quiet = FALSE;
	gint count = 0;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"do", 'd', 0, G_OPTION_ARG_STRING_ARRAY, &actions,
		 "What is done when the event comes; several in their order", "ACTION"},
		{"count", 'n', 0, G_OPTION_ARG_INT, &count,
		 "So often at most (0: no limit; 16 with snapshots)", "N"},
		{"ahead", 'a', 0, G_OPTION_ARG_NONE, &ahead, "Also if no event matches yet", NULL},
		{"remove", 'r', 0, G_OPTION_ARG_STRING_ARRAY, &removed,
		 "Remove this one, those of this event, or all", "ID|EVENT|all"},
		{"quiet", 'q', 0, G_OPTION_ARG_NONE, &quiet, "Print no number", NULL},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	code = check(verb, name, actions, removed, count, argc, argv);
	if (code)
		return code;
	session = rs_cli_connect(verb, name, actions ? 1 : 0, &argc, argv, &code);
	if (!session)
		return code;
	for (char **what = removed; what && *what && code == RS_CLI_OK; what++)
		code = remove_some(session, *what);
	if (removed)
		return code;
	return actions ? add_on(session, argv[1], actions, count, ahead, quiet)
		       : list(session, json);
}

const struct rs_verb rs_verb_trigger = {
	.name = "trigger",
	.args = "[NAME] ['EVENT[: EXPR]' --do ACTION…]",
	.summary = "do something when an event comes",
	.details =
		"Actions:\n"
		"  pause            the guest's CPUs stand still\n"
		"  freeze           nothing is recorded any more: the rings keep what they hold\n"
		"  snapshot[=FILE]  what the rings hold goes to FILE.0001, … (" RS_CLI_TRACE ")\n"
		"  stack[=FRAMES]   the session shows the event and who called it (16)\n"
		"  enable=GLOB      events go on\n"
		"  disable=GLOB     events go off\n"
		"Without an event, lists the triggers. The session sees an event some ms after it: "
		"the guest\n"
		"has run on by then.",
	.run = run,
};
