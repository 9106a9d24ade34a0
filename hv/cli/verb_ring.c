/* SPDX-License-Identifier: MIT */
#include "cli/args.h"
#include "cli/table.h"
#include "cli/verb.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct row {
	const char *name, *mode;
	guint32 number, rings;
	guint64 bytes, max; /* max 0: their size cannot change */
	guint64 wanted;     /* that some have not taken so far; 0: all have what they are to */
};

static struct row read_row(GVariant *source)
{
	struct row row = {.name = "", .mode = "", .bytes = 0};

	g_variant_lookup(source, "name", "&s", &row.name);
	g_variant_lookup(source, "number", "u", &row.number);
	g_variant_lookup(source, "rings", "u", &row.rings);
	g_variant_lookup(source, "ring_bytes", "t", &row.bytes);
	g_variant_lookup(source, "ring_max", "t", &row.max);
	g_variant_lookup(source, "ring_wanted", "t", &row.wanted);
	g_variant_lookup(source, "ring_mode", "&s", &row.mode);
	return row;
}

static void print_text(GVariant *sources)
{
	static const char *const heads[] = {"SOURCE",   ">RINGS", ">KIB EACH",
					    ">AT MOST", "MODE",   NULL};
	g_autoptr(rs_cli_table) table = rs_cli_table_new(heads, false);

	for (gsize i = 0; i < g_variant_n_children(sources); i++) {
		g_autoptr(GVariant) source = g_variant_get_child_value(sources, i);
		const struct row row = read_row(source);

		rs_cli_table_add(table, row.name, NULL);
		rs_cli_table_addf(table, "%u", row.rings);
		rs_cli_table_addf(table, "%" PRIu64, (uint64_t)row.bytes / 1024);
		rs_cli_table_addf(table, "%" PRIu64, (uint64_t)MAX(row.max, row.bytes) / 1024);
		rs_cli_table_add(table, row.mode, NULL);
	}
	rs_cli_table_print(table);
	for (gsize i = 0; i < g_variant_n_children(sources); i++) {
		g_autoptr(GVariant) source = g_variant_get_child_value(sources, i);
		const struct row row = read_row(source);

		if (row.wanted)
			printf("%s: not all have the %" PRIu64 " KiB that they are to have: a ring "
			       "changes when events come\n",
			       row.name, (uint64_t)row.wanted / 1024);
	}
}

/* What is changed. */
struct change {
	char *mode;
	uint64_t bytes; /* of each ring; 0: as they are */
	gboolean freeze, thaw, clear;
	gint64 cleared;                 /* records that were passed over; -1: nothing was */
	guint32 changed, offered, held; /* rings: as SetRingSize says it */
};

