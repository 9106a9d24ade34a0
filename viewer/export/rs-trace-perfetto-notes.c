/* SPDX-License-Identifier: MIT */
#include "rs-trace-formats-private.h"
#include "rs-trace-perfetto-private.h"
#include "rs-trace-text.h"

#include <string.h>

static const RsPfNote empty = PERFETTO__PROTOS__DEBUG_ANNOTATION__INIT;

#define CASE(kind) PERFETTO__PROTOS__DEBUG_ANNOTATION__VALUE_##kind##_VALUE

void rs_pf_notes_init(RsPfNotes *notes)
{
	notes->text = g_byte_array_new();
	notes->elements = g_array_new(FALSE, FALSE, sizeof(RsPfNote));
	notes->pointers = g_ptr_array_new();
	for (guint i = 0; i < RS_PF_NOTES_MAX; i++)
		notes->ptrs[i] = &notes->notes[i];
}

void rs_pf_notes_clear(RsPfNotes *notes)
{
	g_byte_array_unref(notes->text);
	g_array_unref(notes->elements);
	g_ptr_array_unref(notes->pointers);
}

static RsPfNote *add(RsPfNotes *notes, guint64 name)
{
	RsPfNote *note = &notes->notes[notes->n];

	*note = empty;
	note->name_field_case = PERFETTO__PROTOS__DEBUG_ANNOTATION__NAME_FIELD_NAME_IID;
	note->name_iid = name;
	notes->texts[notes->n++] = 0;
	return note;
}

/* ---- texts: they move while others are added, so notes learn at the end where they are ---- */

static void begin_text(RsPfNotes *notes, RsPfNote *note)
{
	note->value_case = CASE(STRING);
	notes->texts[note - notes->notes] = notes->text->len + 1;
}

static void end_text(RsPfNotes *notes)
{
	g_byte_array_append(notes->text, (const guint8 *)"", 1);
}

static void append_raw(GString *out, const char *text, gsize size)
{
	g_string_append_len(out, text, (gssize)size);
}

/* "running (0)", "A|C (0x5)", and "0x0" of no flags. */
static void put_symbols(RsPfNotes *notes, RsPfNote *note, const RsTraceField *field, guint64 value)
{
	g_autoptr(GString) text = g_string_sized_new(64);

	rs_trace_append_symbols(text, field, value, append_raw);
	if (!text->len)
		g_string_append_printf(text, "0x%" G_GINT64_MODIFIER "x", value);
	else
		g_string_append_printf(text,
				       field->kind == RS_KIND_FLAGS ? " (0x%" G_GINT64_MODIFIER "x)"
								    : " (%" G_GINT64_MODIFIER "u)",
				       value);
	begin_text(notes, note);
	g_byte_array_append(notes->text, (const guint8 *)text->str, (guint)text->len);
	end_text(notes);
}

/* ---- fields ---- */

static void put_integer(RsPfNote *note, guint64 value, gboolean is_signed)
{
	note->value_case = is_signed ? CASE(INT) : CASE(UINT);
	if (is_signed)
		note->int_value = (int64_t)value;
	else
		note->uint_value = value;
}

/* FALSE: there are too many. The elements' pointers are set at the end. */
static gboolean put_elements(RsPfNotes *notes, RsPfNote *note, const RsTraceField *field,
			     const guint8 *bytes, guint length)
{
	guint count = length / field->elem_size;

	if (count > RS_PF_ELEMENTS_MAX - notes->elements->len)
		return FALSE;
	note->n_array_values = count;
	for (guint i = 0; i < count; i++) {
		RsPfNote element = empty;

		put_integer(&element,
			    rs_trace_load_integer(bytes + (gsize)i * field->elem_size,
						  field->elem_size, field->is_signed),
			    field->is_signed);
		g_array_append_val(notes->elements, element);
	}
	return TRUE;
}

static gboolean put_field(RsPfNotes *notes, const RsTraceField *field, const RsTraceRecord *record,
			  guint64 name)
{
	const guint8 *bytes;
	RsPfNote *note;
	guint length;
	guint64 value;

	if (!rs_trace_field_bytes(field, record->payload, record->size, &bytes, &length))
		return FALSE;
	note = add(notes, name);
	if (field->kind == RS_KIND_STRING || field->kind == RS_KIND_DYN_STRING) {
		begin_text(notes, note);
		rs_trace_export_put_utf8(notes->text, (const char *)bytes, length);
		end_text(notes);
		return TRUE;
	}
	if (field->kind == RS_KIND_ARRAY || field->kind == RS_KIND_DYN_ARRAY)
		return put_elements(notes, note, field, bytes, length);
	value = rs_trace_load_integer(bytes, field->size, field->is_signed);
	if (field->kind == RS_KIND_ENUM || field->kind == RS_KIND_FLAGS) {
		put_symbols(notes, note, field, value);
	} else if (field->kind == RS_KIND_POINTER) {
		note->value_case = CASE(POINTER);
		note->pointer_value = value;
	} else {
		put_integer(note, value, field->is_signed);
	}
	return TRUE;
}

static void put_raw(RsPfNotes *notes, const RsTraceRecord *record)
{
	static const char digits[] = "0123456789abcdef";

	put_integer(add(notes, RS_PF_ID), record->id, FALSE);
	begin_text(notes, add(notes, RS_PF_RAW));
	for (guint i = 0; i < record->size; i++) {
		const guint8 hex[2] = {(guint8)digits[record->payload[i] >> 4],
				       (guint8)digits[record->payload[i] & 15]};

		g_byte_array_append(notes->text, hex, 2);
	}
	end_text(notes);
}

/* Nothing moves any more. */
static void set_pointers(RsPfNotes *notes)
{
	guint at = 0;

	if (notes->elements->len) {
		g_ptr_array_set_size(notes->pointers, (gint)notes->elements->len);
		for (guint i = 0; i < notes->elements->len; i++)
			notes->pointers->pdata[i] = &g_array_index(notes->elements, RsPfNote, i);
	}
	for (guint i = 0; i < notes->n; i++) {
		RsPfNote *note = &notes->notes[i];

		if (notes->texts[i])
			note->string_value = (char *)notes->text->data + notes->texts[i] - 1;
		if (note->n_array_values)
			note->array_values = (RsPfNote **)(notes->pointers->pdata + at);
		at += (guint)note->n_array_values;
	}
}

void rs_pf_notes_take(RsPfNotes *notes, const RsTraceRecord *record, guint64 first_name)
{
	gboolean cut = record->cut;
	char flags[5];

	notes->n = 0;
	g_byte_array_set_size(notes->text, 0);
	g_array_set_size(notes->elements, 0);
	put_integer(add(notes, RS_PF_CPU), record->ring, FALSE);
	begin_text(notes, add(notes, RS_PF_FLAGS));
	rs_trace_text_flags(record->context, flags);
	g_byte_array_append(notes->text, (const guint8 *)flags, sizeof(flags));
	end_text(notes);
	if (!record->event)
		put_raw(notes, record);
	for (guint i = 0; record->event && i < record->event->n_fields; i++)
		cut |= !put_field(notes, &record->event->fields[i], record, first_name + i);
	if (cut) {
		RsPfNote *note = add(notes, RS_PF_CUT);

		note->value_case = CASE(BOOL);
		note->bool_value = TRUE;
	}
	set_pointers(notes);
}
