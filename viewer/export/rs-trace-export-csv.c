/* SPDX-License-Identifier: MIT */
/*
 * Comma-separated values (RFC 4180, but lines end with a newline alone). Events have different
 * fields, so a row holds them as one JSON object, or, with config->columns, the rows are those of
 * one event and each field has its column.
 *
 * A spreadsheet takes a cell that begins with '=' or the like for a formula. Only names of tasks
 * and strings could begin so: their first character is then written as \x3d. So are bytes that are
 * no plain text, and the backslash of a text that looks so.
 */
#include "rs-trace-escape.h"
#include "rs-trace-formats-private.h"
#include "rs-trace-json.h"
#include "rs-trace-text.h"

#include <glib/gi18n.h>
#include <string.h>

typedef struct {
	const RsTraceExportConfig *config;
	GString *out, *cell;
	char **names; /* of the columns for fields; NULL: there are none as yet */
} Csv;

static void csv_free(gpointer self)
{
	Csv *csv = self;

	g_string_free(csv->out, TRUE);
	g_string_free(csv->cell, TRUE);
	g_strfreev(csv->names);
	g_free(csv);
}

#define HEAD "ns,source,source_number,boot,cpu,pid,tgid,comm,flags,event,lost,stack,"

static gpointer csv_open(const RsTraceExportConfig *config, GError **error)
{
	Csv *csv = g_new0(Csv, 1);

	csv->config = config;
	csv->out = g_string_sized_new(RS_TRACE_EXPORT_BUFFER + 4096);
	csv->cell = g_string_new(NULL);
	if (!config->columns)
		g_string_append(csv->out, HEAD "fields\n");
	return csv;
}

/* A cell of any text. */
static void put_cell(GString *out, const GString *cell)
{
	const char *at = cell->str, *end = at + cell->len, *quote;

	if (!memchr(at, '"', cell->len) && !memchr(at, ',', cell->len) &&
	    !memchr(at, '\n', cell->len) && !memchr(at, '\r', cell->len)) {
		g_string_append_len(out, at, end - at);
		return;
	}
	g_string_append_c(out, '"');
	while ((quote = memchr(at, '"', (gsize)(end - at)))) {
		g_string_append_len(out, at, quote + 1 - at);
		g_string_append_c(out, '"');
		at = quote + 1;
	}
	g_string_append_len(out, at, end - at);
	g_string_append_c(out, '"');
}

/* Escapes the backslash of what looks like an escape, so that all of them can be taken back. */
static void append_escaped(GString *out, const char *text, gsize size)
{
	const char *end = text + size, *at = text;

	while (at < end && (at = memchr(at, '\\', (gsize)(end - at)))) {
		if (++at == end || *at != 'x')
			continue;
		rs_trace_append_escaped(out, text, (gsize)(at - 1 - text), NULL);
		g_string_append(out, "\\x5c");
		text = at;
	}
	rs_trace_append_escaped(out, text, (gsize)(end - text), NULL);
}

/* A cell of the guest's bytes, which a spreadsheet does not calculate. */
static void put_text(Csv *csv, const char *text, gsize size)
{
	g_string_truncate(csv->cell, 0);
	if (size && *text && strchr("=+-@", *text)) {
		g_string_append_printf(csv->cell, "\\x%02x", (guchar)*text);
		text++;
		size--;
	}
	append_escaped(csv->cell, text, size);
	put_cell(csv->out, csv->cell);
}

static void put_number(GString *out, guint64 value)
{
	char digits[24], *at = digits + sizeof(digits);

	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	g_string_append_len(out, at, digits + sizeof(digits) - at);
}

static void put_cell_number(GString *out, guint64 value)
{
	put_number(out, value);
	g_string_append_c(out, ',');
}

/* ---- one event's columns ---- */

static gboolean is_column_event(const char *wish, const RsTraceEvent *event)
{
	gsize system = strlen(event->system);

	return g_str_equal(wish, event->name) ||
	       (!strncmp(wish, event->system, system) && wish[system] == ':' &&
		g_str_equal(wish + system + 1, event->name));
}

static void put_columns(Csv *csv, const RsTraceEvent *event)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();

	g_string_append(csv->out, HEAD);
	for (guint i = 0; i < event->n_fields; i++) {
		g_ptr_array_add(names, g_strdup(event->fields[i].name));
		if (i)
			g_string_append_c(csv->out, ',');
		g_string_append(csv->out, event->fields[i].name);
	}
	g_string_append_c(csv->out, '\n');
	g_ptr_array_add(names, NULL);
	csv->names = (char **)g_ptr_array_steal(names, NULL);
}

static void append_raw(GString *out, const char *text, gsize size)
{
	g_string_append_len(out, text, (gssize)size);
}

static void put_symbols(Csv *csv, const RsTraceField *field, guint64 value)
{
	g_autoptr(GString) names = g_string_new(NULL);

	rs_trace_append_symbols(names, field, value, append_raw);
	put_text(csv, names->str, names->len);
}

