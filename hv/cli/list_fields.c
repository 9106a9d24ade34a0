/* SPDX-License-Identifier: MIT */
#include "cli/list_fields.h"

#include <rs-trace-table.h>
#include <string.h>

#define SYMBOLS_SHOWN 8u

struct rs_cli_fields {
	GHashTable *schemas; /* number of the source → RsTraceSchema */
};

static gboolean take(guint slot, const struct rs_provider *entry, const guint8 *descs, gsize size,
		     gpointer data)
{
	rs_trace_schema_take(data, slot, entry, descs, size, NULL, NULL);
	return TRUE;
}

/* A look is bounded, and so is what a guest that never rests can make of it. */
static RsTraceSchema *read_schema(const RsTraceRegion *region)
{
	g_autoptr(RsTraceTable) table = rs_trace_table_new(region);
	RsTraceSchema *schema = rs_trace_schema_new();
	struct rs_guest_info info;

	for (guint i = 0; i < 8; i++) {
		if (!rs_trace_region_guest_info(region, &info, NULL))
			break;
		rs_trace_table_look(table, info.provider_slots, schema, take, schema);
		if (!rs_trace_table_pending(table))
			break;
	}
	return schema;
}

struct rs_cli_fields *rs_cli_fields_read(RsDBusSession1 *session)
{
	struct rs_cli_fields *fields = g_new0(struct rs_cli_fields, 1);
	g_autoptr(GPtrArray) sources = rs_trace_client_sources(session, NULL);

	fields->schemas =
		g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)rs_trace_schema_free);
	for (guint i = 0; sources && i < sources->len; i++) {
		const RsTraceClientSource *source = sources->pdata[i];
		g_autoptr(RsTraceRegion) region =
			rs_trace_client_open_region(session, source->number, NULL);

		if (region)
			g_hash_table_insert(fields->schemas, GUINT_TO_POINTER(source->number),
					    read_schema(region));
	}
	return fields;
}

void rs_cli_fields_free(struct rs_cli_fields *fields)
{
	if (!fields)
		return;
	g_hash_table_unref(fields->schemas);
	g_free(fields);
}

const RsTraceEvent *rs_cli_fields_event(const struct rs_cli_fields *fields, guint32 source,
					guint32 id)
{
	const RsTraceSchema *schema =
		g_hash_table_lookup(fields->schemas, GUINT_TO_POINTER(source));

	return schema ? rs_trace_schema_by_id(schema, id) : NULL;
}

const char *rs_cli_field_type(const RsTraceField *field)
{
	const gsize locator = strlen("__data_loc ");

	return g_str_has_prefix(field->type, "__data_loc ") ? field->type + locator : field->type;
}

void rs_cli_fields_append(GString *out, const RsTraceField *field)
{
	g_string_append_printf(out, "%s:%s", field->name, rs_cli_field_type(field));
	for (guint i = 0; i < MIN(field->n_symbols, SYMBOLS_SHOWN); i++)
		g_string_append_printf(out, "%c%s", i ? '|' : '(', field->symbols[i].name);
	if (field->n_symbols > SYMBOLS_SHOWN)
		g_string_append(out, "|…");
	if (field->n_symbols)
		g_string_append_c(out, ')');
}
