/* SPDX-License-Identifier: MIT */
/*
 * Records as lines of text, as ftrace prints them. Payloads and names are hostile: every read is
 * bounded by the payload, and texts are escaped for a terminal (rs-trace-escape.h). A line's text
 * ends after RS_TRACE_TEXT_MAX bytes with "...".
 */
#ifndef RS_TRACE_TEXT_H
#define RS_TRACE_TEXT_H

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"
#include "rs-trace-value.h"

G_BEGIN_DECLS

#define RS_TRACE_TEXT_MAX 65536u

typedef enum {
	RS_TRACE_TEXT_NONE = 0,
	RS_TRACE_TEXT_SHORT = 1 << 0,  /* "switch" in place of "sched:switch" */
	RS_TRACE_TEXT_RAW = 1 << 1,    /* fields as they are, in place of the print format */
	RS_TRACE_TEXT_SOURCE = 1 << 2, /* "guest/" before the event: the name of its source */
	RS_TRACE_TEXT_NS = 1 << 3,     /* times in nanoseconds, in place of microseconds */
	RS_TRACE_TEXT_COLOR = 1 << 4,  /* with a terminal's colours, by escape sequences of ours */
} RsTraceTextStyle;

/*
 * The header above the lines, with counts as in ftrace's header. They are left out if nothing has
 * been written: then they would say 0/0 over all that comes. `cpus`: the number of rings.
 */
void rs_trace_text_header(GString *out, guint64 entries, guint64 written, guint cpus);

/*
 * Appends one line with its newline: of a record, or "CPU:1 [LOST 214 EVENTS]". A line for each
 * frame follows if the record has a call stack (rs-trace-stack.h). `task`: from
 * rs_trace_cmdline_lookup(). `style`: RS_TRACE_TEXT_* combined.
 */
void rs_trace_text_line(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
			RsTraceTextStyle style);
/* Likewise. `time`: what stands for the record's time, without a colon; NULL: its seconds. */
void rs_trace_text_line_at(GString *out, const RsTraceRecord *record, const RsTraceTask *task,
			   RsTraceTextStyle style, const char *time);

/* The name that begins such a line, escaped. NULL: there is none, or it is not to be said. */
const char *rs_trace_text_source(const RsTraceRecord *record, RsTraceTextStyle style);

/* Appends only the event's own text, by its print format. "(cut)" replaces a missing part. */
void rs_trace_text_message(GString *out, const RsTraceRecord *record);

/*
 * Appends the event's fields as they are, "name=value" with spaces between them: integers and the
 * values of symbols in decimal, pointers and what the event says is hexadecimal as 0x…, arrays in
 * braces, strings in quotes as in JSON. "(cut)" replaces a value that the payload lacks.
 */
void rs_trace_text_raw(GString *out, const RsTraceRecord *record);
/* Appends one field's value likewise. `field` is of the record's event. */
void rs_trace_text_raw_value(GString *out, const RsTraceField *field, const RsTraceRecord *record);

/* The five letters of the flag column, without a NUL. */
void rs_trace_text_flags(guint context, char out[5]);

G_END_DECLS

#endif
