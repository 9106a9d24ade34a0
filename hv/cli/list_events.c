/* SPDX-License-Identifier: MIT */
#include "cli/list_events.h"

#include "cli/color.h"
#include "cli/list_rows.h"

#include "session/owners.h"
#include <rs-trace-escape.h>
#include <stdio.h>
#include <string.h>

static const struct rs_cli_key wish_keys[] = {
	{"name", "&s", offsetof(struct rs_cli_wish, name)},
	{"enabled", "b", offsetof(struct rs_cli_wish, enabled)},
	{"stack", "u", offsetof(struct rs_cli_wish, stack)},
	{"filter", "&s", offsetof(struct rs_cli_wish, filter)},
};

static const struct rs_cli_key event_keys[] = {
	{"source", "&s", offsetof(struct rs_cli_event, source)},
	{"source_number", "u", offsetof(struct rs_cli_event, source_number)},
	{"id", "u", offsetof(struct rs_cli_event, id)},
	{"system", "&s", offsetof(struct rs_cli_event, system)},
	{"name", "&s", offsetof(struct rs_cli_event, name)},
	{"level", "u", offsetof(struct rs_cli_event, level)},
	{"keyword", "t", offsetof(struct rs_cli_event, keyword)},
	{"enabled", "b", offsetof(struct rs_cli_event, enabled)},
	{"stack", "u", offsetof(struct rs_cli_event, stack)},
	{"sites", "u", offsetof(struct rs_cli_event, sites)},
	{"filter", "&s", offsetof(struct rs_cli_event, filter)},
	{"native", "b", offsetof(struct rs_cli_event, native)},
	{"no_native", "&s", offsetof(struct rs_cli_event, no_native)},
	{"note", "&s", offsetof(struct rs_cli_event, note)},
	{"owners", "@aa{sv}", offsetof(struct rs_cli_event, owners)},
};

gboolean rs_cli_next_wish(GVariantIter *iter, struct rs_cli_wish *wish)
{
	g_autoptr(GVariant) dict = g_variant_iter_next_value(iter);

	*wish = (struct rs_cli_wish){.name = "", .filter = ""};
	if (!dict)
		return FALSE;
	rs_cli_read_row(dict, wish_keys, G_N_ELEMENTS(wish_keys), wish);
	return TRUE;
}

static void read_event(GVariant *dict, struct rs_cli_event *event)
{
	event->source = event->system = event->name = event->filter = event->note = "";
	event->no_native = "";
	rs_cli_read_row(dict, event_keys, G_N_ELEMENTS(event_keys), event);
}

gboolean rs_cli_next_event(GVariantIter *iter, struct rs_cli_event *event)
{
	g_clear_pointer(&event->owners, g_variant_unref);
	g_clear_pointer(&event->dict, g_variant_unref);
	*event = (struct rs_cli_event){.dict = g_variant_iter_next_value(iter)};
	if (!event->dict)
		return FALSE;
	read_event(event->dict, event);
	return TRUE;
}

GVariant *rs_cli_events_of(GVariant *events, const char *owner)
{
	GVariantBuilder builder;
	GVariantIter iter;
	struct rs_cli_event row = {0};

	g_variant_builder_init(&builder, G_VARIANT_TYPE("aa{sv}"));
	g_variant_iter_init(&iter, events);
	while (rs_cli_next_event(&iter, &row)) {
		GVariantIter wishes;
		struct rs_cli_wish wish;
		bool asked = false;

		if (row.owners)
			g_variant_iter_init(&wishes, row.owners);
		while (row.owners && rs_cli_next_wish(&wishes, &wish))
			asked |= strcmp(wish.name, owner) == 0;
		if (asked)
			g_variant_builder_add_value(&builder, row.dict);
	}
	g_variant_unref(events);
	return g_variant_ref_sink(g_variant_builder_end(&builder));
}

/*
 * Such as "for host if a > 1; for view; off for guest if b == 2". If only the host has a wish, its
 * name is left out.
 */
