/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-record.h"

#include <glib/gi18n.h>
#include <string.h>

#define LINE 16u

static void add_phrase(GString *text, const char *phrase)
{
	if (text->len)
		g_string_append(text, "; ");
	g_string_append(text, phrase);
}

static void add_depth(GString *text, const char *format, char digit)
{
	g_autofree char *phrase = NULL;

	if (!g_ascii_isxdigit(digit))
		return;
	phrase = g_strdup_printf(format, (guint)g_ascii_xdigit_value(digit));
	add_phrase(text, phrase);
}

char *rs_viewer_record_flags(const char *flags)
{
	GString *text = g_string_new(NULL);

	if (strlen(flags) < 5)
		return g_string_free(text, FALSE);
	if (flags[0] == 'd')
		add_phrase(text, _("interrupts off"));
	if (flags[1] == 'n')
		add_phrase(text, _("another task is to run"));
	if (flags[2] == 'z' || flags[2] == 'Z')
		add_phrase(text, _("in a non-maskable interrupt"));
	if (flags[2] == 'h' || flags[2] == 'H' || flags[2] == 'Z')
		add_phrase(text, _("in an interrupt"));
	if (flags[2] == 's' || flags[2] == 'H')
		add_phrase(text, _("in a soft interrupt"));
	add_depth(text, _("preemption disabled %u times"), flags[3]);
	add_depth(text, _("migration disabled %u times"), flags[4]);
	return g_string_free(text, FALSE);
}

static void add_line(GString *text, const guint8 *bytes, gsize at, gsize n)
{
	g_string_append_printf(text, "%04" G_GSIZE_MODIFIER "x ", at);
	for (gsize i = 0; i < LINE; i++) {
		if (i == LINE / 2)
			g_string_append_c(text, ' ');
		if (i < n)
			g_string_append_printf(text, " %02x", bytes[at + i]);
		else
			g_string_append(text, "   ");
	}
	g_string_append(text, "  ");
	for (gsize i = 0; i < n; i++)
		g_string_append_c(text, g_ascii_isprint(bytes[at + i]) ? (char)bytes[at + i] : '.');
}

char *rs_viewer_record_bytes(GBytes *bytes, gsize max)
{
	GString *text = g_string_new(NULL);
	gsize size = 0;
	const guint8 *data = bytes ? g_bytes_get_data(bytes, &size) : NULL;

	for (gsize at = 0; at < MIN(size, max); at += LINE) {
		if (at)
			g_string_append_c(text, '\n');
		add_line(text, data, at, MIN(MIN(size, max) - at, LINE));
	}
	if (size > max) {
		guint more = (guint)MIN(size - max, G_MAXUINT);

		g_string_append_c(text, '\n');
		g_string_append_printf(
			text, g_dngettext(NULL, "and %u more byte", "and %u more bytes", more),
			more);
	}
	return g_string_free(text, FALSE);
}

char *rs_viewer_record_fields(const RsTraceRow *row)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; row->fields && i < row->fields->len; i++) {
		const RsTraceRowField *field = g_ptr_array_index(row->fields, i);

		g_string_append_printf(text, "%s%s\t%s\t%s\t%s", i ? "\n" : "", field->name,
				       field->type, field->value, field->raw);
	}
	return g_string_free(text, FALSE);
}

char *rs_viewer_record_stack(const RsTraceRow *row)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; row->stack && row->stack[i]; i++)
		g_string_append_printf(text, "%s0x%" G_GINT64_MODIFIER "x %s", i ? "\n" : "",
				       row->addresses[i], row->stack[i]);
	return g_string_free(text, FALSE);
}

char *rs_viewer_record_shorten(const char *text, gsize max)
{
	g_autofree char *cut = NULL, *valid = NULL;
	const char *end;

	if (strnlen(text, max + 1) <= max)
		return g_utf8_make_valid(text, -1);
	end = g_utf8_find_prev_char(text, text + max + 1);
	cut = g_strndup(text, end ? (gsize)(end - text) : 0);
	valid = g_utf8_make_valid(cut, -1);
	return g_strconcat(valid, "…", NULL);
}
