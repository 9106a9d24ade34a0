/* SPDX-License-Identifier: MIT */
#include "document/rs-trace-row.h"
#include "rs-trace-escape.h"
#include "rs-trace-json.h"
#include "rs-trace-stack.h"
#include "rs-trace-value.h"

#include <string.h>

/* Bytes of all fields' texts; a hostile event may name the same bytes in each of its fields. */
#define FIELDS_MAX (1u << 20)

/* ---- texts ---- */

static void append_escaped(GString *out, const char *text, gsize size)
{
	rs_trace_append_escaped(out, text, size, NULL);
}

/* A text that was cut may end within a character. */
static char *end_text(GString *text)
{
	if (text->len && text->str[text->len - 1] == '\n')
		g_string_truncate(text, text->len - 1);
	if (!g_utf8_validate(text->str, (gssize)text->len, NULL)) {
		g_autofree char *valid = g_utf8_make_valid(text->str, (gssize)text->len);

		g_string_assign(text, valid);
	}
	return g_string_free(text, FALSE);
}

static char *make_line(const RsTraceRecord *record, const RsTraceTask *task, RsTraceTextStyle style)
{
	GString *out = g_string_new(NULL);

	rs_trace_text_line(out, record, task, style);
	return end_text(out);
}

static char *make_json(const RsTraceRecord *record, const RsTraceTask *task)
{
	GString *out = g_string_new(NULL);

	rs_trace_json_line(out, record, task);
	return end_text(out);
}

static char *make_text(const RsTraceRecord *record)
{
	GString *out = g_string_new(NULL);

	if (record->kind == RS_TRACE_RECORD_EVENT)
		rs_trace_text_message(out, record);
	else if (record->kind == RS_TRACE_RECORD_LOSS)
		g_string_printf(out, "[LOST %" G_GUINT64_FORMAT " EVENTS]", record->lost);
	else
		g_string_printf(out, "[BOOT %u]", record->when.boot);
	return end_text(out);
}

static char *make_event(const RsTraceRecord *record)
{
	if (record->kind != RS_TRACE_RECORD_EVENT)
		return g_strdup("");
	if (!record->event)
		return g_strdup_printf("#%u", record->id);
	return g_strdup_printf("%s:%s", record->event->system, record->event->name);
}

/* ---- details ---- */

static void free_field(gpointer data)
{
	RsTraceRowField *field = data;

	g_free(field->name);
	g_free(field->type);
	g_free(field->value);
	g_free(field->raw);
	g_free(field);
}

static char *make_value(const RsTraceField *field, const RsTraceRecord *record)
{
	GString *out = g_string_new(NULL);
	const guint8 *bytes;
	guint length;

	if (field->kind != RS_KIND_POINTER ||
	    !rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length) ||
	    !rs_trace_symbols_append(record->symbols, record->when,
				     rs_trace_load_integer(bytes, field->size, FALSE),
				     append_escaped, out))
		rs_trace_append_field(out, field, record->payload, record->size, append_escaped);
	return end_text(out);
}

static char *make_raw(const RsTraceField *field, const RsTraceRecord *record)
{
	GString *out = g_string_new(NULL);

	rs_trace_text_raw_value(out, field, record);
	return end_text(out);
}

static GPtrArray *make_fields(const RsTraceRecord *record)
{
	GPtrArray *fields = g_ptr_array_new_with_free_func(free_field);
	const guint n = record->event ? record->event->n_fields : 0;
	gsize used = 0;

	for (guint i = 0; i < n; i++) {
		const RsTraceField *field = &record->event->fields[i];
		RsTraceRowField *row = g_new0(RsTraceRowField, 1);

		row->name = rs_trace_escape(field->name, -1, NULL);
		row->type = rs_trace_escape(field->type, -1, NULL);
		row->value = used < FIELDS_MAX ? make_value(field, record) : g_strdup("...");
		row->raw = used < FIELDS_MAX ? make_raw(field, record) : g_strdup("...");
		used += strlen(row->value) + strlen(row->raw);
		g_ptr_array_add(fields, row);
	}
	return fields;
}

static void take_stack(RsTraceRow *row, const RsTraceRecord *record)
{
	row->addresses = g_new(guint64, record->n_stack);
	row->stack = g_new0(char *, record->n_stack + 1);
	for (guint i = 0; i < record->n_stack; i++) {
		GString *name = g_string_new(NULL);

		row->addresses[i] = rs_trace_stack_frame(record, i);
		rs_trace_stack_append_frame(name, record, i, append_escaped);
		row->stack[i] = end_text(name);
	}
}

static void take_details(RsTraceRow *row, const RsTraceRecord *record)
{
	const gboolean is_event = record->kind == RS_TRACE_RECORD_EVENT;
	g_autofree char *format = NULL;

	row->fields = make_fields(record);
	row->payload = g_bytes_new(is_event ? record->payload : NULL, is_event ? record->size : 0);
	if (is_event && record->event) {
		format = rs_trace_event_format(record->event);
		row->format = rs_trace_escape(format, -1, "\n\t");
	}
	if (is_event && record->n_stack)
		take_stack(row, record);
}

/* ---- rows ---- */

static void take_event(RsTraceRow *row, const RsTraceRecord *record, const RsTraceTask *task)
{
	row->pid = record->pid;
	row->tgid = task->tgid;
	row->id = record->id;
	rs_trace_text_flags(record->context, row->flags);
}

RsTraceRow *rs_trace_row_new(const RsTraceRecord *record, const RsTraceTask *task,
			     RsTraceTextStyle style, gboolean with_details)
{
	const gboolean is_event = record->kind == RS_TRACE_RECORD_EVENT;
	RsTraceRow *row = g_new0(RsTraceRow, 1);

	g_atomic_ref_count_init(&row->refs);
	row->kind = record->kind;
	row->ns = record->ns;
	row->sorted_ns = record->sorted_ns;
	row->lost = record->kind == RS_TRACE_RECORD_LOSS ? record->lost : 0;
	row->cpu = record->ring;
	row->boot = record->when.boot;
	row->source = record->origin ? record->origin->index : 0;
	row->number = record->origin ? record->origin->number : 0;
	row->source_name =
		g_strdup(record->origin && record->origin->escaped ? record->origin->escaped : "");
	row->comm = is_event ? rs_trace_escape(task->comm, -1, NULL) : g_strdup("");
	row->event = make_event(record);
	row->text = make_text(record);
	row->line = make_line(record, task, style);
	row->json = make_json(record, task);
	if (is_event)
		take_event(row, record, task);
	if (with_details)
		take_details(row, record);
	return row;
}

RsTraceRow *rs_trace_row_ref(RsTraceRow *row)
{
	g_atomic_ref_count_inc(&row->refs);
	return row;
}

void rs_trace_row_unref(RsTraceRow *row)
{
	if (!row || !g_atomic_ref_count_dec(&row->refs))
		return;
	g_free(row->source_name);
	g_free(row->comm);
	g_free(row->event);
	g_free(row->text);
	g_free(row->line);
	g_free(row->json);
	g_clear_pointer(&row->fields, g_ptr_array_unref);
	g_clear_pointer(&row->payload, g_bytes_unref);
	g_free(row->format);
	g_strfreev(row->stack);
	g_free(row->addresses);
	g_free(row);
}
