/* SPDX-License-Identifier: MIT */
/*
 * What may be a name. The agent refuses to register other names (-RS_EILSEQ), since the host
 * leaves out an event that breaks these rules.
 *
 *   providers, systems, events  letters, digits, '_', '-' and '.'; not '-' or '.' at the front
 *   fields                      the same as a name in C
 *   types                       letters, digits, '_', '*', '[', ']' and blanks
 *   symbols                     any text in UTF-8 without control characters
 *
 * The names of the first two lines have less than RS_NAME_MAX bytes, those of the last two less
 * than RS_SYMBOL_LEN. None is empty. People type names in globs, filters and shells, so names hold
 * no character with a meaning there.
 */
#ifndef RINGSIDE_NAME_H
#define RINGSIDE_NAME_H

#include <ringside/types.h>

static inline bool rs_is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Whether `text` is 1 to `room` - 1 letters, digits and characters of `more`. NULL is not. */
static inline bool rs_is_made_of(const char *text, const char *more, uint32_t room)
{
	uint32_t n = 0;

	for (; text && n < room && text[n]; n++) {
		const char *c = more;

		if (rs_is_alnum(text[n]))
			continue;
		while (*c && *c != text[n])
			c++;
		if (!*c)
			return false;
	}
	return n > 0 && n < room;
}

/* Whether it may be the name of a provider, system or event. */
static inline bool rs_is_name(const char *text)
{
	return rs_is_made_of(text, "_-.", RS_NAME_MAX) && *text != '-' && *text != '.';
}

static inline bool rs_is_field_name(const char *text)
{
	return rs_is_made_of(text, "_", RS_NAME_MAX) && !(*text >= '0' && *text <= '9');
}

/* `room`: RS_SYMBOL_LEN, or less if something will be added to the type. */
static inline bool rs_is_type(const char *text, uint32_t room)
{
	return rs_is_made_of(text, "_ *[]", room);
}

/*
 * Bytes of the UTF-8 character at `s`, a NUL-terminated text. 0: it is invalid, a control
 * character, or the text's end.
 */
static inline uint32_t rs_character_size(const unsigned char *s)
{
	uint32_t size = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	/*
	 * Limits of the second byte. They exclude overlong forms, surrogates, and all above
	 * U+10FFFF.
	 */
	unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : s[0] == 0xc2 ? 0xa0 : 0x80;
	unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;

	if (size == 1)
		return s[0] >= 0x20 && s[0] != 0x7f;
	if (s[0] < 0xc2 || s[0] > 0xf4 || s[1] < low || s[1] > high)
		return 0;
	for (uint32_t i = 2; i < size; i++) {
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	}
	return size;
}

static inline bool rs_is_symbol(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t n = 0, size;

	for (; s && s[n]; n += size) {
		size = rs_character_size(s + n);
		if (!size || n + size >= RS_SYMBOL_LEN)
			return false;
	}
	return n > 0;
}

#endif
