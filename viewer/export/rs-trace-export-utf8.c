/* SPDX-License-Identifier: MIT */
#include "rs-trace-formats-private.h"

#include <string.h>

static gboolean is_ascii(const char *text, gsize size)
{
	guint8 all = 0;

	for (gsize i = 0; i < size; i++)
		all |= (guint8)text[i];
	return all < 0x80;
}

/* U+EF80 to U+EFFF, which stand for bytes. `text` is one character. */
static gboolean is_reserved(const char *text, gsize size)
{
	return size == 3 && (guint8)text[0] == 0xee && (guint8)text[1] >= 0xbe;
}

static void put_byte(GByteArray *out, guint8 byte)
{
	const guint8 character[3] = {0xee, (guint8)(0xbe | (byte >> 6 & 1)),
				     (guint8)(0x80 | (byte & 0x3f))};

	g_byte_array_append(out, character, sizeof(character));
}

void rs_trace_export_put_utf8(GByteArray *out, const char *text, gsize size)
{
	const char *end = text + size;

	if (is_ascii(text, size)) {
		g_byte_array_append(out, (const guint8 *)text, (guint)size);
		return;
	}
	while (text < end) {
		gunichar c = g_utf8_get_char_validated(text, end - text);
		gsize bytes = c < 0x110000 ? (gsize)g_unichar_to_utf8(c, NULL) : 1;

		if (c < 0x110000 && !is_reserved(text, bytes)) {
			g_byte_array_append(out, (const guint8 *)text, (guint)bytes);
			text += bytes;
			continue;
		}
		for (gsize i = 0; i < bytes; i++)
			put_byte(out, (guint8)text[i]);
		text += bytes;
	}
}

char *rs_trace_export_utf8(const char *text, gsize size)
{
	GByteArray *out = g_byte_array_new();

	rs_trace_export_put_utf8(out, text, size);
	g_byte_array_append(out, (const guint8 *)"", 1);
	return (char *)g_byte_array_free(out, FALSE);
}
