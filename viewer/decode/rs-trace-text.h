/* SPDX-License-Identifier: MIT */
/*
 * Records as lines of text, as ftrace prints them. Payloads and names are hostile: every read is
 * bounded by the payload, texts are escaped for a terminal (rs-trace-escape.h), and a line's text ends after RS_TRACE_TEXT_MAX bytes with "...".
 */
#ifndef RS_TRACE_TEXT_H
#define RS_TRACE_TEXT_H

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"

G_BEGIN_DECLS

#define RS_TRACE_TEXT_MAX 65536u

typedef enum {
	RS_TRACE_TEXT_SHORT = 1 << 0, /* "switch" in place of "sched:switch" */
} RsTraceTextStyle;

/* The header above the lines. Counts as ftrace has them; `cpus` is the number of rings. */
void rs_trace_text_header(GString *out, guint64 entries, guint64 written, guint cpus);

/*
 * Appends one line with its newline: of a record, or "CPU:1 [LOST 214 EVENTS]". `comm` is the task's
 * name as rs_trace_cmdline_lookup() gave it. `style`: RS_TRACE_TEXT_* together, 0 for none.
 */
void rs_trace_text_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
			RsTraceTextStyle style);

/* Appends only the event's own text, by its print format. A part that the payload lacks reads "(cut)". */
void rs_trace_text_message(GString *out, const RsTraceRecord *record);

typedef void (*RsTraceAppendFunc)(GString *out, const char *text, gsize size);
/*
 * Appends what an enum's value is called, or the names of its flags with '|' between them; what has no
 * name in hex, "0x5". Names go through `append`, which escapes them; all else is plain ASCII.
 */
void rs_trace_append_symbols(GString *out, const RsTraceField *field, guint64 value,
			     RsTraceAppendFunc append);

/* The five letters of the flag column, without a NUL. */
void rs_trace_text_flags(guint context, char out[5]);

/*
 * Bytes of a field that are really there: of the field itself, or of what its locator names; a string
 * ends before its NUL. FALSE: they lie outside the payload. Elements are elem_size bytes each.
 */
gboolean rs_trace_field_bytes(const RsTraceField *field, const guint8 *payload, guint size,
			      const guint8 **bytes, guint *length);
/* An integer of 1, 2, 4 or 8 bytes, zero- or sign-extended. */
guint64 rs_trace_load_integer(const guint8 *bytes, guint size, gboolean is_signed);

G_END_DECLS

#endif
