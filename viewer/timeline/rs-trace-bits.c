/* SPDX-License-Identifier: MIT */
#include "timeline/rs-trace-bits-private.h"

#define CHUNK_MOST 16384u

guint8 *rs_trace_bits_take(RsTraceBits *bits, gsize size)
{
	guint8 *taken;

	if (!bits->chunks)
		bits->chunks = g_ptr_array_new_with_free_func(g_free);
	if (!bits->chunks->len || bits->used + size + sizeof(guint64) > bits->chunk) {
		bits->chunk = CLAMP(2 * bits->chunk, 2 * size + sizeof(guint64), CHUNK_MOST);
		g_ptr_array_add(bits->chunks, g_malloc0(bits->chunk));
		bits->packed += bits->chunk;
		bits->used = 0;
	}
	taken = (guint8 *)g_ptr_array_index(bits->chunks, bits->chunks->len - 1) + bits->used;
	bits->used += size;
	return taken;
}

void rs_trace_bits_clear(RsTraceBits *bits)
{
	g_clear_pointer(&bits->chunks, g_ptr_array_unref);
}
