/* SPDX-License-Identifier: MIT */
#include "cli/list_kept.h"

#include "cli/list_rows.h"

#include <rs-trace-escape.h>
#include <stdio.h>
#include <string.h>

/* A session has less than 10,000 of them, and a part has 64 KiB or a whole row. */
#define PARTS_MAX 10000

struct row {
	GVariant *dict; /* owns the texts below */
	const char *source, *owner, *wish, *glob, *filter;
	guint32 source_number, stack;
	gboolean met;
};

static const struct rs_cli_key keys[] = {
	{"source", "&s", offsetof(struct row, source)},
	{"source_number", "u", offsetof(struct row, source_number)},
	{"owner", "&s", offsetof(struct row, owner)},
	{"wish", "&s", offsetof(struct row, wish)},
	{"glob", "&s", offsetof(struct row, glob)},
	{"filter", "&s", offsetof(struct row, filter)},
	{"stack", "u", offsetof(struct row, stack)},
	{"met", "b", offsetof(struct row, met)},
};

/* To be called until it returns FALSE, which frees the row. What is missing is "", 0 or FALSE. */
static gboolean next_row(GVariantIter *iter, struct row *row, const char *owner)
{
	do {
		g_clear_pointer(&row->dict, g_variant_unref);
		*row = (struct row){.dict = g_variant_iter_next_value(iter),
				    .source = "",
				    .owner = "",
				    .wish = "",
				    .glob = "",
				    .filter = ""};
		if (!row->dict)
			return FALSE;
		rs_cli_read_row(row->dict, keys, G_N_ELEMENTS(keys), row);
	} while (owner && strcmp(row->owner, owner));
	return TRUE;
}

/* Appends a part. FALSE: the call failed. */
static gboolean ask_part(RsDBusSession1 *session, GVariantBuilder *all, guint64 *next,
			 GError **error)
{
	g_autoptr(GVariant) part = NULL, more = NULL;
	GVariantDict options;
	GVariantIter iter;
	GVariant *row;

	g_variant_dict_init(&options, NULL);
	g_variant_dict_insert(&options, "after", "t", *next);
	if (!rs_dbus_session1_call_list_kept_sync(session, g_variant_dict_end(&options), &part,
						  &more, NULL, error))
		return FALSE;
	g_variant_iter_init(&iter, part);
	while ((row = g_variant_iter_next_value(&iter))) {
		g_variant_builder_add_value(all, row);
		g_variant_unref(row);
	}
	*next = 0;
	g_variant_lookup(more, "next", "t", next);
	return TRUE;
}

GVariant *rs_cli_ask_kept(RsDBusSession1 *session, GError **error)
{
	GVariantBuilder all;
	guint64 next = 0;
	gboolean asked;
	guint parts = 0;

	g_variant_builder_init(&all, G_VARIANT_TYPE("aa{sv}"));
	do
		asked = ask_part(session, &all, &next, error);
	while (asked && next && ++parts < PARTS_MAX);
	if (asked)
		return g_variant_ref_sink(g_variant_builder_end(&all));
	g_variant_builder_clear(&all);
	return NULL;
}

/* "host", or "guest of NAME". To be freed. */
static char *owner_of(const struct row *row)
{
	g_autofree char *source = rs_trace_escape(row->source, -1, NULL);
	g_autofree char *owner = rs_trace_escape(row->owner, -1, NULL);

	return *source ? g_strdup_printf("%s of %s", owner, source) : g_steal_pointer(&owner);
}

void rs_cli_print_kept_table(GVariant *kept, const char *owner)
{
	GVariantIter iter;
	struct row row = {0};

	printf("%-12s %-8s %-3s  %s\n", "OWNER", "WISH", "MET", "GLOB");
	g_variant_iter_init(&iter, kept);
	while (next_row(&iter, &row, owner)) {
		g_autofree char *whose = owner_of(&row);
		g_autofree char *glob = rs_trace_escape(row.glob, -1, NULL);
		g_autofree char *filter = rs_trace_escape(row.filter, -1, NULL);
		const bool clears = strcmp(row.wish, "filter") == 0 && !*filter;

		printf("%-12s %-8s %-3s  %s%s%s", whose, clears ? "clear" : row.wish,
		       row.met ? "yes" : "no", glob, *filter ? "  if " : "", filter);
		if (row.stack)
			printf("  with %u frames of stack", row.stack);
		printf("\n");
	}
}

void rs_cli_print_kept_json(GVariant *kept, const char *owner)
{
	g_autoptr(JsonBuilder) b = json_builder_new();
	GVariantIter iter;
	struct row row = {0};

	json_builder_begin_array(b);
	g_variant_iter_init(&iter, kept);
	while (next_row(&iter, &row, owner)) {
		json_builder_begin_object(b);
		rs_cli_add_text(b, "source", row.source);
		rs_cli_add_number(b, "source_number", row.source_number);
		rs_cli_add_text(b, "owner", row.owner);
		rs_cli_add_text(b, "wish", row.wish);
		rs_cli_add_text(b, "glob", row.glob);
		rs_cli_add_number(b, "stack", row.stack);
		rs_cli_add_text(b, "filter", row.filter);
		json_builder_set_member_name(b, "met");
		json_builder_add_boolean_value(b, row.met);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
	rs_cli_print_json(b);
}

guint rs_cli_print_unmet(GVariant *kept, const char *owner, const char *glob, bool print)
{
	GVariantIter iter;
	struct row row = {0};
	guint count = 0;

	g_variant_iter_init(&iter, kept);
	while (next_row(&iter, &row, owner)) {
		g_autofree char *whose = owner_of(&row);
		g_autofree char *shown = rs_trace_escape(row.glob, -1, NULL);

		if (row.met || strcmp(row.wish, "enable") || (*glob && strcmp(glob, row.glob)))
			continue;
		count++;
		if (print)
			printf("%5s %-3s %5s  %s  (no event yet; kept for %s)\n", "-", "-", "-",
			       shown, whose);
	}
	return count;
}
