/* SPDX-License-Identifier: MIT */
#include "cli/verb.h"

#include <rs-trace-escape.h>
#include <rs-trace-rundir.h>
#include <stdio.h>

/* What the session says of itself, or what can be told from its file alone. */
static char *state_of(const RsTraceRundirEntry *entry)
{
	g_autoptr(RsDBusSession1) session = NULL;
	char *state;

	if (!entry->live)
		return g_strdup(entry->qmp ? "lost" : "dead");
	session = rs_trace_client_connect(entry->name, NULL);
	state = session ? rs_dbus_session1_dup_state(session) : NULL;
	return state ? state : g_strdup("starting");
}

static void print_table(const GPtrArray *list)
{
	printf("%-16s %-8s %-10s %8s  %s\n", "NAME", "STATE", "KIND", "PID", "KERNEL");
	for (guint i = 0; i < list->len; i++) {
		const RsTraceRundirEntry *entry = list->pdata[i];
		g_autofree char *state = state_of(entry);
		g_autofree char *kernel = rs_trace_escape(entry->kernel, -1, NULL);
		g_autofree char *kind = rs_trace_escape(entry->kind, -1, NULL);

		printf("%-16s %-8s %-10s %8d  %s\n", entry->name, state, kind, (int)entry->pid,
		       kernel);
	}
}

static void print_json(const GPtrArray *list)
{
	g_autoptr(JsonBuilder) b = json_builder_new();

	json_builder_begin_array(b);
	for (guint i = 0; i < list->len; i++) {
		const RsTraceRundirEntry *entry = list->pdata[i];
		g_autofree char *state = state_of(entry);

		json_builder_begin_object(b);
		json_builder_set_member_name(b, "name");
		json_builder_add_string_value(b, entry->name);
		json_builder_set_member_name(b, "state");
		json_builder_add_string_value(b, state);
		json_builder_set_member_name(b, "kind");
		json_builder_add_string_value(b, entry->kind);
		json_builder_set_member_name(b, "pid");
		json_builder_add_int_value(b, entry->pid);
		json_builder_set_member_name(b, "kernel");
		json_builder_add_string_value(b, entry->kernel);
		json_builder_set_member_name(b, "started");
		json_builder_add_int_value(b, entry->started);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
	rs_cli_print_json(b, true);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	gboolean json = FALSE, names = FALSE;
	const GOptionEntry options[] = {
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL},
		{"names", 'q', 0, G_OPTION_ARG_NONE, &names,
		 "Print only the names of those that run", NULL},
		{0}};
	g_autoptr(GPtrArray) list = NULL;
	GError *error = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "no argument is expected");
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
		   "lost (the session's process died, its QEMU guest may live: ringside attach) or "
		   "dead.",
	.run = run,
};
