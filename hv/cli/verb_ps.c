/* SPDX-License-Identifier: MIT */
#include "cli/verb.h"

#include <rs-trace-escape.h>
#include <rs-trace-rundir.h>
#include <stdio.h>

/* What a session may take to connect, and to say what it is. Others are waiting to be shown. */
#define LIMIT_MS 2000

struct shown {
	char *state;
	GPtrArray *sources; /* of RsTraceClientSource; NULL: not known */
};

/* What the session says about itself. If it does not answer, what its file says. */
static struct shown look(const RsTraceRundirEntry *entry)
{
	g_autoptr(RsDBusSession1) session = NULL;
	g_autoptr(GError) error = NULL;
	struct shown shown = {0};

	if (entry->live)
		session = rs_trace_client_connect_within(entry->name, LIMIT_MS, &error);
	if (session) {
		shown.state = rs_dbus_session1_dup_state(session);
		shown.sources = rs_trace_client_sources(session, &error);
	}
	if (g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_SILENT)) {
		g_free(shown.state);
		shown.state = g_strdup("no answer");
	}
	if (!shown.state)
		shown.state = g_strdup(entry->live                         ? "starting"
				       : rs_trace_rundir_entry_lost(entry) ? "lost"
									   : "dead");
	return shown;
}

/* The session's line shows its first source. If there are several, each has a line below it. */
static const RsTraceRundirSource *first(const RsTraceRundirEntry *entry)
{
	static const RsTraceRundirSource none = {(char *)"", (char *)"", (char *)"",
						 NULL,       NULL,       NULL};
	const RsTraceRundirSource *source = rs_trace_rundir_entry_source(entry, 1);

	return source ? source : &none;
}

static void clear(struct shown *shown)
{
	g_free(shown->state);
	g_clear_pointer(&shown->sources, g_ptr_array_unref);
}

static void print_line(const char *name, const char *state, const char *kind, guint32 pid,
		       const char *kernel)
{
	g_autofree char *shown_kernel = rs_trace_escape(kernel, -1, NULL);
	g_autofree char *shown_kind = rs_trace_escape(kind, -1, NULL);
	g_autofree char *shown_name = rs_trace_escape(name, -1, NULL);
	g_autofree char *number = pid ? g_strdup_printf("%u", pid) : g_strdup("-");

	printf("%-16s %-9s %-10s %8s  %s\n", shown_name, state, shown_kind, number, shown_kernel);
}

static void print_table(const GPtrArray *list)
{
	printf("%-16s %-9s %-10s %8s  %s\n", "NAME", "STATE", "KIND", "PID", "KERNEL");
	for (guint i = 0; i < list->len; i++) {
		const RsTraceRundirEntry *entry = list->pdata[i];
		struct shown shown = look(entry);

		print_line(entry->name, shown.state, first(entry)->kind, (guint32)entry->pid,
			   first(entry)->kernel);
		for (guint k = 0; shown.sources && shown.sources->len > 1 && k < shown.sources->len;
		     k++) {
			const RsTraceClientSource *source = shown.sources->pdata[k];
			g_autofree char *name = g_strconcat("  ", source->name, NULL);

			print_line(name, source->state, source->kind, source->pid, source->kernel);
		}
		clear(&shown);
	}
}

static void add_text(JsonBuilder *b, const char *name, const char *text)
{
	json_builder_set_member_name(b, name);
	json_builder_add_string_value(b, text);
}

static void add_sources(JsonBuilder *b, const GPtrArray *sources)
{
	json_builder_set_member_name(b, "sources");
	json_builder_begin_array(b);
	for (guint i = 0; sources && i < sources->len; i++) {
		const RsTraceClientSource *source = sources->pdata[i];

		json_builder_begin_object(b);
		add_text(b, "name", source->name);
		add_text(b, "state", source->state);
		add_text(b, "kind", source->kind);
		add_text(b, "kernel", source->kernel);
		json_builder_set_member_name(b, "joined");
		json_builder_add_boolean_value(b, source->joined);
		if (source->pid)
			rs_cli_add_number(b, "pid", source->pid);
		if (*source->region)
			add_text(b, "region", source->region);
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
		add_text(b, "kind", first(entry)->kind);
		json_builder_set_member_name(b, "pid");
		json_builder_add_int_value(b, entry->pid);
		add_text(b, "kernel", first(entry)->kernel);
		json_builder_set_member_name(b, "started");
		json_builder_add_int_value(b, entry->started);
		add_sources(b, shown.sources);
		json_builder_end_object(b);
		clear(&shown);
	}
	json_builder_end_array(b);
	rs_cli_print_json(b, true);
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
	g_autofree char *region = NULL;
	gboolean json = FALSE, names = FALSE;
	const GOptionEntry options[] = {
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL},
		{"names", 'q', 0, G_OPTION_ARG_NONE, &names,
		 "Print only the names of those that run", NULL},
		{"region", 0, 0, G_OPTION_ARG_STRING, &region,
		 "Print what RINGSIDE_REGION must be for a program to join that session", "NAME"},
		{0}};
	g_autoptr(GPtrArray) list = NULL;
	GError *error = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "no argument is expected");
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
		print_table(list);
	}
	return RS_CLI_OK;
}

const struct rs_verb rs_verb_ps = {
	.name = "ps",
	.args = "",
	.summary = "list your sessions",
	.details = "STATE is waiting (the guest's agent has not said hello), running, paused or "
		   "ended;\n"
		   "no answer (the session's process is stopped, or busy for long);\n"
		   "lost (the session's process died, its QEMU guest may live: ringside attach) or "
		   "dead.",
	.run = run,
};
