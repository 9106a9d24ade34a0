/* SPDX-License-Identifier: MIT */
#include "rs-trace-json.h"
#include "rs-trace-escape.h"
#include "rs-trace-text.h"

#include <string.h>

/* All bytes of the guest that become a JSON string go through here. */
static void append_string(GString *out, const char *text, gsize size)
{
	g_string_append_c(out, '"');
	rs_trace_append_json_escaped(out, text, size);
	g_string_append_c(out, '"');
}

static void append_integer(GString *out, guint64 value, gboolean is_signed)
{
	char buffer[24], *end = buffer + sizeof(buffer), *at = end;
	gboolean negative = is_signed && (gint64)value < 0;
	guint64 left = negative ? -value : value;

	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (negative)
		*--at = '-';
	g_string_append_len(out, at, end - at);
}

static void append_field(GString *out, const RsTraceField *field, const guint8 *payload, guint size)
{
	const guint8 *bytes;
	guint length;
	guint64 value;

	if (!rs_trace_field_bytes(field, payload, size, &bytes, &length)) {
		g_string_append(out, "null");
		return;
	}
	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING) {
		append_string(out, (const char *)bytes, length);
		return;
	}
	if (field->kind >= RS_KIND_ARRAY) {
		g_string_append_c(out, '[');
		for (guint at = 0; length - at >= field->elem_size; at += field->elem_size) {
			if (at)
				g_string_append_c(out, ',');
			append_integer(out,
				       rs_trace_load_integer(bytes + at, field->elem_size,
							     field->is_signed),
				       field->is_signed);
		}
		g_string_append_c(out, ']');
		return;
	}
	value = rs_trace_load_integer(bytes, field->size, field->is_signed);
	if (field->kind == RS_KIND_POINTER) {
		g_string_append_printf(out, "\"0x%" G_GINT64_MODIFIER "x\"", value);
		return;
	}
	if (field->kind < RS_KIND_ENUM) {
		append_integer(out, value, field->is_signed);
		return;
	}
	g_string_append(out, "{\"value\":");
	append_integer(out, value, FALSE);
	g_string_append(out, ",\"name\":\"");
	rs_trace_append_symbols(out, field, value, rs_trace_append_json_escaped);
	g_string_append(out, "\"}");
}

static void append_unknown(GString *out, const RsTraceRecord *record)
{
	g_string_append_printf(out, ",\"id\":%u,\"raw\":\"", record->id);
	for (guint i = 0; i < record->size; i++)
		g_string_append_printf(out, "%02x", record->payload[i]);
	g_string_append_c(out, '"');
}

static void append_event(GString *out, const RsTraceRecord *record)
{
	const RsTraceEvent *event = record->event;
	gsize start = out->len;

	/* Names of systems, events and fields need no escape: the schema has checked them. */
	g_string_append(out, ",\"system\":\"");
	g_string_append(out, event->system);
	g_string_append(out, "\",\"event\":\"");
	g_string_append(out, event->name);
	g_string_append(out, "\",\"fields\":{");
	for (guint i = 0; i < event->n_fields; i++) {
		g_string_append(out, i ? ",\"" : "\"");
		g_string_append(out, event->fields[i].name);
		g_string_append(out, "\":");
		/* Hostile locators may all name the same bytes, so bound the line. */
		if (out->len - start > RS_TRACE_JSON_MAX)
			g_string_append(out, "null");
		else
			append_field(out, &event->fields[i], record->payload, record->size);
	}
	g_string_append_c(out, '}');
}

void rs_trace_json_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
			const RsTraceJsonSource *source)
{
	char flags[5];

	g_string_append(out, "{\"ns\":");
	append_integer(out, record->ns, FALSE);
	if (source) {
		g_string_append(out, ",\"source\":\"");
		g_string_append(out, source->name);
		g_string_append(out, "\",\"source_number\":");
		append_integer(out, source->number, FALSE);
	}
	if (record->kind == RS_TRACE_RECORD_BOOT) {
		g_string_append(out, ",\"boot\":");
		append_integer(out, record->when.boot, FALSE);
		g_string_append(out, "}\n");
		return;
	}
	g_string_append(out, ",\"cpu\":");
	append_integer(out, record->ring, FALSE);
	if (record->kind == RS_TRACE_RECORD_LOSS) {
		g_string_append(out, ",\"lost\":");
		append_integer(out, record->lost, FALSE);
		g_string_append(out, "}\n");
		return;
	}
	g_string_append(out, ",\"pid\":");
	append_integer(out, record->pid, FALSE);
	if (task->tgid) {
		g_string_append(out, ",\"tgid\":");
		append_integer(out, task->tgid, FALSE);
	}
	g_string_append(out, ",\"comm\":");
	append_string(out, task->comm, strlen(task->comm));
	rs_trace_text_flags(record->context, flags);
	g_string_append(out, ",\"flags\":\"");
	g_string_append_len(out, flags, sizeof(flags));
	g_string_append_c(out, '"');
	if (record->event)
		append_event(out, record);
	else
		append_unknown(out, record);
	if (record->cut)
		g_string_append(out, ",\"cut\":true");
	g_string_append(out, "}\n");
}
