/* SPDX-License-Identifier: MIT */
#include "rs-trace-decoder-private.h"
#include "rs-trace-file-source-private.h"

#include <string.h>

/* ---- pages ---- */

void rs_trace_lane_push(RsTraceLane *lane, RsTraceStored *stored, const struct rs_file_page *entry,
			guint64 window, guint64 gaps)
{
	RsTraceLanePage *page = g_slice_new(RsTraceLanePage);

	*page = (RsTraceLanePage){
		.stored = stored,
		.lost = entry->lost,
		.at = entry->at,
		.from = entry->from,
		.to = entry->to,
		.window = (guint32)window,
		.gaps = (guint32)gaps,
		.crc = entry->crc,
	};
	if (stored)
		stored->refs++;
	if (lane->last)
		lane->last->next = page;
	else
		lane->first = page;
	lane->last = page;
}

void rs_trace_lane_pop(RsTraceLane *lane)
{
	RsTraceLanePage *page = lane->first;

	lane->first = page->next;
	if (!lane->first)
		lane->last = NULL;
	rs_trace_stored_unref(page->stored);
	g_slice_free(RsTraceLanePage, page);
}

/* ---- what is held of the first page ---- */

static RsTraceDecoder *decoder_of(const RsTraceLane *lane)
{
	return lane->source->decoder;
}

static void drop_bytes(RsTraceLane *lane)
{
	if (!lane->store)
		return;
	g_queue_unlink(&lane->store->lanes, &lane->link);
	lane->store->copies -= lane->room;
	lane->store = NULL;
	g_clear_pointer(&lane->bytes, g_free);
	lane->size = lane->room = 0;
}

/* Where the bytes of lane->head begin: its call stack, if it has one, then its payload. */
static const guint8 *head_bytes(const RsTraceLane *lane)
{
	return lane->head.n_stack ? lane->head.stack : lane->head.payload;
}

/* The lane's bytes go, and are loaded again when they are needed. */
static void evict(RsTraceLane *lane)
{
	drop_bytes(lane);
	if (lane->first && lane->first->stored)
		rs_trace_decoder_slice(decoder_of(lane), lane->ring, (const guint8 *)"",
				       rs_trace_decoder_at(decoder_of(lane), lane->ring), 0);
}

/* Room for `size` bytes, and be it none; what was held before is gone. */
static void make_room(RsTraceLane *lane, RsTraceStore *store, guint size)
{
	const guint room = MAX(size, 1);

	if (lane->room < room || lane->room / 2 > room)
		drop_bytes(lane);
	if (lane->store) {
		g_queue_unlink(&store->lanes, &lane->link);
	} else {
		while (store->lanes.head && store->copies + room > RS_TRACE_STORE_COPIES)
			evict(store->lanes.head->data);
		store->copies += room;
		lane->store = store;
		lane->room = room;
		lane->bytes = g_malloc(room);
		lane->link.data = lane;
	}
	g_queue_push_tail_link(&store->lanes, &lane->link);
	lane->size = size;
}

void rs_trace_lane_clear(RsTraceLane *lane)
{
	while (lane->first)
		rs_trace_lane_pop(lane);
	drop_bytes(lane);
}

/* How much of a page each ring may hold. A slice has whole units, unless it is the last. */
static guint share_of(const RsTraceStore *store)
{
	return MAX(RS_TRACE_STORE_COPIES / MAX(store->readers, 1), 64) & ~(RS_RING_UNIT - 1);
}

/* Copies [at, at + size) of the first page, and not beyond its end. */
static gboolean load(RsTraceLane *lane, guint at, guint size, GError **error)
{
	const RsTraceLanePage *page = lane->first;

	if (at > page->to)
		return FALSE;
	make_room(lane, page->stored->store, MIN(size, page->to - at));
	lane->at = at;
	return rs_trace_stored_copy(page->stored, page->at + at, lane->bytes, lane->size, error);
}

