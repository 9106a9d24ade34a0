/* SPDX-License-Identifier: MIT */
#include "rs-trace-json.h"
#include "rs-trace-append-private.h"
#include "rs-trace-escape.h"
#include "rs-trace-stack.h"
#include "rs-trace-text.h"

#include <string.h>

/* All bytes of the guest that become a JSON string go through here. */
static void append_string(GString *out, const char *text, gsize size)
{
	rs_append_char(out, '"');
	rs_trace_append_json_escaped(out, text, size);
	rs_append_char(out, '"');
}

static void append_integer(GString *out, guint64 value, gboolean is_signed)
{
	if (is_signed)
		rs_append_signed(out, (gint64)value);
	else
		rs_append_decimal(out, value);
}

static void append_field(GString *out, const RsTraceField *field, const guint8 *payload, guint size)
{
	const guint8 *bytes;
	guint length;
	guint64 value;

	if (!rs_trace_field_bytes(field, payload, size, &bytes, &length)) {
		rs_append_text(out, "null");
		return;
	}
	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING) {
		append_string(out, (const char *)bytes, length);
		return;
	}
	if (field->kind >= RS_KIND_ARRAY) {
		rs_append_char(out, '[');
		for (guint at = 0; length - at >= field->elem_size; at += field->elem_size) {
			if (at)
				rs_append_char(out, ',');
			append_integer(out,
				       rs_trace_load_integer(bytes + at, field->elem_size,
							     field->is_signed),
				       field->is_signed);
		}
		rs_append_char(out, ']');
		return;
	}
	value = rs_trace_load_integer(bytes, field->size, field->is_signed);
	if (field->kind == RS_KIND_POINTER) {
		rs_append_char(out, '"');
		rs_append_hex(out, value);
		rs_append_char(out, '"');
		return;
	}
	if (field->kind < RS_KIND_ENUM) {
		append_integer(out, value, field->is_signed);
		return;
	}
	rs_append_text(out, "{\"value\":");
	append_integer(out, value, FALSE);
	rs_append_text(out, ",\"name\":\"");
	rs_trace_append_symbols(out, field, value, rs_trace_append_json_escaped);
	rs_append_text(out, "\"}");
}

static void append_unknown(GString *out, const RsTraceRecord *record)
{
	static const char digits[] = "0123456789abcdef";
	char *at;

	rs_append_text(out, "\"id\":");
	rs_append_decimal(out, record->id);
	rs_append_text(out, ",\"raw\":\"");
	at = rs_append_room(out, 2 * (gsize)record->size);
	for (guint i = 0; i < record->size; i++) {
		*at++ = digits[record->payload[i] >> 4];
		*at++ = digits[record->payload[i] & 15];
	}
	rs_append_done(out, at);
	rs_append_char(out, '"');
}

void rs_trace_json_value(GString *out, const RsTraceField *field, const RsTraceRecord *record)
{
	append_field(out, field, record->payload, record->size);
}

void rs_trace_json_fields(GString *out, const RsTraceRecord *record)
{
	const RsTraceEvent *event = record->event;
	gsize start = out->len;

	rs_append_char(out, '{');
	if (!event)
		append_unknown(out, record);
	for (guint i = 0; event && i < event->n_fields; i++) {
		/* Names need no escape: the schema has checked them. */
		rs_append_text(out, i ? ",\"" : "\"");
		rs_append_text(out, event->fields[i].name);
		rs_append_text(out, "\":");
		/* Hostile locators may all name the same bytes, so bound the line. */
		if (out->len - start > RS_TRACE_JSON_MAX)
			rs_append_text(out, "null");
		else
			append_field(out, &event->fields[i], record->payload, record->size);
	}
	rs_append_char(out, '}');
}

