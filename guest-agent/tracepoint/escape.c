/* SPDX-License-Identifier: MIT */
#include "escape.h"

/*
 * Bytes of the UTF-8 character at `text`, and the character. 0: it is none. Looks at no byte behind
 * a NUL, so a text with one may have any `size`.
 */
static uint32_t decode(const char *text, uint32_t size, uint32_t *out)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t first = (uint8_t)*text;
	uint32_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint32_t c = first & (0x7fu >> length);

	*out = first;
	if (first < 0x80)
		return 1;
	if (first < 0xc0 || first > 0xf7 || length > size)
		return 0;
	for (uint32_t i = 1; i < length; i++) {
		if (!rs_is_later_byte(text[i]))
			return 0;
		c = c << 6 | ((uint8_t)text[i] & 0x3f);
	}
	*out = c;
	return c < least[length] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff) ? 0 : length;
}

/* In order: control characters, Unicode's format characters, and what nobody sees. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{0x0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},
	{0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
	{0x890, 0x891},     {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x17b4, 0x17b5},
	{0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x2064},
	{0x2066, 0x206f},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
	{0xffa0, 0xffa0},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
	{0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

uint32_t rs_plain_character(const char *text, uint32_t size)
{
	uint32_t c, length = decode(text, size, &c);
	uint32_t from = 0, to = sizeof(hidden) / sizeof(hidden[0]);

	while (from < to) {
		uint32_t middle = (from + to) / 2;

		if (c < hidden[middle].first)
			to = middle;
		else if (c > hidden[middle].last)
			from = middle + 1;
		else
			return 0;
	}
	return length;
}

void rs_put_escaped(struct rs_out *out, const char *text, uint32_t size)
{
	static const char hex[] = "0123456789abcdef";
	uint32_t at = 0;

	while (at < size) {
		uint32_t length = rs_plain_character(text + at, size - at);
		uint8_t c = (uint8_t)text[at];

		if (!length) {
			rs_put_text(out, "\\x");
			rs_put(out, hex[c >> 4]);
			rs_put(out, hex[c & 15]);
			at++;
		}
		while (length--)
			rs_put(out, text[at++]);
	}
}

bool rs_is_utf8(const char *text)
{
	uint32_t c, length;

	for (; *text; text += length) {
		length = decode(text, 4, &c);
		if (!length)
			return false;
	}
	return true;
}