static char *describe_wishes(const struct rs_cli_event *row)
{
	g_autoptr(GString) text = g_string_new(NULL);
	GVariantIter iter;
	struct rs_cli_wish wish;
	bool others = false;

	if (!row->owners)
		return g_strdup("");
	g_variant_iter_init(&iter, row->owners);
	while (rs_cli_next_wish(&iter, &wish)) {
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
	struct rs_cli_event row = {0};

	g_variant_iter_init(&iter, events);
	while (rs_cli_next_event(&iter, &row)) {
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
static char *full_name(const struct rs_cli_event *row, GHashTable *shared)
{
	g_autofree char *name = g_strconcat(row->system, ":", row->name, NULL);

	if (!g_hash_table_contains(shared, name))
		return g_steal_pointer(&name);
	return g_strconcat(row->source, "/", name, NULL);
}

/* "" if it has none. */
static char *keyword_of(const struct rs_cli_event *row)
{
	if (!row->keyword)
		return g_strdup("");
	return g_strdup_printf("0x%" G_GINT64_MODIFIER "x", row->keyword);
}

/* Some event has a level or a keyword. */
static bool any_level(GVariant *events)
{
	GVariantIter iter;
	struct rs_cli_event row = {0};
	bool any = false;

	g_variant_iter_init(&iter, events);
	while (rs_cli_next_event(&iter, &row))
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
	struct rs_cli_event row = {0};

	g_array_set_clear_func(list, clear_named);
	g_variant_iter_init(&iter, events);
	while (rs_cli_next_event(&iter, &row)) {
		const struct named named = {full_name(&row, shared), g_variant_ref(row.dict)};

		g_array_append_val(list, named);
	}
	g_array_sort(list, compare_named);
	return list;
}

/* What the last column has: name, wishes and note. */
static char *last_cell(const struct rs_cli_event *row, const char *name)
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

/* How the guest runs the filter in force. */
static void add_native_line(struct rs_cli_table *table, const struct rs_cli_event *row)
{
	g_autofree char *why = rs_trace_escape(row->no_native, -1, NULL);
	g_autofree char *line =
		row->native ? g_strdup("       filter: as machine code")
			    : g_strconcat("       filter: as a program, since ", why, NULL);

	if (row->native || *why)
		rs_cli_table_line(table, line);
}

/* `fields` NULL: they are not shown. */
static void add_row(struct rs_cli_table *table, const struct rs_cli_event *row, const char *name,
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
		rs_cli_table_add(table, keyword, NULL);
	rs_cli_table_add(table, last, NULL);
	if (!fields)
		return;
	add_fields_line(table, rs_cli_fields_event(fields, row->source_number, row->id));
	add_native_line(table, row);
}

struct rs_cli_table *rs_cli_event_table(GVariant *all, GVariant *events,
					const struct rs_cli_fields *fields, bool color)
{
	static const char *const with[] = {">ID",     "ON",    ">SITES", ">LEVEL",
					   "KEYWORD", "EVENT", NULL};
	static const char *const without[] = {">ID", "ON", ">SITES", "EVENT", NULL};
	const bool has_levels = any_level(events);
	struct rs_cli_table *table = rs_cli_table_new(has_levels ? with : without, color);
	g_autoptr(GHashTable) shared = find_shared(all);
	g_autoptr(GArray) list = sorted(events, shared);

	for (guint i = 0; i < list->len; i++) {
		const struct named *named = &g_array_index(list, struct named, i);
		struct rs_cli_event row = {0};

		read_event(named->dict, &row);
		add_row(table, &row, named->name, fields, has_levels);
		g_clear_pointer(&row.owners, g_variant_unref);
	}
	return table;
}

void rs_cli_print_event_names(GVariant *all, GVariant *events)
{
	g_autoptr(GHashTable) shared = find_shared(all);
	g_autoptr(GArray) list = sorted(events, shared);

	for (guint i = 0; i < list->len; i++)
		puts(g_array_index(list, struct named, i).name);
}