static void print_json(RsDBusSession1 *session, GVariant *sources, bool frozen,
		       const struct change *change)
{
	g_autoptr(JsonBuilder) b = json_builder_new();

	json_builder_begin_object(b);
	rs_cli_add_text(b, "name", rs_dbus_session1_get_name(session));
	json_builder_set_member_name(b, "frozen");
	json_builder_add_boolean_value(b, frozen);
	if (change->cleared >= 0)
		rs_cli_add_number(b, "cleared", (uint64_t)change->cleared);
	if (change->bytes) {
		rs_cli_add_number(b, "changed", change->changed);
		rs_cli_add_number(b, "offered", change->offered);
		rs_cli_add_number(b, "held", change->held);
	}
	json_builder_set_member_name(b, "sources");
	json_builder_begin_array(b);
	for (gsize i = 0; i < g_variant_n_children(sources); i++) {
		g_autoptr(GVariant) source = g_variant_get_child_value(sources, i);
		const struct row row = read_row(source);

		json_builder_begin_object(b);
		rs_cli_add_text(b, "name", row.name);
		rs_cli_add_number(b, "number", row.number);
		rs_cli_add_number(b, "rings", row.rings);
		rs_cli_add_number(b, "ring_bytes", row.bytes);
		if (row.max)
			rs_cli_add_number(b, "ring_max", row.max);
		if (row.wanted)
			rs_cli_add_number(b, "ring_wanted", row.wanted);
		rs_cli_add_text(b, "ring_mode", row.mode);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
	json_builder_end_object(b);
	rs_cli_print_json(b);
}

static int show(RsDBusSession1 *session, bool json, const struct change *change)
{
	g_autoptr(GVariant) sources = NULL, more = NULL;
	gboolean frozen = FALSE;
	GError *error = NULL;

	if (!rs_dbus_session1_call_sources_sync(session, rs_trace_client_no_options(), &sources,
						&more, NULL, &error))
		return rs_cli_fail_gerror(error);
	g_variant_lookup(more, "frozen", "b", &frozen);
	if (json)
		print_json(session, sources, frozen, change);
	else
		print_text(sources);
	if (frozen && !json)
		printf("frozen: nothing is recorded until ringside ring --thaw\n");
	return RS_CLI_OK;
}

static int check(const struct rs_verb *verb, const struct change *change)
{
	if (change->mode && strcmp(change->mode, "overwrite") && strcmp(change->mode, "drop"))
		return rs_cli_usage(verb, "--mode is overwrite or drop");
	if (change->freeze && change->thaw)
		return rs_cli_usage(verb, "--freeze and --thaw do not go together");
	return 0;
}

static gboolean clear_rings(RsDBusSession1 *session, struct change *change, GError **error)
{
	guint64 records;

	if (!rs_dbus_session1_call_clear_rings_sync(session, rs_trace_client_no_options(), &records,
						    NULL, NULL, error))
		return FALSE;
	change->cleared = (gint64)MIN(records, (guint64)G_MAXINT64);
	return TRUE;
}

static gboolean set_size(RsDBusSession1 *session, struct change *change, GError **error)
{
	g_autoptr(GVariant) more = NULL;

	if (!rs_dbus_session1_call_set_ring_size_sync(
		    session, change->bytes, rs_trace_client_no_options(), &more, NULL, error))
		return FALSE;
	g_variant_lookup(more, "bytes", "t", &change->bytes);
	g_variant_lookup(more, "changed", "u", &change->changed);
	g_variant_lookup(more, "offered", "u", &change->offered);
	g_variant_lookup(more, "held", "u", &change->held);
	return TRUE;
}

/* Rings do not change at once, which would look as if nothing had happened. */
static void tell_size(const struct change *change)
{
	const uint64_t kib = change->bytes / 1024;

	if (change->changed)
		printf("%u ring%s %" PRIu64 " KiB\n", change->changed,
		       change->changed == 1 ? " has" : "s have", kib);
	if (change->offered)
		printf("%u ring%s %" PRIu64 " KiB with the next page of events\n", change->offered,
		       change->offered == 1 ? " gets" : "s get", kib);
	if (change->held)
		printf("%u ring%s %" PRIu64 " KiB later: no agent has come, or a change before is "
		       "not over there\n",
		       change->held, change->held == 1 ? " gets" : "s get", kib);
}

/* A freeze comes first and a thaw last, so that all is done while nothing is recorded. */
static gboolean carry_out(RsDBusSession1 *session, struct change *change, GError **error)
{
	if (change->freeze &&
	    !rs_dbus_session1_call_set_frozen_sync(session, TRUE, rs_trace_client_no_options(),
						   NULL, NULL, error))
		return FALSE;
	if (change->mode && !rs_dbus_session1_call_set_ring_mode_sync(session, change->mode,
								      rs_trace_client_no_options(),
								      NULL, NULL, error))
		return FALSE;
	if (change->bytes && !set_size(session, change, error))
		return FALSE;
	if (change->clear && !clear_rings(session, change, error))
		return FALSE;
	return !change->thaw ||
	       rs_dbus_session1_call_set_frozen_sync(session, FALSE, rs_trace_client_no_options(),
						     NULL, NULL, error);
}

static int run(const struct rs_verb *verb, int argc, char **argv)
{
	g_autofree char *name = NULL, *mode = NULL, *size = NULL;
	struct rs_error err = {0};
	struct change change = {.cleared = -1};
	gboolean json = FALSE;
	const GOptionEntry options[] = {
		{"session", 's', 0, G_OPTION_ARG_STRING, &name, "The session", "NAME"},
		{"mode", 'm', 0, G_OPTION_ARG_STRING, &mode,
		 "What a full ring does from now on: overwrite the oldest events, or drop new ones",
		 "overwrite|drop"},
		{"size", 0, 0, G_OPTION_ARG_STRING, &size,
		 "How large each ring is from now on, up to --ring-max of ringside run", "SIZE"},
		{"freeze", 0, 0, G_OPTION_ARG_NONE, &change.freeze,
		 "Record nothing, whatever is enabled: the rings keep what they hold", NULL},
		{"thaw", 0, 0, G_OPTION_ARG_NONE, &change.thaw,
		 "Record again what is enabled, after --freeze or a trigger's", NULL},
		{"clear", 0, 0, G_OPTION_ARG_NONE, &change.clear,
		 "Pass over what the rings hold: who begins to read later does not see it", NULL},
		{"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print JSON", NULL},
		{0}};
	g_autoptr(RsDBusSession1) session = NULL;
	GError *error = NULL;
	int code;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	change.mode = mode;
	if (size && rs_cli_parse_size(size, &change.bytes, &err))
		return rs_cli_usage(verb, "%s", err.message);
	if (size && !change.bytes)
		return rs_cli_usage(verb, "a ring has some room at least, 16K");
	code = check(verb, &change);
	if (code)
		return code;
	session = rs_cli_connect(verb, name, 0, &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 1)
		return rs_cli_usage(verb, "too many arguments");
	if (!carry_out(session, &change, &error))
		return rs_cli_fail_gerror(error);
	if (change.cleared >= 0 && !json)
		printf("%" PRIu64 " event%s passed over\n", (uint64_t)change.cleared,
		       rs_cli_plural((uint64_t)change.cleared, "s"));
	if (!json)
		tell_size(&change);
	return (mode || size || change.freeze || change.thaw || change.clear) && !json
		       ? RS_CLI_OK
		       : show(session, json, &change);
}

const struct rs_verb rs_verb_ring = {
	.name = "ring",
	.args = "[--mode overwrite|drop] [--size SIZE] [--freeze|--thaw] [--clear] [NAME]",
	.summary = "show a session's rings, change what they do, or clear them",
	.run = run,
};
