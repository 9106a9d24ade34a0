/* SPDX-License-Identifier: MIT */
#include "cli/json_line.h"

#include <math.h>
#include <rs-trace-escape.h>
#include <string.h>

void rs_json_begin(GString *out)
{
	g_string_append_c(out, '{');
}

void rs_json_end(GString *out)
{
	g_string_append(out, "}\n");
}

static void add_key(GString *out, const char *key)
{
	const char *comma = out->str[out->len - 1] == '{' ? "" : ",";

	g_string_append_printf(out, "%s\"%s\":", comma, key);
}

void rs_json_text(GString *out, const char *key, const char *text)
{
	add_key(out, key);
	if (!text) {
		g_string_append(out, "null");
		return;
	}
	g_string_append_c(out, '"');
	rs_trace_append_json_escaped(out, text, strlen(text));
	g_string_append_c(out, '"');
}

void rs_json_number(GString *out, const char *key, uint64_t value)
{
	add_key(out, key);
	g_string_append_printf(out, "%" G_GUINT64_FORMAT, value);
}

void rs_json_signed(GString *out, const char *key, int64_t value)
{
	add_key(out, key);
	g_string_append_printf(out, "%" G_GINT64_FORMAT, value);
}

void rs_json_real(GString *out, const char *key, double value)
{
	char text[G_ASCII_DTOSTR_BUF_SIZE];

	add_key(out, key);
	g_string_append(out, isfinite(value) ? g_ascii_formatd(text, sizeof(text), "%.9g", value)
					     : "null");
}

void rs_json_true(GString *out, const char *key)
{
	add_key(out, key);
	g_string_append(out, "true");
}