static void put_field(Csv *csv, const RsTraceField *field, const RsTraceRecord *record)
{
	const guint8 *bytes;
	guint length;

	if (!rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length))
		return;
	switch (field->kind) {
	case RS_KIND_STRING:
	case RS_KIND_DYN_STRING:
		put_text(csv, (const char *)bytes, length);
		break;
	case RS_KIND_ENUM:
	case RS_KIND_FLAGS:
		put_symbols(csv, field, rs_trace_load_integer(bytes, field->size, FALSE));
		break;
	case RS_KIND_POINTER:
		g_string_append_printf(csv->out, "0x%" G_GINT64_MODIFIER "x",
				       rs_trace_load_integer(bytes, field->size, FALSE));
		break;
	default:
		g_string_truncate(csv->cell, 0);
		rs_trace_json_value(csv->cell, field, record);
		put_cell(csv->out, csv->cell);
	}
}

static void put_row_fields(Csv *csv, const RsTraceRecord *record)
{
	for (guint i = 0; csv->names[i]; i++) {
		const RsTraceField *field = rs_trace_event_field(record->event, csv->names[i]);

		if (i)
			g_string_append_c(csv->out, ',');
		if (field)
			put_field(csv, field, record);
	}
}

/* ---- rows ---- */

static void put_all_fields(Csv *csv, const RsTraceRecord *record)
{
	g_string_truncate(csv->cell, 0);
	rs_trace_json_fields(csv->cell, record);
	put_cell(csv->out, csv->cell);
}

/* The innermost first. */
static void put_stack(Csv *csv, const RsTraceRecord *record)
{
	g_string_truncate(csv->cell, 0);
	for (guint i = 0; i < record->n_stack; i++) {
		if (i)
			g_string_append_c(csv->cell, ';');
		rs_trace_export_frame(csv->cell, record, i, rs_trace_append_json_escaped);
	}
	put_cell(csv->out, csv->cell);
}

static void put_event(Csv *csv, const RsTraceExportItem *item)
{
	const RsTraceRecord *record = item->record;
	char flags[5];

	put_cell_number(csv->out, record->ring);
	put_cell_number(csv->out, record->pid);
	if (item->task->tgid)
		put_number(csv->out, item->task->tgid);
	g_string_append_c(csv->out, ',');
	put_text(csv, item->task->comm, strlen(item->task->comm));
	rs_trace_text_flags(record->context, flags);
	g_string_append_c(csv->out, ',');
	g_string_append_len(csv->out, flags, sizeof(flags));
	g_string_append_c(csv->out, ',');
	if (record->event) {
		g_string_append(csv->out, record->event->system);
		g_string_append_c(csv->out, ':');
		g_string_append(csv->out, record->event->name);
	}
	g_string_append(csv->out, ",,");
	put_stack(csv, record);
	g_string_append_c(csv->out, ',');
	if (csv->config->columns)
		put_row_fields(csv, record);
	else
		put_all_fields(csv, record);
}

static gboolean is_wanted(Csv *csv, const RsTraceRecord *record)
{
	if (!csv->config->columns)
		return TRUE;
	if (record->kind != RS_TRACE_RECORD_EVENT || !record->event ||
	    !is_column_event(csv->config->columns, record->event))
		return FALSE;
	if (!csv->names)
		put_columns(csv, record->event);
	return TRUE;
}

static gboolean csv_record(gpointer self, const RsTraceExportItem *item, GError **error)
{
	Csv *csv = self;

	if (!is_wanted(csv, item->record))
		return TRUE;
	put_cell_number(csv->out, item->record->ns);
	put_text(csv, item->source->name, strlen(item->source->name));
	g_string_append_c(csv->out, ',');
	put_cell_number(csv->out, item->source->number);
	put_cell_number(csv->out, item->record->when.boot);
	if (item->record->kind == RS_TRACE_RECORD_EVENT) {
		put_event(csv, item);
	} else if (item->record->kind == RS_TRACE_RECORD_LOSS) {
		put_cell_number(csv->out, item->record->ring);
		g_string_append(csv->out, ",,,,LOST,");
		put_cell_number(csv->out, item->record->lost);
		g_string_append_c(csv->out, ',');
	} else {
		g_string_append(csv->out, ",,,,,BOOT,,,");
	}
	g_string_append_c(csv->out, '\n');
	return csv->out->len < RS_TRACE_EXPORT_BUFFER ||
	       rs_trace_export_flush(csv->config, csv->out, error);
}

static gboolean csv_close(gpointer self, GError **error)
{
	Csv *csv = self;

	return rs_trace_export_flush(csv->config, csv->out, error);
}

const RsTraceExportFormat rs_trace_export_csv = {
	.name = "csv",
	.is_text = TRUE,
	.has_columns = TRUE,
	.summary = N_("Comma-separated values, a row for each record: spreadsheets, pandas, SQL"),
	.suffix = ".csv",
	.open = csv_open,
	.record = csv_record,
	.close = csv_close,
	.free = csv_free,
};
