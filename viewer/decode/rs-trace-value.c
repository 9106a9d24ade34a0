/* SPDX-License-Identifier: MIT */
#include "rs-trace-value.h"
#include "rs-trace-append-private.h"

#include <ringside/record.h>
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

/* *cut: the field goes on, but only these bytes are there. */
static gboolean find_bytes(const RsTraceField *field, const guint8 *payload, guint size,
			   const guint8 **bytes, guint *length, gboolean *cut)
{
	guint32 locator, offset;

	*cut = FALSE;
	if (field->offset > size || field->size > size - field->offset)
		return FALSE;
	*bytes = payload + field->offset;
	*length = field->size;
	if (field->kind < RS_KIND_DYN_ARRAY)
		return TRUE;
	memcpy(&locator, *bytes, sizeof(locator));
	offset = rs_locator_offset(locator);
	*length = rs_locator_length(locator);
	if (offset > size || *length > size - offset)
		return FALSE;
	*bytes = payload + offset;
	*cut = (locator & RS_LOCATOR_CUT) != 0;
	return TRUE;
}

gboolean rs_trace_field_is_cut(const RsTraceField *field, const guint8 *payload, guint size)
{
	const guint8 *bytes;
	guint length;
	gboolean cut;

	return find_bytes(field, payload, size, &bytes, &length, &cut) && cut;
}

gboolean rs_trace_field_bytes(const RsTraceField *field, const guint8 *payload, guint size,
			      const guint8 **bytes, guint *length)
{
	gboolean cut;

	if (!find_bytes(field, payload, size, bytes, length, &cut))
		return FALSE;
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
static void append_array(GString *out, const RsTraceField *field, const guint8 *bytes, guint length,
			 gboolean cut)
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
	if (cut)
		rs_append_text(out, length >= field->elem_size ? ",..." : "...");
	rs_append_char(out, '}');
}

void rs_trace_append_field(GString *out, const RsTraceField *field, const guint8 *payload,
			   guint size, RsTraceAppendFunc append)
{
	const guint8 *bytes;
	guint length;
	guint64 value;
	gboolean cut;

	if (!find_bytes(field, payload, size, &bytes, &length, &cut)) {
		g_string_append(out, "(cut)");
		return;
	}
	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING) {
		append(out, (const char *)bytes, strnlen((const char *)bytes, length));
		if (cut)
			rs_append_text(out, "...");
		return;
	}
	if (field->kind >= RS_KIND_ARRAY) {
		append_array(out, field, bytes, length, cut);
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
