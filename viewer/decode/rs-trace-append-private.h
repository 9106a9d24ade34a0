/* SPDX-License-Identifier: MIT */
/*
 * Appends small pieces to a GString without a call for each. rs_append_room() makes room, the
 * caller writes, and rs_append_done() says where the string ends now. Inside viewer/decode only.
 */
#ifndef RS_TRACE_APPEND_PRIVATE_H
#define RS_TRACE_APPEND_PRIVATE_H

#include <glib.h>
#include <string.h>

#define RS_APPEND_DIGITS 20u /* of the largest number of 64 bits */

/* Where `size` bytes may be written. Valid until the next call for the string. */
static inline char *rs_append_room(GString *out, gsize size)
{
	gsize length = out->len;

	if (G_UNLIKELY(out->allocated_len - length <= size)) {
		g_string_set_size(out, length + size);
		out->len = length;
	}
	return out->str + length;
}

static inline void rs_append_done(GString *out, char *end)
{
	*end = 0;
	out->len = (gsize)(end - out->str);
}

/*
 * memcpy() of what is mostly short: no call for up to 16 bytes, and no loop. The two halves overlap
 * unless they have to be whole. Returns where they end.
 */
static inline char *rs_put_bytes(char *to, const char *bytes, gsize size)
{
	guint64 low, high;
	guint32 low32, high32;

	if (size > 16) {
		memcpy(to, bytes, size);
	} else if (size >= 8) {
		memcpy(&low, bytes, 8);
		memcpy(&high, bytes + size - 8, 8);
		memcpy(to, &low, 8);
		memcpy(to + size - 8, &high, 8);
	} else if (size >= 4) {
		memcpy(&low32, bytes, 4);
		memcpy(&high32, bytes + size - 4, 4);
		memcpy(to, &low32, 4);
		memcpy(to + size - 4, &high32, 4);
	} else if (size) {
		to[0] = bytes[0];
		to[size / 2] = bytes[size / 2];
		to[size - 1] = bytes[size - 1];
	}
	return to + size;
}

static inline void rs_append_bytes(GString *out, const char *bytes, gsize size)
{
	char *at = rs_append_room(out, size);

	rs_append_done(out, rs_put_bytes(at, bytes, size));
}

static inline void rs_append_text(GString *out, const char *text)
{
	rs_append_bytes(out, text, strlen(text));
}

static inline void rs_append_char(GString *out, char c)
{
	char *at = rs_append_room(out, 1);

	*at = c;
	rs_append_done(out, at + 1);
}

static inline void rs_append_fill(GString *out, char c, gsize count)
{
	char *at = rs_append_room(out, count);

	memset(at, c, count);
	rs_append_done(out, at + count);
}

static inline guint rs_count_digits(guint64 value)
{
	static const guint64 powers[] = {
		G_GUINT64_CONSTANT(0),
		G_GUINT64_CONSTANT(10),
		G_GUINT64_CONSTANT(100),
		G_GUINT64_CONSTANT(1000),
		G_GUINT64_CONSTANT(10000),
		G_GUINT64_CONSTANT(100000),
		G_GUINT64_CONSTANT(1000000),
		G_GUINT64_CONSTANT(10000000),
		G_GUINT64_CONSTANT(100000000),
		G_GUINT64_CONSTANT(1000000000),
		G_GUINT64_CONSTANT(10000000000),
		G_GUINT64_CONSTANT(100000000000),
		G_GUINT64_CONSTANT(1000000000000),
		G_GUINT64_CONSTANT(10000000000000),
		G_GUINT64_CONSTANT(100000000000000),
		G_GUINT64_CONSTANT(1000000000000000),
		G_GUINT64_CONSTANT(10000000000000000),
		G_GUINT64_CONSTANT(100000000000000000),
		G_GUINT64_CONSTANT(1000000000000000000),
		G_GUINT64_CONSTANT(10000000000000000000),
	};
	/* The number of bits times log10(2), which is right or one too small. */
	guint n = (64 - (guint)__builtin_clzll(value | 1)) * 1233 >> 12;

	return n + (value >= powers[n]);
}

/* The last `n` digits of `value`, which is what remains above them. Returns it. */
static inline guint64 rs_put_digits(char *at, guint n, guint64 value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	for (; n >= 2; n -= 2, value /= 100)
		memcpy(at + n - 2, &pairs[value % 100 * 2], 2);
	if (!n)
		return value;
	*at = (char)('0' + value % 10);
	return value / 10;
}

/* Writes at most RS_APPEND_DIGITS bytes, without a NUL. Returns where they end. */
static inline char *rs_put_decimal(char *at, guint64 value)
{
	guint n = rs_count_digits(value);

	rs_put_digits(at, n, value);
	return at + n;
}

static inline void rs_append_decimal(GString *out, guint64 value)
{
	char *at = rs_append_room(out, RS_APPEND_DIGITS);

	rs_append_done(out, rs_put_decimal(at, value));
}

static inline void rs_append_signed(GString *out, gint64 value)
{
	char *at = rs_append_room(out, RS_APPEND_DIGITS + 1);
	guint64 size = value < 0 ? -(guint64)value : (guint64)value;

	if (value < 0)
		*at++ = '-';
	rs_append_done(out, rs_put_decimal(at, size));
}

/* Digits of `value` in base 2^shift, as many as it has. */
static inline char *rs_put_based(char *at, guint64 value, guint shift, const char *digits)
{
	guint n = 1;

	for (guint64 left = value >> shift; left; left >>= shift)
		n++;
	for (guint i = n; i-- > 0; value >>= shift)
		at[i] = digits[value & ((1u << shift) - 1)];
	return at + n;
}

/* As "0x1f". */
static inline void rs_append_hex(GString *out, guint64 value)
{
	char *at = rs_append_room(out, 2 + 16);

	memcpy(at, "0x", 2);
	rs_append_done(out, rs_put_based(at + 2, value, 4, "0123456789abcdef"));
}

#endif
