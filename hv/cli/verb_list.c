/* SPDX-License-Identifier: MIT */
#include "cli/color.h"
#include "cli/list_fields.h"
#include "cli/list_kept.h"
#include "cli/list_providers.h"
#include "cli/list_sites.h"
#include "cli/select.h"
#include "cli/table.h"

#include "filter/nearest.h"
#include "session/owners.h"
#include <rs-trace-escape.h>
#include <rs-trace-rundir.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct row {
	GVariant *dict; /* owns the texts below */
	guint32 source_number, id, sites, level, stack;
	guint64 keyword;
	const char *source, *system, *name, *filter, *note;
	GVariant *owners; /* aa{sv}; NULL: nobody has asked for anything */
	gboolean enabled;
};

/* One owner's wish for an event. */
struct wish {
	const char *name, *filter; /* texts of the row; "": none */
	gboolean enabled;
	guint32 stack; /* frames; 0: none */
};

static gboolean next_wish(GVariantIter *iter, struct wish *wish)
{
	g_autoptr(GVariant) dict = g_variant_iter_next_value(iter);

	*wish = (struct wish){.name = "", .filter = ""};
	if (!dict)
		return FALSE;
	g_variant_lookup(dict, "name", "&s", &wish->name);
	g_variant_lookup(dict, "enabled", "b", &wish->enabled);
	g_variant_lookup(dict, "stack", "u", &wish->stack);
	g_variant_lookup(dict, "filter", "&s", &wish->filter);
	return TRUE;
}

/* Skips what it does not know, and what has another type. */
static void read_key(struct row *row, const char *key, GVariant *value)
{
	const struct {
		const char *key, *type, *format;
		void *to;
	} keys[] = {
		{"source", "s", "&s", &row->source},
		{"source_number", "u", "u", &row->source_number},
		{"id", "u", "u", &row->id},
		{"system", "s", "&s", &row->system},
		{"name", "s", "&s", &row->name},
		{"level", "u", "u", &row->level},
		{"keyword", "t", "t", &row->keyword},
		{"enabled", "b", "b", &row->enabled},
		{"stack", "u", "u", &row->stack},
		{"sites", "u", "u", &row->sites},
		{"filter", "s", "&s", &row->filter},
		{"note", "s", "&s", &row->note},
		{"owners", "aa{sv}", "@aa{sv}", &row->owners},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
		if (strcmp(keys[i].key, key) != 0)
			continue;
		if (g_variant_is_of_type(value, G_VARIANT_TYPE(keys[i].type)))
			g_variant_get(value, keys[i].format, keys[i].to);
		return;
	}
}

/*
 * A missing key becomes 0, FALSE, "" or NULL. Goes through the keys once: there may be thousands of
 * rows, and each lookup would go through them again.
 */
static void read_row(GVariant *dict, struct row *row)
{
	GVariant *value;
	GVariantIter keys;
	const char *key;

	row->source = row->system = row->name = row->filter = row->note = "";
	g_variant_iter_init(&keys, dict);
	while (g_variant_iter_loop(&keys, "{&sv}", &key, &value))
		read_key(row, key, value);
}

/* Reads the next row. To be called until it returns FALSE, which frees the row. */
static gboolean next_row(GVariantIter *iter, struct row *row)
{
	g_clear_pointer(&row->owners, g_variant_unref);
	g_clear_pointer(&row->dict, g_variant_unref);
	*row = (struct row){.dict = g_variant_iter_next_value(iter)};
	if (!row->dict)
		return FALSE;
	read_row(row->dict, row);
	return TRUE;
}

/*
 * Such as "for host if a > 1; for view; off for guest if b == 2". If only the host has a wish, its
 * name is left out.
 */
static char *describe_wishes(const struct row *row)
{
	g_autoptr(GString) text = g_string_new(NULL);
	GVariantIter iter;
	struct wish wish;
	bool others = false;

	if (!row->owners)
		return g_strdup("");
	g_variant_iter_init(&iter, row->owners);
	while (next_wish(&iter, &wish)) {
		g_autofree char *filter = rs_trace_escape(wish.filter, -1, NULL);

		others |= strcmp(wish.name, RS_OWNER_HOST) != 0;
		g_string_append_printf(text, "%s%sfor %s%s%s", text->len ? "; " : "",
				       wish.enabled ? "" : "off ", wish.name, *filter ? " if " : "",
				       filter);
		if (wish.stack)
			g_string_append_printf(text, " with %u frames of stack", wish.stack);
	}
	if (!others) {
		g_autofree char *filter = rs_trace_escape(row->filter, -1, NULL);

		g_string_printf(text, "%s%s", *filter ? "if " : "", filter);
		if (row->stack)
			g_string_append_printf(text, "%swith %u frames of stack",
					       text->len ? " " : "", row->stack);
	}
	return g_strdup(text->str);
}

