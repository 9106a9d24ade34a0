/* SPDX-License-Identifier: MIT */
/*
 * Numbers of a block, each with as many bits as the largest one of the block needs, and the memory
 * for them. One thread at a time.
 */
#ifndef RS_TRACE_BITS_PRIVATE_H
#define RS_TRACE_BITS_PRIVATE_H

#include <glib.h>
#include <string.h>

G_BEGIN_DECLS

/* How many bits a number up to `largest` takes: what a load of 8 bytes has, wherever it begins. */
static inline guint rs_trace_bits_width(guint64 largest)
{
	guint width = largest ? 64u - (guint)__builtin_clzll(largest) : 0;

	return width > 56 ? 64 : width;
}

static inline gsize rs_trace_bits_bytes(guint n, guint width)
{
	return ((gsize)n * width + 7) / 8;
}

/* The bits were 0. */
static inline void rs_trace_bits_put(guint8 *bits, guint index, guint width, guint64 value)
{
	gsize at = (gsize)index * width;
	guint64 word;

	memcpy(&word, bits + at / 8, sizeof(word));
	word = GUINT64_FROM_LE(word) | value << at % 8;
	word = GUINT64_TO_LE(word);
	memcpy(bits + at / 8, &word, sizeof(word));
}

static inline guint64 rs_trace_bits_get(const guint8 *bits, guint index, guint width)
{
	gsize at = (gsize)index * width;
	guint64 word;

	memcpy(&word, bits + at / 8, sizeof(word));
	word = GUINT64_FROM_LE(word) >> at % 8;
	return width < 64 ? word & ((G_GUINT64_CONSTANT(1) << width) - 1) : word;
}

/* Memory that only grows. All 0 is an empty one. */
typedef struct {
	GPtrArray *chunks;
	gsize chunk;  /* bytes of the last one */
	gsize used;   /* of it */
	gsize packed; /* bytes of all */
} RsTraceBits;

/*
 * Zeros for the bits of a block, which live as long as the memory. What is read or written of them
 * may reach 8 bytes farther.
 */
guint8 *rs_trace_bits_take(RsTraceBits *bits, gsize size);
void rs_trace_bits_clear(RsTraceBits *bits);

G_END_DECLS

#endif
