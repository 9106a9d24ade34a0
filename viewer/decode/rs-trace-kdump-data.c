/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "rs-trace-kdump-private.h"

#include "rs-trace-escape.h"

#include <signal.h>
#include <string.h>

#define INDENT "       "
#define ROW 16u

/* Appends text with C's escapes for what is common; `broken`: a line ends where one of it does. */
static void append_text(GString *out, const guint8 *bytes, gsize size, gboolean broken)
{
	gsize from = 0;

	for (gsize at = 0; at <= size; at++) {
		const char *shown = NULL;

		if (at < size && bytes[at] == '\n')
			shown = broken && at + 1 < size ? "\\n\n " INDENT : "\\n";
		else if (at < size && bytes[at] == '\t')
			shown = "\\t";
		else if (at < size && bytes[at] == '\r')
			shown = "\\r";
		else if (at < size && bytes[at] == '\\')
			shown = "\\\\";
		else if (at < size && bytes[at] == '"')
			shown = "\\\"";
		else if (at < size)
			continue;
		rs_trace_append_escaped(out, (const char *)bytes + from, at - from, NULL);
		if (shown)
			g_string_append(out, shown);
		from = at + 1;
	}
}

void rs_trace_kdump_quote(GString *out, const guint8 *bytes, gsize size)
{
	g_string_append_c(out, '"');
	append_text(out, bytes, size, FALSE);
	g_string_append_c(out, '"');
}

/* Up to 16 bytes: "       0x0010 68 65 6c 6c 6f  |hello|". */
static void append_row(GString *out, const guint8 *bytes, gsize at, gsize size, gboolean ascii)
{
	gsize end = MIN(at + ROW, size);

	g_string_append_printf(out, INDENT "0x%04" G_GSIZE_MODIFIER "x", at);
	for (gsize i = at; i < end; i++)
		g_string_append_printf(out, " %02x", bytes[i]);
	if (ascii) {
		g_string_append_printf(out, "%*s  |", (int)(3 * (at + ROW - end)), "");
		for (gsize i = at; i < end; i++)
			g_string_append_c(out, g_ascii_isprint(bytes[i]) ? (char)bytes[i] : '.');
		g_string_append_c(out, '|');
	}
	g_string_append_c(out, '\n');
}

void rs_trace_kdump_data(GString *out, const RsTraceKdumpOptions *options, const guint8 *bytes,
			 gsize size)
{
	gsize shown = (gsize)MIN((guint64)size, options->max_data);

	if (!shown)
		return;
	if (options->hex || options->hex_ascii) {
		for (gsize at = 0; at < shown; at += ROW)
			append_row(out, bytes, at, shown, options->hex_ascii);
		if (shown < size)
			g_string_append(out, INDENT "...\n");
		return;
	}
	g_string_append(out, INDENT "\"");
	append_text(out, bytes, shown, TRUE);
	g_string_append(out, shown < size ? "\"...\n" : "\"\n");
}

void rs_trace_kdump_strings(GString *out, const guint8 *bytes, gsize size, guint64 length)
{
	gsize at = 0;

	for (guint i = 0; at < size; i++) {
		const guint8 *end = memchr(bytes + at, 0, size - at);
		gsize n = end ? (gsize)(end - bytes) - at : size - at;

		g_string_append_printf(out, INDENT "[%u] = ", i);
		rs_trace_kdump_quote(out, bytes + at, n);
		g_string_append(out, end || size == length ? "\n" : "...\n");
		at += n + 1;
	}
	if (size < length)
		g_string_append_printf(
			out, INDENT "(%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " bytes)\n",
			(guint64)size, length);
}

void rs_trace_kdump_errno(GString *out, const RsTraceKdumpOptions *options, gint64 error)
{
	const char *text = NULL;

	if (!options->plain && error == (int)error)
		text = strerrordesc_np((int)error);
	g_string_append_printf(out, " errno %" G_GINT64_FORMAT, error);
	if (text)
		g_string_append_printf(out, " %s", text);
}

void rs_trace_kdump_signal(GString *out, gint64 number)
{
	const char *name = number == (int)number ? sigabbrev_np((int)number) : NULL;

	if (name)
		g_string_append_printf(out, "SIG%s", name);
	else
		g_string_append_printf(out, "signal %" G_GINT64_FORMAT, number);
}
