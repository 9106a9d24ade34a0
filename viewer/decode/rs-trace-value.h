/* SPDX-License-Identifier: MIT */
/*
 * Values of a record's fields, as bytes, numbers and text. Payloads are hostile: every read is
 * bounded by the payload. Any thread.
 */
#ifndef RS_TRACE_VALUE_H
#define RS_TRACE_VALUE_H

#include "rs-trace-schema.h"

G_BEGIN_DECLS

/*
 * The bytes of a field: its own, or those that its locator names. A string ends before its NUL.
 * FALSE: they lie outside the payload. Elements are elem_size bytes each.
 */
gboolean rs_trace_field_bytes(const RsTraceField *field, const guint8 *payload, guint size,
			      const guint8 **bytes, guint *length);
/* Whether rs_trace_field_bytes() finds only the front of a field: the rest did not fit. */
gboolean rs_trace_field_is_cut(const RsTraceField *field, const guint8 *payload, guint size);
/* An integer of 1, 2, 4 or 8 bytes, zero- or sign-extended. */
guint64 rs_trace_load_integer(const guint8 *bytes, guint size, gboolean is_signed);

typedef void (*RsTraceAppendFunc)(GString *out, const char *text, gsize size);
/*
 * Appends the name of an enum's value, or the names of flags with '|' between them. A value without
 * a name becomes hex, "0x5". `append` gets the names and escapes them. All else is plain ASCII.
 */
void rs_trace_append_symbols(GString *out, const RsTraceField *field, guint64 value,
			     RsTraceAppendFunc append);

/*
 * Appends a field as "%s" shows it: integers in decimal or hex, symbols, arrays as {1,2}, strings.
 * `append` gets texts that are not escaped yet. "...": only the front is there. "(cut)": it lies
 * outside the payload.
 */
void rs_trace_append_field(GString *out, const RsTraceField *field, const guint8 *payload,
			   guint size, RsTraceAppendFunc append);

G_END_DECLS

#endif
