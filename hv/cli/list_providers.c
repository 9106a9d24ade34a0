/* SPDX-License-Identifier: MIT */
/* `ringside list --providers`: the providers of events, and their images. */
#include "cli/list_providers.h"

#include "cli/list_rows.h"

#include <inttypes.h>
#include <rs-trace-escape.h>
#include <stdio.h>

struct row {
	GVariant *dict; /* whose texts these are */
	const char *source, *name, *build_id;
	guint32 source_number, slot, generation, pid, events, sites;
	guint32 sites_patched; /* UNKNOWN: the guest patches itself */
	guint64 image_start, image_end;
	gboolean live;
};

#define UNKNOWN UINT32_MAX

static const struct rs_cli_key keys[] = {
	{"source", "&s", offsetof(struct row, source)},
	{"source_number", "u", offsetof(struct row, source_number)},
	{"slot", "u", offsetof(struct row, slot)},
	{"name", "&s", offsetof(struct row, name)},
	{"live", "b", offsetof(struct row, live)},
	{"generation", "u", offsetof(struct row, generation)},
	{"pid", "u", offsetof(struct row, pid)},
	{"image_start", "t", offsetof(struct row, image_start)},
	{"image_end", "t", offsetof(struct row, image_end)},
	{"build_id", "&s", offsetof(struct row, build_id)},
	{"events", "u", offsetof(struct row, events)},
	{"sites", "u", offsetof(struct row, sites)},
	{"sites_patched", "u", offsetof(struct row, sites_patched)},
};

/*
 * Reads the next row. A missing key becomes 0, FALSE or "". To be called until it returns FALSE,
 * which frees the row.
 */
static gboolean next_row(GVariantIter *iter, struct row *row)
{
	GVariant *dict = g_variant_iter_next_value(iter);

	g_clear_pointer(&row->dict, g_variant_unref);
	*row = (struct row){
		.dict = dict, .source = "", .name = "", .build_id = "", .sites_patched = UNKNOWN};
	if (!dict)
		return FALSE;
	rs_cli_read_row(dict, keys, G_N_ELEMENTS(keys), row);
	return TRUE;
}

static void print_row(const struct row *row)
{
	g_autofree char *source = rs_trace_escape(row->source, -1, NULL);
	g_autofree char *name = rs_trace_escape(row->name, -1, NULL);
	g_autofree char *image = row->image_end ? g_strdup_printf("%#" PRIx64 "-%#" PRIx64,
								  row->image_start, row->image_end)
						: g_strdup("-");
	g_autofree char *pid = row->pid ? g_strdup_printf("%u", row->pid) : g_strdup("-");
	g_autofree char *on = row->sites_patched != UNKNOWN
				      ? g_strdup_printf("%u", row->sites_patched)
				      : g_strdup("-");

	printf("%4u %-5s %4u %7s %6u %5u %5s  %s/%s  %s  %s\n", row->slot,
	       row->live ? "live" : "dead", row->generation, pid, row->events, row->sites, on,
	       source, name, image, *row->build_id ? row->build_id : "-");
}

void rs_cli_print_providers(GVariant *providers)
{
	GVariantIter iter;
	struct row row = {0};

	printf("%4s %-5s %4s %7s %6s %5s %5s  %s  %s  %s\n", "SLOT", "STATE", "LIFE", "PID",
	       "EVENTS", "SITES", "ON", "SOURCE/PROVIDER", "IMAGE", "BUILD ID");
	g_variant_iter_init(&iter, providers);
	while (next_row(&iter, &row))
		print_row(&row);
}

void rs_cli_print_provider_names(GVariant *providers)
{
	GVariantIter iter;
	struct row row = {0};

	g_variant_iter_init(&iter, providers);
	while (next_row(&iter, &row)) {
		g_autofree char *name = rs_trace_escape(row.name, -1, NULL);

		printf("%s\n", name);
	}
}

static void add_text(JsonBuilder *b, const char *key, const char *text)
{
	json_builder_set_member_name(b, key);
	json_builder_add_string_value(b, text);
}

static void add_address(JsonBuilder *b, const char *key, uint64_t address)
{
	g_autofree char *text = g_strdup_printf("%#" PRIx64, address);

	add_text(b, key, text);
}

static void add_row(JsonBuilder *b, const struct row *row)
{
	json_builder_begin_object(b);
	add_text(b, "source", row->source);
	rs_cli_add_number(b, "source_number", row->source_number);
	rs_cli_add_number(b, "slot", row->slot);
	add_text(b, "name", row->name);
	add_text(b, "state", row->live ? "live" : "dead");
	rs_cli_add_number(b, "generation", row->generation);
	rs_cli_add_number(b, "pid", row->pid);
	if (row->image_end) {
		add_address(b, "image_start", row->image_start);
		add_address(b, "image_end", row->image_end);
	}
	if (*row->build_id)
		add_text(b, "build_id", row->build_id);
	rs_cli_add_number(b, "events", row->events);
	rs_cli_add_number(b, "sites", row->sites);
	if (row->sites_patched != UNKNOWN)
		rs_cli_add_number(b, "sites_patched", row->sites_patched);
	json_builder_end_object(b);
}

void rs_cli_print_providers_json(GVariant *providers)
{
	g_autoptr(JsonBuilder) b = json_builder_new();
	GVariantIter iter;
	struct row row = {0};

	json_builder_begin_array(b);
	g_variant_iter_init(&iter, providers);
	while (next_row(&iter, &row))
		add_row(b, &row);
	json_builder_end_array(b);
	rs_cli_print_json(b);
}