/* The page, or the rest of it, is damaged, or its bytes cannot be had. */
static gboolean miss(RsTraceLane *lane)
{
	rs_trace_decoder_miss(decoder_of(lane), lane->ring);
	return FALSE;
}

/* The page is begun with all of it, of which a slice is kept. */
static gboolean begin_slice(RsTraceLane *lane, guint share, GError **error)
{
	const RsTraceLanePage *page = lane->first;
	RsTraceStore *store = page->stored->store;

	if (!store->page)
		store->page = g_malloc(RS_RING_PAGE_MAX);
	if (!rs_trace_stored_page(page->stored, page->at, page->crc, store->page, page->to, error))
		return miss(lane);
	if (!rs_trace_decoder_begin(decoder_of(lane), lane->ring, store->page, page->from, page->to,
				    page->lost))
		return TRUE;
	/* Who finds that the page is damaged may have gone beyond what there is of it. */
	lane->at = MIN(rs_trace_decoder_at(decoder_of(lane), lane->ring), page->to);
	make_room(lane, store, MIN(share, page->to - lane->at));
	memcpy(lane->bytes, store->page + lane->at, lane->size);
	rs_trace_decoder_slice(decoder_of(lane), lane->ring, lane->bytes, lane->at, lane->size);
	return TRUE;
}

gboolean rs_trace_lane_begin(RsTraceLane *lane, GError **error)
{
	const RsTraceLanePage *page = lane->first;
	const guint share = share_of(page->stored->store);

	if (lane->gaps != page->gaps)
		rs_trace_decoder_after_gap(decoder_of(lane), lane->ring);
	lane->gaps = page->gaps;
	if (page->to > share)
		return begin_slice(lane, share, error);
	make_room(lane, page->stored->store, page->to);
	lane->at = 0;
	if (!rs_trace_stored_page(page->stored, page->at, page->crc, lane->bytes, page->to, error))
		return miss(lane);
	rs_trace_decoder_begin(decoder_of(lane), lane->ring, lane->bytes, page->from, page->to,
			       page->lost);
	return TRUE;
}

/* Takes the next slice, which is larger than this one if nothing of this one was used. */
static gboolean load_more(RsTraceLane *lane, GError **error)
{
	const guint at = rs_trace_decoder_at(decoder_of(lane), lane->ring);
	guint size = share_of(lane->first->stored->store);

	if (lane->store && lane->at == at)
		size = MAX(size, 2 * (lane->size & ~(RS_RING_UNIT - 1)));
	if (!load(lane, at, size, error))
		return miss(lane);
	rs_trace_decoder_slice(decoder_of(lane), lane->ring, lane->bytes, at, lane->size);
	return TRUE;
}

gboolean rs_trace_lane_next(RsTraceLane *lane, GError **error)
{
	while (!rs_trace_decoder_next(decoder_of(lane), lane->ring, &lane->head))
		if (!rs_trace_decoder_is_short(decoder_of(lane), lane->ring) ||
		    !load_more(lane, error))
			return FALSE;
	if (lane->head.payload)
		lane->head_at = lane->at + (guint)(head_bytes(lane) - lane->bytes);
	return TRUE;
}

gboolean rs_trace_lane_hold(RsTraceLane *lane, GError **error)
{
	RsTraceRecord *head = &lane->head;
	const gsize before = head->n_stack ? (gsize)(head->payload - head->stack) : 0;
	guint at, size;

	if (lane->store || !head->payload)
		return TRUE;
	at = rs_trace_decoder_at(decoder_of(lane), lane->ring);
	if (lane->head_at > at || at > lane->first->to)
		return miss(lane);
	size = MAX(at - lane->head_at, share_of(lane->first->stored->store));
	if (!load(lane, lane->head_at, size, error))
		return miss(lane);
	rs_trace_decoder_slice(decoder_of(lane), lane->ring, lane->bytes, lane->at, lane->size);
	head->stack = head->n_stack ? lane->bytes : NULL;
	head->payload = lane->bytes + before;
	return TRUE;
}
