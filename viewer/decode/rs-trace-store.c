/* SPDX-License-Identifier: MIT */
#include "rs-trace-store-private.h"
#include "rs-trace-crc-private.h"

#include <string.h>

#define LOADS_MAX 3u /* then a packed block becomes parts */

gsize rs_trace_store_room(const RsTraceStore *store, gsize most)
{
	const gsize others = store->copies + store->places + store->told;

	return CLAMP(RS_TRACE_STORE_ALL - MIN(others, RS_TRACE_STORE_ALL), RS_TRACE_STORE_LEAST,
		     most);
}

/* With what an allocator, and a GBytes, add. */
#define PLACE_BYTES (sizeof(RsTraceStored) + 96)

RsTraceStored *rs_trace_stored_new(RsTraceStore *store, RsTraceFile *file,
				   const RsTraceFileBlock *block)
{
	RsTraceStored *stored = g_new0(RsTraceStored, 1);

	store->places += PLACE_BYTES;

	stored->store = store;
	stored->file = file;
	stored->place = block->place;
	stored->link.data = stored;
	stored->refs = 1;
	if (block->data) {
		stored->bytes = g_bytes_ref(block->data);
		stored->is_held = TRUE;
		store->held += stored->place.size;
	}
	return stored;
}

static void unload(RsTraceStored *stored)
{
	g_queue_unlink(&stored->store->loaded, &stored->link);
	stored->store->bytes -= stored->place.size;
	g_clear_pointer(&stored->bytes, g_bytes_unref);
}

void rs_trace_stored_unref(RsTraceStored *stored)
{
	if (!stored || --stored->refs)
		return;
	stored->store->places -= PLACE_BYTES;
	if (stored->is_held) {
		stored->store->held -= stored->place.size;
		g_bytes_unref(stored->bytes);
	} else if (stored->bytes) {
		unload(stored);
	}
	if (stored->parts)
		stored->store->parts -= rs_trace_parts_size(stored->parts);
	rs_trace_parts_free(stored->parts);
	g_free(stored);
}

/* If there is no room for the parts now, it is not tried again. */
static void make_parts(RsTraceStored *stored)
{
	RsTraceStore *store = stored->store;

	const gsize most = rs_trace_store_room(store, RS_TRACE_STORE_PARTS);

	stored->parts = rs_trace_parts_new(g_bytes_get_data(stored->bytes, NULL),
					   stored->place.size, most - MIN(most, store->parts));
	if (stored->parts)
		store->parts += rs_trace_parts_size(stored->parts);
}

static gboolean load(RsTraceStored *stored, GError **error)
{
	RsTraceStore *store = stored->store;
	const gsize room = rs_trace_store_room(store, RS_TRACE_STORE_BYTES);

	while (store->loaded.head && store->bytes + store->parts + stored->place.size > room)
		unload(store->loaded.head->data);
	stored->bytes = rs_trace_file_load(stored->file, &stored->place, error);
	if (!stored->bytes)
		return FALSE;
	store->bytes += stored->place.size;
	g_queue_push_tail_link(&store->loaded, &stored->link);
	if (stored->place.packed && ++stored->loads == LOADS_MAX)
		make_parts(stored);
	return TRUE;
}

/* With more rings than blocks that have room, a block would go before its next page is read. */
static gboolean has_room(const RsTraceStored *stored)
{
	return (guint64)stored->store->readers * stored->place.size <=
	       rs_trace_store_room(stored->store, RS_TRACE_STORE_BYTES);
}

/*
 * Of a file that lies here each page is read by itself: it comes to where it is wanted without a
 * copy more, and nobody who waits for the reader has to wait for a whole block.
 */
static gboolean is_read_whole(RsTraceStored *stored)
{
	if (stored->place.packed)
		return TRUE;
	if (!stored->in_parts)
		stored->in_parts = rs_trace_file_announce(stored->file, &stored->place);
	return !stored->in_parts && has_room(stored);
}

gboolean rs_trace_stored_copy(RsTraceStored *stored, guint at, guint8 *to, gsize size,
			      GError **error)
{
	RsTraceStore *store = stored->store;

	if (stored->is_bad)
		return FALSE;
	if (!stored->bytes && stored->parts) {
		rs_trace_parts_copy(stored->parts, rs_trace_file_zstd(stored->file), at, to, size);
		return TRUE;
	}
	if (!stored->bytes && !is_read_whole(stored))
		return rs_trace_file_read_part(stored->file, stored->place.at + at, to, size,
					       error);
	if (!stored->bytes && !load(stored, error)) {
		stored->is_bad = TRUE;
		return FALSE;
	}
	if (!stored->is_held && store->loaded.tail != &stored->link) {
		g_queue_unlink(&store->loaded, &stored->link);
		g_queue_push_tail_link(&store->loaded, &stored->link);
	}
	memcpy(to, (const guint8 *)g_bytes_get_data(stored->bytes, NULL) + at, size);
	return TRUE;
}

gboolean rs_trace_stored_page(RsTraceStored *stored, guint at, guint32 crc, guint8 *to, gsize size,
			      GError **error)
{
	return rs_trace_stored_copy(stored, at, to, size, error) &&
	       rs_trace_crc_fits(crc, to, size);
}
