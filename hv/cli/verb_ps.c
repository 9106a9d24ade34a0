/* SPDX-License-Identifier: MIT */
#include "cli/attach_domain.h"
#include "cli/color.h"
#include "cli/remains.h"
#include "cli/table.h"
#include "cli/verb.h"

#include <rs-trace-rundir.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a session may take to connect, and to say what it is. Others are waiting to be shown. */
#define LIMIT_MS 2000

struct shown {
	char *state;
	GPtrArray *sources; /* of RsTraceClientSource */
	bool frozen;
};

/* The sources as the session's file names them. Their texts belong to `entry` and `state`. */
static GPtrArray *sources_of_file(const RsTraceRundirEntry *entry, char *state)
{
	GPtrArray *list = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < entry->sources->len; i++) {
		const RsTraceRundirSource *in_file = entry->sources->pdata[i];
		RsTraceClientSource *source = g_new0(RsTraceClientSource, 1);

		source->name = in_file->name;
		source->kind = in_file->kind;
		source->kernel = in_file->kernel;
		source->state = state;
		source->region = (char *)"";
		g_ptr_array_add(list, source);
	}
	return list;
}

static const char *state_of_file(const RsTraceRundirEntry *entry)
{
	if (entry->live)
		return entry->said ? RS_TRACE_RUNDIR_ENDING : "starting";
	if (!rs_remains_of(entry))
		return "dead";
	return g_strcmp0(entry->said, RS_TRACE_RUNDIR_DETACHED) == 0 ? RS_TRACE_RUNDIR_DETACHED
								     : "lost";
}

/* What the session says about itself. If it does not answer, what its file says. */
static struct shown look(const RsTraceRundirEntry *entry)
{
	g_autoptr(RsDBusSession1) session = NULL;
	g_autoptr(GError) error = NULL;
	struct shown shown = {0};

	/* One that ends has no time to answer, and what it has to print may take long. */
	if (entry->live && g_strcmp0(entry->said, RS_TRACE_RUNDIR_ENDING) != 0)
		session = rs_trace_client_connect_within(entry->name, LIMIT_MS, &error);
	if (session) {
		shown.state = rs_dbus_session1_dup_state(session);
		shown.sources = rs_trace_client_sources(session, &error);
		shown.frozen = shown.sources && rs_cli_is_frozen(session);
	}
	if (g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_SILENT)) {
		g_free(shown.state);
		shown.state = g_strdup("no answer");
	}
	if (!shown.state)
		shown.state = g_strdup(state_of_file(entry));
	if (!shown.sources)
		shown.sources = sources_of_file(entry, shown.state);
	return shown;
}

static void clear(struct shown *shown)
{
	g_clear_pointer(&shown->sources, g_ptr_array_unref);
	g_free(shown->state);
}

static const char *color_of(const char *state)
{
	if (strcmp(state, "running") == 0)
		return RS_COLOR_GOOD;
	if (strcmp(state, "lost") == 0 || strcmp(state, "dead") == 0 ||
	    strcmp(state, "no answer") == 0)
		return RS_COLOR_BAD;
	return RS_COLOR_WARN;
}

static void add_line(struct rs_cli_table *table, const char *name, const char *state,
		     const char *kind, guint32 pid, const char *kernel)
{
	rs_cli_table_add(table, name, NULL);
	rs_cli_table_add(table, state, color_of(state));
	rs_cli_table_add(table, kind, NULL);
	if (pid)
		rs_cli_table_addf(table, "%u", pid);
	else
		rs_cli_table_add(table, "-", NULL);
	rs_cli_table_add(table, kernel, NULL);
}

/* If there is one source, it is in the session's line. Several have a line each below it. */
static void add_session(struct rs_cli_table *table, const RsTraceRundirEntry *entry,
			const struct shown *shown)
{
	const RsTraceClientSource *first = shown->sources->len ? shown->sources->pdata[0] : NULL;
	g_autofree char *many = first ? g_strdup_printf("%u sources", shown->sources->len)
				      : g_strdup("-"); /* it has not told any yet */
	g_autofree char *state = g_strconcat(shown->state, shown->frozen ? ", frozen" : "", NULL);
	bool one = shown->sources->len == 1;

	/* Of one that has gone, another process may have the number by now. */
	add_line(table, entry->name, state, one ? first->kind : "-",
		 entry->live ? (guint32)entry->pid : 0, one ? first->kernel : many);
	for (guint k = 0; !one && k < shown->sources->len; k++) {
		const RsTraceClientSource *source = shown->sources->pdata[k];
		g_autofree char *name = g_strconcat("  ", source->name, NULL);

		add_line(table, name, source->state, source->kind, source->pid, source->kernel);
	}
}

static void print_table(const GPtrArray *list, bool color)
{
	static const char *const heads[] = {"NAME", "STATE", "KIND", ">PID", "KERNEL", NULL};
	g_autoptr(rs_cli_table) table = rs_cli_table_new(heads, color);

	for (guint i = 0; i < list->len; i++) {
		struct shown shown = look(list->pdata[i]);

		add_session(table, list->pdata[i], &shown);
		clear(&shown);
	}
	rs_cli_table_print(table);
}

