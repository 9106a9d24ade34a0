/* SPDX-License-Identifier: MIT */
#include "rs-trace-value.h"
#include "rs-trace-append-private.h"

#include <string.h>

guint64 rs_trace_load_integer(const guint8 *bytes, guint size, gboolean is_signed)
{
	guint64 value = 0;

	switch (size) {
	case 1:
		return is_signed ? (guint64)(gint64)(gint8)bytes[0] : bytes[0];
	case 2:
		memcpy(&value, bytes, 2);
		return is_signed ? (guint64)(gint64)(gint16)value : value;
	case 4:
		memcpy(&value, bytes, 4);
		return is_signed ? (guint64)(gint64)(gint32)value : value;
	default:
		memcpy(&value, bytes, 8);
		return value;
	}
}

gboolean rs_trace_field_bytes(const RsTraceField *field, const guint8 *payload, guint size,
			      const guint8 **bytes, guint *length)
{
	guint32 locator;

	if (field->offset > size || field->size > size - field->offset)
		return FALSE;
	*bytes = payload + field->offset;
	*length = field->size;
	if (field->kind >= RS_KIND_DYN_ARRAY) {
		memcpy(&locator, *bytes, sizeof(locator));
		if ((locator & 0xffff) > size || locator >> 16 > size - (locator & 0xffff))
			return FALSE;
		*bytes = payload + (locator & 0xffff);
		*length = locator >> 16;
	}
	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING)
		*length = (guint)strnlen((const char *)*bytes, *length);
	return TRUE;
}

void rs_trace_append_symbols(GString *out, const RsTraceField *field, guint64 value,
			     RsTraceAppendFunc append)
{
	gsize start = out->len;

	for (guint i = 0; i < field->n_symbols; i++) {
		const RsTraceSymbol *symbol = &field->symbols[i];

		if (field->kind == RS_KIND_ENUM) {
			if (symbol->value != value)
				continue;
			append(out, symbol->name, strlen(symbol->name));
			return;
		}
		if (!symbol->value || (value & symbol->value) != symbol->value)
			continue;
		if (out->len != start)
			rs_append_char(out, '|');
		append(out, symbol->name, strlen(symbol->name));
		value &= ~symbol->value;
	}
	/* Like the kernel's __print_symbolic and __print_flags, show the rest in hex. */
	if (field->kind == RS_KIND_ENUM) {
		rs_append_hex(out, value);
	} else if (value) {
		if (out->len != start)
			rs_append_char(out, '|');
		rs_append_hex(out, value);
	}
}

static void append_number(GString *out, guint64 value, gboolean is_signed)
{
	if (is_signed)
		rs_append_signed(out, (gint64)value);
	else
		rs_append_decimal(out, value);
}

/* A page bounds its length. */
static void append_array(GString *out, const RsTraceField *field, const guint8 *bytes, guint length)
{
	rs_append_char(out, '{');
	for (guint at = 0; length - at >= field->elem_size; at += field->elem_size) {
		guint64 value =
			rs_trace_load_integer(bytes + at, field->elem_size, field->is_signed);

		if (at)
			rs_append_char(out, ',');
		if (field->is_hex) {
			rs_append_hex(out,
				      rs_trace_load_integer(bytes + at, field->elem_size, FALSE));
		} else {
			append_number(out, value, field->is_signed);
		}
	}
	rs_append_char(out, '}');
}

void rs_trace_append_field(GString *out, const RsTraceField *field, const guint8 *payload,
			   guint size, RsTraceAppendFunc append)
{
	const guint8 *bytes;
	guint length;
	guint64 value;

	if (!rs_trace_field_bytes(field, payload, size, &bytes, &length)) {
		g_string_append(out, "(cut)");
		return;
	}
	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING) {
		append(out, (const char *)bytes, length);
		return;
	}
	if (field->kind >= RS_KIND_ARRAY) {
		append_array(out, field, bytes, length);
		return;
	}
	value = rs_trace_load_integer(bytes, field->size, field->is_signed);
	if (field->kind >= RS_KIND_ENUM) {
		rs_trace_append_symbols(out, field, value, append);
	} else if (field->is_hex) {
		rs_append_hex(out, value);
	} else {
		append_number(out, value, field->is_signed);
	}
}
