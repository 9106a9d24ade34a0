/* SPDX-License-Identifier: MIT */
#include "rs-trace-escape.h"

#include "rs-trace-append-private.h"

#include <string.h>

#define RAW_BYTES 0xef00u /* plus a byte from 0x80 to 0xff */

static const char hex[] = "0123456789abcdef";

/* Bytes of the character at `text`, and the character; 0: this is not UTF-8. */
static gsize get_char(const char *text, gsize size, gunichar *c)
{
	*c = (guchar)*text;
	if (*c < 0x80)
		return 1;
	*c = g_utf8_get_char_validated(text, (gssize)size);
	if (*c == (gunichar)-1 || *c == (gunichar)-2)
		return 0;
	return (gsize)(g_utf8_next_char(text) - text);
}

/*
 * Letters and marks that nobody sees. With them one text looks like another. They are those that
 * Unicode calls ignorable by default and GLib calls printable.
 */
static gboolean is_invisible(gunichar c)
{
	static const struct {
		gunichar first, last;
	} ranges[] = {
		{0x034f, 0x034f}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
		{0x3164, 0x3164}, {0xfe00, 0xfe0f}, {0xffa0, 0xffa0}, {0xe0000, 0xe0fff},
	};

	for (guint i = 0; i < G_N_ELEMENTS(ranges); i++) {
		if (c >= ranges[i].first && c <= ranges[i].last)
			return TRUE;
	}
	return FALSE;
}

static gboolean is_plain(gunichar c)
{
	if (c < 0x80)
		return c >= 0x20 && c < 0x7f;
	return g_unichar_isprint(c) && c != 0x2028 && c != 0x2029 && !is_invisible(c);
}

gsize rs_trace_plain_char(const char *text, gsize size)
{
	gunichar c;
	gsize length = get_char(text, size, &c);

	return length && is_plain(c) ? length : 0;
}

/*
 * Sets the highest bit of each byte that is not printable ASCII, or that is `"` or `\\` if `json`
 * is set. Such a byte may set bits of those after it, too, so that only the lowest one counts.
 */
static inline guint64 find_other(guint64 bytes, gboolean json)
{
	const guint64 ones = G_GUINT64_CONSTANT(0x0101010101010101);
	guint64 other = ((bytes - ones * 0x20) & ~bytes) | (bytes + ones) | bytes;

	if (json) {
		guint64 quote = bytes ^ ones * '"', slash = bytes ^ ones * '\\';

		other |= ((quote - ones) & ~quote) | ((slash - ones) & ~slash);
	}
	return other & ones * 0x80;
}

/* Fewer than 8 bytes, and behind them what is printable. */
static inline guint64 load_few(const char *text, gsize size)
{
	guint64 bytes = G_GUINT64_CONSTANT(0x2020202020202020);
	guint32 low, high;

	if (size >= 4) {
		memcpy(&low, text, 4);
		memcpy(&high, text + size - 4, 4);
		low = GUINT32_FROM_LE(low);
		high = GUINT32_FROM_LE(high);
		return bytes << 8 * size | (guint64)high << 8 * (size - 4) | low;
	}
	bytes <<= 8 * size;
	for (gsize i = 0; i < size; i++)
		bytes |= (guint64)(guchar)text[i] << 8 * i;
	return bytes;
}

/* How many bytes from the start are printable ASCII, and none of `"` and `\\` if `json` is set. */
static inline gsize count_plain(const char *text, gsize size, gboolean json)
{
	guint64 bytes, other;
	gsize at = 0;

	for (; size - at >= 8; at += 8) {
		memcpy(&bytes, text + at, 8);
		other = find_other(GUINT64_FROM_LE(bytes), json);
		if (other)
			return at + (gsize)__builtin_ctzll(other) / 8;
	}
	if (at == size)
		return size;
	other = find_other(load_few(text + at, size - at), json);
	return other ? at + (gsize)__builtin_ctzll(other) / 8 : size;
}

void rs_trace_append_escaped(GString *out, const char *text, gsize size, const char *keep)
{
	gsize from = 0, at = 0;

	while ((at += count_plain(text + at, size - at, FALSE)) < size) {
		guchar c = (guchar)text[at];
		gsize plain;

		plain = keep && c && strchr(keep, c) ? 1
						     : rs_trace_plain_char(text + at, size - at);
		if (plain) {
			at += plain;
			continue;
		}
		g_string_append_len(out, text + from, (gssize)(at - from));
		from = ++at;
		g_string_append_len(out, (char[]){'\\', 'x', hex[c >> 4], hex[c & 15]}, 4);
	}
	rs_append_bytes(out, text + from, at - from);
}

char *rs_trace_escape(const char *text, gssize size, const char *keep)
{
	gsize length = size < 0 ? strlen(text) : (gsize)size;
	GString *out = g_string_sized_new(length + 16);

	rs_trace_append_escaped(out, text, length, keep);
	return g_string_free(out, FALSE);
}

static void append_unit(GString *out, guint unit)
{
	g_string_append_len(out,
			    (char[]){'\\', 'u', hex[unit >> 12 & 15], hex[unit >> 8 & 15],
				     hex[unit >> 4 & 15], hex[unit & 15]},
			    6);
}

/* For a character that is not allowed in a JSON string, or not safe on a terminal. */
static void append_json_escape(GString *out, gunichar c)
{
	switch (c) {
	case '"':
	case '\\':
		g_string_append_c(out, '\\');
		g_string_append_c(out, (char)c);
		return;
	case '\n':
		g_string_append(out, "\\n");
		return;
	case '\r':
		g_string_append(out, "\\r");
		return;
	case '\t':
		g_string_append(out, "\\t");
		return;
	default:
		break;
	}
	if (c >= 0x10000) {
		append_unit(out, 0xd800 + ((c - 0x10000) >> 10));
		c = 0xdc00 + (c & 0x3ff);
	}
	append_unit(out, c);
}

void rs_trace_append_json_escaped(GString *out, const char *text, gsize size)
{
	gsize from = 0, at = 0;

	while ((at += count_plain(text + at, size - at, TRUE)) < size) {
		gunichar c;
		gsize length;
		gboolean raw;

		length = get_char(text + at, size - at, &c);
		raw = !length || (c >= RAW_BYTES + 0x80 && c <= RAW_BYTES + 0xff);
		if (!raw && length > 1 && is_plain(c)) {
			at += length;
			continue;
		}
		g_string_append_len(out, text + from, (gssize)(at - from));
		if (raw)
			append_unit(out, RAW_BYTES + (guchar)text[at]);
		else
			append_json_escape(out, c);
		/* After the first byte of such a character, the rest is not UTF-8 by itself. */
		at += raw ? 1 : length;
		from = at;
	}
	rs_append_bytes(out, text + from, at - from);
}