/* "name":"schedule+0x12", of a field that is an address in a known symbol. */
static gboolean append_field_symbol(GString *out, const RsTraceField *field,
				    const RsTraceRecord *record)
{
	const guint8 *bytes;
	guint length;

	if (field->kind != RS_KIND_POINTER ||
	    !rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length))
		return FALSE;
	rs_append_char(out, '"');
	rs_append_text(out, field->name);
	rs_append_text(out, "\":\"");
	if (!rs_trace_symbols_append(record->symbols, record->when,
				     rs_trace_load_integer(bytes, field->size, FALSE),
				     rs_trace_append_json_escaped, out))
		return FALSE;
	rs_append_char(out, '"');
	return TRUE;
}

static void append_field_symbols(GString *out, const RsTraceRecord *record)
{
	const RsTraceEvent *event = record->event;
	gboolean any = FALSE;

	for (guint i = 0; i < event->n_fields; i++) {
		const gsize start = out->len;

		rs_append_text(out, any ? "," : ",\"field_symbols\":{");
		if (append_field_symbol(out, &event->fields[i], record))
			any = TRUE;
		else
			g_string_truncate(out, start);
	}
	if (any)
		rs_append_char(out, '}');
}

static void append_event(GString *out, const RsTraceRecord *record)
{
	rs_append_text(out, "\"system\":\"");
	rs_append_text(out, record->event->system);
	rs_append_text(out, "\",\"event\":\"");
	rs_append_text(out, record->event->name);
	rs_append_text(out, "\",\"fields\":");
	rs_trace_json_fields(out, record);
	if (record->symbols)
		append_field_symbols(out, record);
}

/* Those of which only the front is there. */
static void append_cut_fields(GString *out, const RsTraceRecord *record)
{
	gboolean any = FALSE;

	for (guint i = 0; i < record->event->n_fields; i++) {
		const RsTraceField *field = &record->event->fields[i];

		if (!rs_trace_field_is_cut(field, record->payload, record->size))
			continue;
		rs_append_text(out, any ? ",\"" : ",\"cut_fields\":[\"");
		rs_append_text(out, field->name);
		rs_append_char(out, '"');
		any = TRUE;
	}
	if (any)
		rs_append_char(out, ']');
}

void rs_trace_json_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task)
{
	const RsTraceOrigin *origin = record->origin;
	char flags[5];

	rs_append_text(out, "{\"ns\":");
	append_integer(out, record->ns, FALSE);
	if (origin && origin->name) {
		rs_append_text(out, ",\"source\":");
		append_string(out, origin->name, strlen(origin->name));
		rs_append_text(out, ",\"source_number\":");
		append_integer(out, origin->number, FALSE);
	}
	if (record->kind == RS_TRACE_RECORD_BOOT) {
		rs_append_text(out, ",\"boot\":");
		append_integer(out, record->when.boot, FALSE);
		rs_append_text(out, "}\n");
		return;
	}
	rs_append_text(out, ",\"cpu\":");
	append_integer(out, record->ring, FALSE);
	if (record->kind == RS_TRACE_RECORD_LOSS) {
		rs_append_text(out, ",\"lost\":");
		append_integer(out, record->lost, FALSE);
		rs_append_text(out, "}\n");
		return;
	}
	rs_append_text(out, ",\"pid\":");
	append_integer(out, record->pid, FALSE);
	if (task->tgid) {
		rs_append_text(out, ",\"tgid\":");
		append_integer(out, task->tgid, FALSE);
	}
	rs_append_text(out, ",\"comm\":");
	append_string(out, task->comm, strlen(task->comm));
	rs_trace_text_flags(record->context, flags);
	rs_append_text(out, ",\"flags\":\"");
	rs_append_bytes(out, flags, sizeof(flags));
	rs_append_text(out, "\",");
	if (record->event)
		append_event(out, record);
	else
		append_unknown(out, record);
	if (record->cut)
		rs_append_text(out, ",\"cut\":true");
	if (record->cut && record->event)
		append_cut_fields(out, record);
	if (record->n_stack)
		rs_trace_stack_json(out, record);
	rs_append_text(out, "}\n");
}
