/* SPDX-License-Identifier: MIT */
/* The formats, each in a file of its own, and what they share. */
#ifndef RS_TRACE_FORMATS_PRIVATE_H
#define RS_TRACE_FORMATS_PRIVATE_H

#include "rs-trace-exporter.h"

extern const RsTraceExportFormat rs_trace_export_chrome, rs_trace_export_csv, rs_trace_export_ctf,
	rs_trace_export_dat, rs_trace_export_json, rs_trace_export_perfetto, rs_trace_export_text;

#define RS_TRACE_EXPORT_BUFFER ((gsize)64 << 10) /* bytes of text, before they are written */

/* Writes all of `buffer` to the output's stream, and empties it. */
gboolean rs_trace_export_flush(const RsTraceExportConfig *config, GString *buffer, GError **error);

/*
 * Appends the guest's bytes as UTF-8, for formats whose strings are that. Bytes that are not UTF-8
 * become U+EF80 to U+EFFF, as rs_trace_append_json_escaped() has it.
 */
void rs_trace_export_put_utf8(GByteArray *out, const char *text, gsize size);
/* The same as a new string. */
char *rs_trace_export_utf8(const char *text, gsize size);

/* Appends the symbol of a frame, or its address. */
void rs_trace_export_frame(GString *out, const RsTraceRecord *record, guint frame,
			   RsTraceSymbolsAppend escape);

#endif
