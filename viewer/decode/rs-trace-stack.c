/* SPDX-License-Identifier: MIT */
#include "rs-trace-stack.h"
#include "rs-trace-append-private.h"
#include "rs-trace-escape.h"

#include <string.h>

guint64 rs_trace_stack_frame(const RsTraceRecord *record, guint i)
{
	guint64 frame;

	memcpy(&frame, record->stack + (gsize)i * sizeof(frame), sizeof(frame));
	return GUINT64_FROM_LE(frame);
}

gboolean rs_trace_stack_append_frame(GString *out, const RsTraceRecord *record, guint i,
				     RsTraceSymbolsAppend escape)
{
	guint64 address = rs_trace_stack_frame(record, i);

	if (rs_trace_symbols_append_frame(record->symbols, record->when, address, escape, out))
		return TRUE;
	rs_append_hex(out, address);
	return FALSE;
}

static void append_escaped(GString *out, const char *text, gsize size)
{
	rs_trace_append_escaped(out, text, size, NULL);
}

void rs_trace_stack_text(GString *out, const RsTraceRecord *record)
{
	for (guint i = 0; i < record->n_stack; i++) {
		g_string_append(out, " => ");
		rs_trace_stack_append_frame(out, record, i, append_escaped);
		g_string_append_c(out, '\n');
	}
}

/* Returns how many frames have names. */
static guint append_names(GString *out, const RsTraceRecord *record)
{
	guint named = 0;
	gsize start;

	g_string_append(out, ",\"symbols\":[");
	for (guint i = 0; i < record->n_stack; i++) {
		g_string_append(out, i ? ",\"" : "\"");
		start = out->len;
		if (rs_trace_stack_append_frame(out, record, i, rs_trace_append_json_escaped)) {
			g_string_append_c(out, '"');
			named++;
		} else {
			g_string_truncate(out, start - 1);
			g_string_append(out, "null");
		}
	}
	g_string_append_c(out, ']');
	return named;
}

void rs_trace_stack_json(GString *out, const RsTraceRecord *record)
{
	gsize start;

	if (!record->n_stack)
		return;
	g_string_append(out, ",\"stack\":[");
	for (guint i = 0; i < record->n_stack; i++) {
		rs_append_text(out, i ? ",\"" : "\"");
		rs_append_hex(out, rs_trace_stack_frame(record, i));
		rs_append_char(out, '"');
	}
	g_string_append_c(out, ']');
	start = out->len;
	if (record->symbols && !append_names(out, record))
		g_string_truncate(out, start);
}
