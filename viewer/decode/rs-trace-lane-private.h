/* SPDX-License-Identifier: MIT */
/*
 * A ring of a source of a trace file: the pages that are still to be read, and the record that
 * comes next.
 */
#ifndef RS_TRACE_LANE_PRIVATE_H
#define RS_TRACE_LANE_PRIVATE_H

#include "rs-trace-decoder.h"
#include "rs-trace-store-private.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden)

typedef struct _RsTraceFileSource RsTraceFileSource;

/* A page that is still to be read, or, without data, a loss at the end of a ring. */
typedef struct _RsTraceLanePage RsTraceLanePage;
struct _RsTraceLanePage {
	RsTraceLanePage *next;
	RsTraceStored *stored;
	guint64 lost; /* as in struct rs_file_page, like the next three */
	guint32 at, from, to;
	guint32 window;
	guint32 gaps; /* damaged parts of the file before it */
	guint32 crc;
};

typedef struct {
	RsTraceFileSource *source;
	guint ring;
	guint32 gaps;                  /* before the page that was begun last */
	RsTraceLanePage *first, *last; /* of which the first is being read; NULL: none */
	/*
	 * What is held of the first page: all of it, or, if too many rings are read at once, a
	 * slice that begins where it is needed.
	 */
	RsTraceStore *store; /* NULL: nothing is held; else it counts `room` and has the link */
	GList link;
	guint8 *bytes;
	guint at;   /* in the page */
	guint size; /* of them */
	guint room;
	RsTraceRecord head;
	guint head_at;     /* where its bytes begin in the page */
	gboolean has_head; /* it is in the order */
	guint64 order;     /* of `head` */
	guint64 rank;      /* the lowest of several with one `order` comes first */
	guint place;       /* in the order */
} RsTraceLane;

/* How many lanes there can be in an order. */
#define RS_TRACE_LANE_PLACES 65536u
/* By the source's index, then by ring. The bits of a place are 0. */
static inline guint64 rs_trace_lane_rank(guint source, guint ring)
{
	return (guint64)source << 32 | (guint64)ring << 16;
}

void rs_trace_lane_clear(RsTraceLane *lane);
void rs_trace_lane_push(RsTraceLane *lane, RsTraceStored *stored, const struct rs_file_page *entry,
			guint64 window, guint64 gaps);
/* Drops the first page. */
void rs_trace_lane_pop(RsTraceLane *lane);
/*
 * Begins to decode the first page. If the file is damaged between it and the page before, what
 * their headers say is missing is lost. FALSE: its bytes cannot be had; `error` as a file's.
 */
gboolean rs_trace_lane_begin(RsTraceLane *lane, GError **error);
/* The next record of that page, to lane->head. FALSE: there is none, or its bytes cannot be had. */
gboolean rs_trace_lane_next(RsTraceLane *lane, GError **error);
/* Sees to it that the bytes of lane->head are there. FALSE: they cannot be had. */
gboolean rs_trace_lane_hold(RsTraceLane *lane, GError **error);

#pragma GCC visibility pop
G_END_DECLS

#endif
