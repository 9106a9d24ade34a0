/* SPDX-License-Identifier: MIT */
/* Text into a caller's buffer: what fits is kept, and all of it counted, as snprintf() does. */
#ifndef RS_TRACEPOINT_OUT_H
#define RS_TRACEPOINT_OUT_H

#include <ringside/types.h>

struct rs_out {
	char *out; /* may be NULL if `size` is 0 */
	uint32_t size;
	uint32_t at;    /* bytes so far, kept or not */
	uint32_t chars; /* UTF-8 characters among them */
	uint32_t limit; /* if a text is to end after so many bytes, … */
	uint32_t last;  /* … where its last character begins that begins at or before them */
};

#pragma GCC visibility push(hidden) /* not for who links the agent */

static inline bool rs_is_later_byte(char c)
{
	return ((uint8_t)c & 0xc0) == 0x80;
}

static inline void rs_put(struct rs_out *out, char c)
{
	if (out->at + 1 < out->size)
		out->out[out->at] = c;
	if (!rs_is_later_byte(c)) {
		out->chars++;
		if (out->at <= out->limit)
			out->last = out->at;
	}
	out->at++;
}

static inline void rs_put_text(struct rs_out *out, const char *text)
{
	while (*text)
		rs_put(out, *text++);
}

static inline void rs_put_fill(struct rs_out *out, char c, uint32_t count)
{
	while (count--)
		rs_put(out, c);
}

/* The digits of `value`, which end at `end`: where they begin. They have at most 22. */
static inline char *rs_digits(char *end, uint64_t value, uint32_t base, const char *digits)
{
	do
		*--end = digits[value % base];
	while (value /= base);
	return end;
}

/* `value` in decimal, with as many zeros or blanks before it as make it `width` characters. */
static inline void rs_put_number(struct rs_out *out, uint64_t value, uint32_t width, char fill)
{
	char buffer[24], *end = buffer + sizeof(buffer);
	char *at = rs_digits(end, value, 10, "0123456789");

	for (uint32_t n = (uint32_t)(end - at); n < width; n++)
		rs_put(out, fill);
	while (at < end)
		rs_put(out, *at++);
}

/* "0x" and hexadecimal digits. */
static inline void rs_put_hex(struct rs_out *out, uint64_t value)
{
	char buffer[24], *end = buffer + sizeof(buffer);
	char *at = rs_digits(end, value, 16, "0123456789abcdef");

	rs_put_text(out, "0x");
	while (at < end)
		rs_put(out, *at++);
}

/* A NUL behind what was kept. Returns the length of the whole text. */
static inline uint32_t rs_put_end(struct rs_out *out)
{
	if (out->size)
		out->out[out->at < out->size ? out->at : out->size - 1] = 0;
	return out->at;
}

#pragma GCC visibility pop

#endif