static void add_text(JsonBuilder *b, const char *name, const char *text)
{
	json_builder_set_member_name(b, name);
	json_builder_add_string_value(b, text);
}

static void add_sources(JsonBuilder *b, const RsTraceRundirEntry *entry, const GPtrArray *sources)
{
	json_builder_set_member_name(b, "sources");
	json_builder_begin_array(b);
	for (guint i = 0; i < sources->len; i++) {
		const RsTraceClientSource *source = sources->pdata[i];

		json_builder_begin_object(b);
		add_text(b, "name", source->name);
		if (source->number)
			rs_cli_add_number(b, "number", source->number);
		add_text(b, "state", source->state);
		add_text(b, "kind", source->kind);
		add_text(b, "kernel", source->kernel);
		json_builder_set_member_name(b, "joined");
		json_builder_add_boolean_value(b, source->joined);
		if (source->pid)
			rs_cli_add_number(b, "pid", source->pid);
		if (*source->region)
			add_text(b, "region", source->region);
		/* Its file has those that it started, in their order. */
		if (!source->joined)
			rs_cli_add_domain(b, entry, source->number ? source->number : i + 1);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
}

static void print_json(const GPtrArray *list)
{
	g_autoptr(JsonBuilder) b = json_builder_new();

	json_builder_begin_array(b);
	for (guint i = 0; i < list->len; i++) {
		const RsTraceRundirEntry *entry = list->pdata[i];
		struct shown shown = look(entry);

		json_builder_begin_object(b);
		add_text(b, "name", entry->name);
		add_text(b, "state", shown.state);
		if (shown.frozen) {
			json_builder_set_member_name(b, "frozen");
			json_builder_add_boolean_value(b, TRUE);
		}
		json_builder_set_member_name(b, "pid");
		json_builder_add_int_value(b, entry->pid);
		json_builder_set_member_name(b, "started");
		json_builder_add_int_value(b, entry->started);
		add_sources(b, entry, shown.sources);
		json_builder_end_object(b);
		clear(&shown);
	}
	json_builder_end_array(b);
	rs_cli_print_json(b);
}

/* Prints what a program needs in RINGSIDE_REGION to join that session. */
static int print_region(const char *name)
{
	g_autoptr(RsDBusSession1) session = NULL;
	g_autoptr(GPtrArray) sources = NULL;
	GError *error = NULL;

	session = rs_trace_client_connect(name, &error);
	sources = session ? rs_trace_client_sources(session, &error) : NULL;
	if (!sources)
		return rs_cli_fail_gerror(error);
	for (guint i = 0; i < sources->len; i++) {
		const RsTraceClientSource *source = sources->pdata[i];

		if (!*source->region)
			continue;
		puts(source->region);
		return RS_CLI_OK;
	}
	return rs_cli_fail(RS_CLI_NOT_FOUND,
			   "'%s' runs no program: programs of this host cannot join it", name);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *region = NULL, *when = NULL;
	bool color;
	gboolean json = FALSE, names = FALSE;
	const GOptionEntry options[] = {
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL},
		{"names", 'q', 0, G_OPTION_ARG_NONE, &names,
		 "Print only the names of those that run", NULL},
		{"region", 0, 0, G_OPTION_ARG_STRING, &region,
		 "Print what RINGSIDE_REGION must be for a program to join that session", "NAME"},
		RS_CLI_COLOR_OPTION(when),
		{0}};
	g_autoptr(GPtrArray) list = NULL;
	GError *error = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "no argument is expected");
	code = rs_cli_color_take(verb, when, STDOUT_FILENO, &color);
	if (code)
		return code;
	if (region)
		return print_region(region);
	list = rs_trace_rundir_list(&error);
	if (!list)
		return rs_cli_fail_gerror(error);
	if (names) {
		for (guint i = 0; i < list->len; i++) {
			const RsTraceRundirEntry *entry = list->pdata[i];

			if (entry->live)
				puts(entry->name);
		}
	} else if (json) {
		print_json(list);
	} else {
		print_table(list, color);
	}
	/* What has died is shown once more, however long it takes to put its programs right. */
	if (!fflush(stdout))
		rs_remains_sweep();
	return RS_CLI_OK;
}

const struct rs_verb rs_verb_ps = {
	.name = "ps",
	.args = "",
	.summary = "list your sessions",
	.details = "STATE is waiting (the guest's agent has not said hello), running, paused or "
		   "ended;\n"
		   "with frozen behind it, nothing is recorded until ringside ring --thaw NAME;\n"
		   "no answer (the session's process is stopped, or busy for long);\n"
		   "starting (it does not listen yet) or ending (it no longer does);\n"
		   "detached (its QEMU guest runs on without it: ringside attach);\n"
		   "lost (the session's process died, its QEMU guest or program may live: ringside "
		   "attach)\n"
		   "or dead (nothing of it lives, and it is not shown again). ringside stop "
		   "removes these\n"
		   "three. A program's text is put right by the next ringside ps or run.",
	.run = run,
};
