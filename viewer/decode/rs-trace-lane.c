/* SPDX-License-Identifier: MIT */
#include "rs-trace-lane-private.h"
#include "rs-trace-error.h"

#include <string.h>

/* ---- pages ---- */

static void page_free(gpointer data)
{
	RsTraceLanePage *page = data;

	rs_trace_stored_unref(page->stored);
	g_free(page);
}

void rs_trace_lane_clear(RsTraceLane *lane)
{
	g_queue_clear_full(&lane->pages, page_free);
	if (lane->bytes)
		lane->store->copies -= lane->room;
	g_clear_pointer(&lane->bytes, g_free);
}

void rs_trace_lane_push(RsTraceLane *lane, RsTraceStored *stored, const struct rs_file_page *entry,
			guint64 window, guint64 gaps)
{
	RsTraceLanePage *page = g_new(RsTraceLanePage, 1);

	*page = (RsTraceLanePage){stored, *entry, window, gaps};
	if (stored)
		stored->refs++;
	g_queue_push_tail(&lane->pages, page);
}

void rs_trace_lane_pop(RsTraceLane *lane)
{
	page_free(g_queue_pop_head(&lane->pages));
}

/* ---- the page that is being read ---- */

/* Where a page's bytes end. */
typedef struct {
	guint32 boot;
	guint64 records, dropped; /* of the ring so far, as far as the page knows */
} End;

static void find_end(const guint8 *page, guint to, End *out)
{
	struct rs_ring_page head;

	memcpy(&head, page, sizeof(head));
	*out = (End){
		.boot = head.boot,
		.records = head.records +
			   rs_trace_page_count(page, rs_trace_page_first(page), to, NULL),
		.dropped = head.dropped,
	};
}

static guint64 growth(guint64 from, guint64 to)
{
	return MAX(from, to) - from;
}

/* What is missing between the end of a page and what is new in a later one. */
static guint64 missing(const End *old, const guint8 *page, guint from)
{
	End start;

	find_end(page, from, &start);
	if (start.boot != old->boot)
		return 0;
	return growth(old->records, start.records) + growth(old->dropped, start.dropped);
}

static gboolean make_room(RsTraceLane *lane, const RsTraceLanePage *page, GError **error)
{
	RsTraceStore *store = page->stored->store;
	gsize more = MAX(page->entry.to, lane->room) - lane->room;

	if (!more)
		return TRUE;
	if (store->copies + more > RS_TRACE_STORE_COPIES) {
		g_set_error_literal(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE,
				    "too many rings have large pages");
		return FALSE;
	}
	store->copies += more;
	lane->store = store;
	lane->room += more;
	lane->bytes = g_realloc(lane->bytes, lane->room);
	return TRUE;
}

gboolean rs_trace_lane_load(RsTraceLane *lane, GError **error)
{
	RsTraceLanePage *page = rs_trace_lane_page(lane);
	gboolean gap = lane->to && (lane->missed || lane->gaps != page->gaps);
	End end;

	if (gap)
		find_end(lane->bytes, lane->to, &end);
	lane->missed = !make_room(lane, page, error) ||
		       !rs_trace_stored_copy(page->stored, page->entry.at, lane->bytes,
					     page->entry.to, error);
	if (lane->missed) {
		/* A part of them may have been read over those of the page before. */
		if (!page->stored->is_bad)
			lane->to = 0;
		return FALSE;
	}
	lane->to = page->entry.to;
	lane->gaps = page->gaps;
	if (gap)
		page->entry.lost =
			MAX(page->entry.lost, missing(&end, lane->bytes, page->entry.from));
	return TRUE;
}

/* ---- the heap ---- */

static gboolean is_before(const RsTraceHeapItem *a, const RsTraceHeapItem *b)
{
	return a->order != b->order ? a->order < b->order : a->lane < b->lane;
}

static void sift_down(RsTraceHeap *heap)
{
	RsTraceHeapItem *items = heap->items, item = items[0];
	guint i = 0, child;

	while ((child = 2 * i + 1) < heap->n) {
		if (child + 1 < heap->n && is_before(&items[child + 1], &items[child]))
			child++;
		if (!is_before(&items[child], &item))
			break;
		items[i] = items[child];
		i = child;
	}
	items[i] = item;
}

void rs_trace_heap_add(RsTraceHeap *heap, RsTraceLane *lane)
{
	const RsTraceHeapItem item = {lane->order, lane};
	guint i = heap->n++;

	if (heap->n > heap->room) {
		heap->room = MAX(16, 2 * heap->room);
		heap->items = g_renew(RsTraceHeapItem, heap->items, heap->room);
	}
	for (guint parent; i && is_before(&item, &heap->items[parent = (i - 1) / 2]); i = parent)
		heap->items[i] = heap->items[parent];
	heap->items[i] = item;
}

void rs_trace_heap_update(RsTraceHeap *heap)
{
	heap->items[0].order = heap->items[0].lane->order;
	sift_down(heap);
}

void rs_trace_heap_drop(RsTraceHeap *heap)
{
	heap->items[0] = heap->items[--heap->n];
	if (heap->n)
		sift_down(heap);
}