/* Of all events of the session, names that more than one source has: a set of "system:name". */
static GHashTable *find_shared(GVariant *events)
{
	g_autoptr(GHashTable) all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GHashTable *shared = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GVariantIter iter;
	struct row row = {0};

	g_variant_iter_init(&iter, events);
	while (next_row(&iter, &row)) {
		char *name = g_strconcat(row.system, ":", row.name, NULL);

		if (g_hash_table_contains(all, name))
			g_hash_table_add(shared, name);
		else
			g_hash_table_add(all, name);
	}
	return shared;
}

/*
 * A glob that matches this event alone: "source/system:name" if another source has the same name.
 */
static char *full_name(const struct row *row, GHashTable *shared)
{
	g_autofree char *name = g_strconcat(row->system, ":", row->name, NULL);

	if (!g_hash_table_contains(shared, name))
		return g_steal_pointer(&name);
	return g_strconcat(row->source, "/", name, NULL);
}

/* "" if it has none. */
static char *keyword_of(const struct row *row)
{
	if (!row->keyword)
		return g_strdup("");
	return g_strdup_printf("0x%" G_GINT64_MODIFIER "x", row->keyword);
}

/* Some event has a level or a keyword. */
static bool any_level(GVariant *events)
{
	GVariantIter iter;
	struct row row = {0};
	bool any = false;

	g_variant_iter_init(&iter, events);
	while (next_row(&iter, &row))
		any |= row.level || row.keyword;
	return any;
}

/* An event's row with the name that is shown of it, which the rows are sorted by. */
struct named {
	char *name;
	GVariant *dict;
};

static void clear_named(gpointer data)
{
	struct named *named = data;

	g_free(named->name);
	g_variant_unref(named->dict);
}

static gint compare_named(gconstpointer a, gconstpointer b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

/* All rows by name, of struct named. */
static GArray *sorted(GVariant *events, GHashTable *shared)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct named));
	GVariantIter iter;
	struct row row = {0};

	g_array_set_clear_func(list, clear_named);
	g_variant_iter_init(&iter, events);
	while (next_row(&iter, &row)) {
		const struct named named = {full_name(&row, shared), g_variant_ref(row.dict)};

		g_array_append_val(list, named);
	}
	g_array_sort(list, compare_named);
	return list;
}

/* What the last column has: name, wishes and note. */
static char *last_cell(const struct row *row, const char *name)
{
	g_autofree char *wishes = describe_wishes(row);

	return g_strconcat(name, *wishes ? "  " : "", wishes, *row->note ? "  (" : "", row->note,
			   *row->note ? ")" : "", NULL);
}

static void add_fields_line(struct rs_cli_table *table, const RsTraceEvent *event)
{
	g_autoptr(GString) line = g_string_new("      ");

	for (guint i = 0; event && i < event->n_fields; i++) {
		g_string_append_c(line, ' ');
		rs_cli_fields_append(line, &event->fields[i]);
	}
	rs_cli_table_line(table, event ? line->str : "       (not known)");
}

/* `fields` NULL: they are not shown. */
static void add_row(struct rs_cli_table *table, const struct row *row, const char *name,
		    const struct rs_cli_fields *fields, bool has_levels)
{
	g_autofree char *keyword = keyword_of(row), *last = last_cell(row, name);

	rs_cli_table_addf(table, "%u", row->id);
	rs_cli_table_add(table, row->enabled ? "on" : "-", row->enabled ? RS_COLOR_GOOD : NULL);
	rs_cli_table_addf(table, "%u", row->sites);
	if (has_levels && row->level)
		rs_cli_table_addf(table, "%u", row->level);
	else if (has_levels)
		rs_cli_table_add(table, "", NULL);
	if (has_levels)
		rs_cli_table_add(table, row->level ? keyword : "", NULL);
	rs_cli_table_add(table, last, NULL);
	if (fields)
		add_fields_line(table, rs_cli_fields_event(fields, row->source_number, row->id));
}

