/* SPDX-License-Identifier: MIT */
#include "cli/verb.h"

#include <rs-trace-escape.h>
#include <stdio.h>

static GVariant *options_after(guint64 after)
{
	GVariantBuilder builder;

	g_variant_builder_init(&builder, G_VARIANT_TYPE_VARDICT);
	if (after)
		g_variant_builder_add(&builder, "{sv}", "after", g_variant_new_uint64(after));
	return g_variant_builder_end(&builder);
}

/*
 * A guest may describe much, so the answer comes in parts. *after: 0 for the first, then what this
 * has left there; 0: there is no more. NULL: *error.
 */
static char *next_part(RsDBusSession1 *session, const char *glob, guint64 *after, GError **error)
{
	g_autoptr(GVariant) more = NULL;
	char *text = NULL;

	if (!rs_dbus_session1_call_format_sync(session, glob, options_after(*after), &text, &more,
					       NULL, error))
		return NULL;
	*after = 0;
	g_variant_lookup(more, "next", "t", after);
	return text;
}

static int show(RsDBusSession1 *session, const char *glob)
{
	guint64 after = 0;

	do {
		GError *error = NULL;
		g_autofree char *text = next_part(session, glob, &after, &error), *shown = NULL;

		if (!text)
			return rs_cli_fail_gerror(error);
		/* Only tabs and newlines of a format file are control bytes that belong there. */
		shown = rs_trace_escape(text, -1, "\n\t");
		fputs(shown, stdout);
	} while (after && !ferror(stdout));
	return RS_CLI_OK;
}

/* Of one event, of all sources that have it, to be freed. NULL: *error. */
static char *format_of(RsDBusSession1 *session, const char *event, GError **error)
{
	g_autoptr(GString) all = g_string_new(NULL);
	guint64 after = 0;

	do {
		g_autofree char *text = next_part(session, event, &after, error);

		if (!text)
			return NULL;
		g_string_append(all, text);
	} while (after);
	return g_string_free(g_steal_pointer(&all), FALSE);
}

/* Several sources may have the event: each has a file in the text. */
static int show_json(RsDBusSession1 *session, const char *glob)
{
	g_autoptr(GVariant) events = NULL, more = NULL;
	g_autoptr(GHashTable) shown = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GError *error = NULL;

	if (!rs_dbus_session1_call_list_sync(session, glob, rs_trace_client_no_options(), &events,
					     &more, NULL, &error))
		return rs_cli_fail_gerror(error);
	if (!g_variant_n_children(events))
		return rs_cli_fail(RS_CLI_NOT_FOUND, "no event matches '%s'", glob);
	for (gsize i = 0; i < g_variant_n_children(events) && !ferror(stdout); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(events, i);
		g_autoptr(JsonBuilder) b = json_builder_new();
		g_autofree char *text = NULL, *event = NULL;
		const char *system = "", *name = "";

		g_variant_lookup(row, "system", "&s", &system);
		g_variant_lookup(row, "name", "&s", &name);
		event = g_strdup_printf("%s:%s", system, name);
		if (!g_hash_table_add(shown, g_strdup(event)))
			continue;
		text = format_of(session, event, &error);
		if (!text)
			return rs_cli_fail_gerror(error);
		json_builder_begin_object(b);
		rs_cli_add_text(b, "system", system);
		rs_cli_add_text(b, "name", name);
		rs_cli_add_text(b, "format", text);
		json_builder_end_object(b);
		rs_cli_print_json(b);
	}
	return RS_CLI_OK;
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL;
	gboolean json = FALSE;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "One JSON object a line", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	if (argc < 2)
		return rs_cli_usage(verb, "which event?");
	code = rs_cli_check_name(verb, name, 1, argc, argv);
	if (code)
		return code;
	session = rs_cli_connect(verb, name, 1, &argc, argv, &code);
	if (!session)
		return code;
	return json ? show_json(session, argv[1]) : show(session, argv[1]);
}

const struct rs_verb rs_verb_format = {
	.name = "format",
	.args = "[NAME] GLOB",
	.summary = "show events as Linux format files",
	.run = run,
};
