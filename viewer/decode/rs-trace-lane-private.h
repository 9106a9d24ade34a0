/* SPDX-License-Identifier: MIT */
/*
 * A ring of a source of a trace file: the pages that are still to be read, the record that comes
 * next, and the heap that puts rings in the order of time.
 */
#ifndef RS_TRACE_LANE_PRIVATE_H
#define RS_TRACE_LANE_PRIVATE_H

#include "rs-trace-decoder.h"
#include "rs-trace-store-private.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

typedef struct _RsTraceFileSource RsTraceFileSource;

/* A page that is still to be read, or, without data, a loss at the end of a ring. */
typedef struct {
	RsTraceStored *stored;
	struct rs_file_page entry;
	guint64 window;
	guint64 gaps; /* damaged parts of the file before it */
} RsTraceLanePage;

typedef struct {
	RsTraceFileSource *source;
	guint ring;
	GQueue pages; /* RsTraceLanePage *, of which the first is being read */
	/* The page that is being read, or was: a copy of its bytes up to entry.to. */
	guint8 *bytes;
	RsTraceStore *store; /* that counts them */
	gsize room;
	guint to; /* 0: none was read yet */
	guint64 gaps;
	gboolean missed; /* the page before could not be loaded */
	RsTraceRecord head;
	gboolean has_head; /* it is in the heap */
	guint64 order;     /* of `head` */
} RsTraceLane;

void rs_trace_lane_clear(RsTraceLane *lane);
void rs_trace_lane_push(RsTraceLane *lane, RsTraceStored *stored, const struct rs_file_page *entry,
			guint64 window, guint64 gaps);
static inline RsTraceLanePage *rs_trace_lane_page(const RsTraceLane *lane)
{
	return lane->pages.head ? lane->pages.head->data : NULL;
}
/* Drops the first page. */
void rs_trace_lane_pop(RsTraceLane *lane);
/*
 * Copies the bytes of the first page. If the file is damaged between it and the page before, adds
 * to its entry.lost what their headers say is missing. FALSE: the bytes cannot be had; `error` as
 * a file's.
 */
gboolean rs_trace_lane_load(RsTraceLane *lane, GError **error);

/* Lanes in the order of their records. The order stands here too: lanes are far apart in memory. */
typedef struct {
	guint64 order;
	RsTraceLane *lane;
} RsTraceHeapItem;
typedef struct {
	RsTraceHeapItem *items; /* the earliest first */
	guint n, room;
} RsTraceHeap;

void rs_trace_heap_add(RsTraceHeap *heap, RsTraceLane *lane);
/* The first lane has another record now. */
void rs_trace_heap_update(RsTraceHeap *heap);
void rs_trace_heap_drop(RsTraceHeap *heap);

#pragma GCC visibility pop
G_END_DECLS

#endif