static void print_table(GVariant *events, GHashTable *shared, const struct rs_cli_fields *fields,
			bool color)
{
	static const char *const with[] = {">ID",     "ON",    ">SITES", ">LEVEL",
					   "KEYWORD", "EVENT", NULL};
	static const char *const without[] = {">ID", "ON", ">SITES", "EVENT", NULL};
	const bool has_levels = any_level(events);
	g_autoptr(rs_cli_table) table = rs_cli_table_new(has_levels ? with : without, color);
	g_autoptr(GArray) list = sorted(events, shared);

	for (guint i = 0; i < list->len; i++) {
		const struct named *named = &g_array_index(list, struct named, i);
		struct row row = {0};

		read_row(named->dict, &row);
		add_row(table, &row, named->name, fields, has_levels);
		g_clear_pointer(&row.owners, g_variant_unref);
	}
	rs_cli_table_print(table);
}

static void add_wishes(JsonBuilder *b, GVariant *owners)
{
	GVariantIter iter;
	struct wish wish;

	json_builder_set_member_name(b, "owners");
	json_builder_begin_array(b);
	if (owners)
		g_variant_iter_init(&iter, owners);
	while (owners && next_wish(&iter, &wish)) {
		json_builder_begin_object(b);
		json_builder_set_member_name(b, "name");
		json_builder_add_string_value(b, wish.name);
		json_builder_set_member_name(b, "enabled");
		json_builder_add_boolean_value(b, wish.enabled);
		rs_cli_add_number(b, "stack", wish.stack);
		rs_cli_add_text(b, "filter", wish.filter);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
}

/* As text, since not every reader of JSON has numbers of 64 bits. */
static void add_keyword(JsonBuilder *b, guint64 keyword)
{
	g_autofree char *text = g_strdup_printf("0x%" G_GINT64_MODIFIER "x", keyword);

	rs_cli_add_text(b, "keyword", text);
}

static void add_fields(JsonBuilder *b, const RsTraceEvent *event)
{
	json_builder_set_member_name(b, "fields");
	json_builder_begin_array(b);
	for (guint i = 0; event && i < event->n_fields; i++) {
		json_builder_begin_object(b);
		rs_cli_add_text(b, "name", event->fields[i].name);
		rs_cli_add_text(b, "type", rs_cli_field_type(&event->fields[i]));
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
}

static void print_json(GVariant *events, const struct rs_cli_fields *fields)
{
	g_autoptr(JsonBuilder) b = json_builder_new();
	GVariantIter iter;
	struct row row = {0};

	json_builder_begin_array(b);
	g_variant_iter_init(&iter, events);
	while (next_row(&iter, &row)) {
		json_builder_begin_object(b);
		json_builder_set_member_name(b, "source");
		json_builder_add_string_value(b, row.source);
		rs_cli_add_number(b, "source_number", row.source_number);
		json_builder_set_member_name(b, "id");
		json_builder_add_int_value(b, row.id);
		json_builder_set_member_name(b, "system");
		json_builder_add_string_value(b, row.system);
		json_builder_set_member_name(b, "name");
		json_builder_add_string_value(b, row.name);
		rs_cli_add_number(b, "level", row.level);
		add_keyword(b, row.keyword);
		json_builder_set_member_name(b, "enabled");
		json_builder_add_boolean_value(b, row.enabled);
		rs_cli_add_number(b, "stack", row.stack);
		rs_cli_add_text(b, "filter", row.filter);
		add_wishes(b, row.owners);
		json_builder_set_member_name(b, "sites");
		json_builder_add_int_value(b, row.sites);
		rs_cli_add_text(b, "note", row.note);
		if (fields)
			add_fields(b, rs_cli_fields_event(fields, row.source_number, row.id));
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
	rs_cli_print_json(b);
}

static void print_names(GVariant *events, GHashTable *shared)
{
	g_autoptr(GArray) list = sorted(events, shared);

	for (guint i = 0; i < list->len; i++)
		puts(g_array_index(list, struct named, i).name);
}

/* The rows of events that the owner has asked about. Takes `events`. */
static GVariant *only_of(GVariant *events, const char *owner)
{
	GVariantBuilder builder;
	GVariantIter iter;
	struct row row = {0};

	g_variant_builder_init(&builder, G_VARIANT_TYPE("aa{sv}"));
	g_variant_iter_init(&iter, events);
	while (next_row(&iter, &row)) {
		GVariantIter wishes;
		struct wish wish;
		bool asked = false;

		if (row.owners)
			g_variant_iter_init(&wishes, row.owners);
		while (row.owners && next_wish(&wishes, &wish))
			asked |= strcmp(wish.name, owner) == 0;
		if (asked)
			g_variant_builder_add_value(&builder, row.dict);
	}
	g_variant_unref(events);
	return g_variant_ref_sink(g_variant_builder_end(&builder));
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
static GVariant *ask(RsDBusSession1 *session, const char *glob, GError **error)
{
	GVariant *events = NULL;

	rs_dbus_session1_call_list_sync(session, glob, rs_trace_client_no_options(), &events, NULL,
					NULL, error);
	return events;
}

static bool runs(const char *name)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(name, NULL);

	return entry && entry->live;
}

/* As rs_session_suggest() does for other verbs. */
static char *suggest(GVariant *all, const char *glob)
{
	struct rs_nearest nearest = rs_nearest_to(glob);
	g_autofree char *best = NULL;
	GVariantIter iter;
	struct row row = {0};

	g_variant_iter_init(&iter, all);
	while (!strpbrk(glob, "*?[@") && next_row(&iter, &row)) {
		g_autofree char *full = g_strdup_printf("%s:%s", row.system, row.name);

		if (!rs_nearest_offer(&nearest, strchr(glob, ':') ? full : row.name))
			continue;
		g_free(best);
		best = g_steal_pointer(&full);
	}
	return best ? g_strdup_printf("; did you mean '%s'?", best) : g_strdup("");
}

/* The glob may have been meant as the name of a session that runs no more. */
static int no_match(RsDBusSession1 *session, GVariant *all, const char *glob)
{
	g_autoptr(RsTraceRundirEntry) entry = rs_trace_rundir_find(glob, NULL);
	const char *name = rs_dbus_session1_get_name(session);
	g_autofree char *suggestion = suggest(all, glob);

	if (!entry || entry->live)
		return rs_cli_fail(RS_CLI_NOT_FOUND, "no event of session '%s' matches '%s'%s",
				   name, glob, suggestion);
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
	g_autoptr(GHashTable) shared = NULL;
	g_autoptr(rs_cli_fields) fields = NULL;
	g_autoptr(GVariant) all = NULL, events = NULL, unmet = NULL;
	GError *error = NULL;
	int code, needed;

	if (!rs_cli_parse(verb, options, &argc, &argv, &code))
		return code;
	code = rs_cli_select_check(verb, &select);
	if (code == RS_CLI_OK)
		code = rs_cli_color_take(verb, when, STDOUT_FILENO, &color);
	if (code != RS_CLI_OK)
		return code;
	/* A single argument is a session's name if such a session runs, else a glob. */
	needed = argc == 2 && !name && runs(argv[1]) ? 0 : 1;
	session = rs_cli_connect(verb, name, MAX(needed, argc - 2), &argc, argv, &code);
	if (!session)
		return code;
	if (argc > 2)
		return rs_cli_usage(verb, "one glob at most");
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
	all = ask(session, "", &error);
	if (all)
		events = *glob ? ask(session, glob, &error) : g_variant_ref(all);
	if (!events)
		return rs_cli_fail_gerror(error);
	/* A session that is older than we are has no such list. */
	unmet = json || names ? NULL : rs_cli_ask_kept(session, NULL);
	if (*glob && !g_variant_n_children(events) &&
	    !(unmet && rs_cli_print_unmet(unmet, owner, glob, false)))
		return no_match(session, all, glob);
	if (sites)
		return rs_cli_list_sites(session, glob, json);
	if (owner)
		events = only_of(events, owner);
	shared = find_shared(all);
	if (verbose)
		fields = rs_cli_fields_read(session);
	if (json)
		print_json(events, fields);
	else if (names)
		print_names(events, shared);
	else
		print_table(events, shared, fields, color);
	if (unmet)
		rs_cli_print_unmet(unmet, owner, glob, true);
	return RS_CLI_OK;
}

const struct rs_verb rs_verb_list = {
	.name = "list",
	.args = "[NAME] [GLOB]",
	.summary = "list a guest's events",
	.details = "GLOB is system:name with * ? [a-c] [!a]; without a colon it may match either.",
	.run = run,
};
