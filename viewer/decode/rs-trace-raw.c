/* SPDX-License-Identifier: MIT */
/* A record's fields as they are, see rs-trace-text.h. */
#include "rs-trace-append-private.h"
#include "rs-trace-escape.h"
#include "rs-trace-text.h"

void rs_trace_text_raw_value(GString *out, const RsTraceField *field, const RsTraceRecord *record)
{
	const guint8 *bytes;
	guint length;
	guint64 value;

	if (!rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length)) {
		rs_append_text(out, "(cut)");
		return;
	}
	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING) {
		rs_append_char(out, '"');
		rs_trace_append_json_escaped(out, (const char *)bytes, length);
		rs_append_char(out, '"');
		if (rs_trace_field_is_cut(field, record->payload, record->size))
			rs_append_text(out, "...");
		return;
	}
	if (field->kind >= RS_KIND_ARRAY) {
		rs_trace_append_field(out, field, record->payload, record->size,
				      rs_trace_append_json_escaped);
		return;
	}
	value = rs_trace_load_integer(bytes, field->size, field->is_signed);
	if (field->kind == RS_KIND_POINTER || field->is_hex)
		rs_append_hex(out, value);
	else if (field->is_signed)
		rs_append_signed(out, (gint64)value);
	else
		rs_append_decimal(out, value);
}

void rs_trace_text_raw(GString *out, const RsTraceRecord *record)
{
	const RsTraceEvent *event = record->event;
	gsize start = out->len;

	if (!event) {
		rs_trace_text_message(out, record);
		return;
	}
	for (guint i = 0; i < event->n_fields; i++) {
		if (out->len - start > RS_TRACE_TEXT_MAX) {
			rs_append_text(out, " ...");
			break;
		}
		if (i)
			rs_append_char(out, ' ');
		rs_append_text(out, event->fields[i].name);
		rs_append_char(out, '=');
		rs_trace_text_raw_value(out, &event->fields[i], record);
	}
	if (record->cut)
		rs_append_text(out, " (cut)");
}
