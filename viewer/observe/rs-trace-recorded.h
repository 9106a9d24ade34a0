/* SPDX-License-Identifier: MIT */
/*
 * One source of a recorder: how far its rings are towards a window's end, which of its names are in
 * the file, and what it has told. One thread at a time. Trust: as rs-trace-sink.h.
 */
#ifndef RS_TRACE_RECORDED_H
#define RS_TRACE_RECORDED_H

#include "rs-trace-feed.h"
#include "rs-trace-told.h"

G_BEGIN_DECLS
#pragma GCC visibility push(hidden) /* not for outsiders */

/* What a window's end asks of a ring. */
typedef struct {
	gboolean in_flight;     /* not read to its end in this round */
	gboolean behind;        /* records of it from before the window's end may be missing */
	RsTraceRingMark target; /* where they end */
	guint64 events;         /* in pages before the last one */
} RsTraceRecordedRing;

typedef struct {
	RsTraceFeed *feed;
	RsTraceTold *told; /* NULL: there is one file */
	guint8 *names;     /* as they were last written */
	gsize names_size, names_stride;
	RsTraceRecordedRing rings[];
} RsTraceRecorded;

/* Takes `told` over. */
RsTraceRecorded *rs_trace_recorded_new(RsTraceFeed *feed, RsTraceTold *told);
void rs_trace_recorded_free(RsTraceRecorded *recorded);

/* Counts events to the last one, which looks into a page of each ring. */
guint64 rs_trace_recorded_count(RsTraceRecorded *recorded);
/* The events of all pages but the last ones. */
guint64 rs_trace_recorded_events(const RsTraceRecorded *recorded);

/* Round by round: */
void rs_trace_recorded_begin_round(RsTraceRecorded *recorded);
/* A window is to end: pages are wanted as far as they are written by now. */
void rs_trace_recorded_begin_end(RsTraceRecorded *recorded);
/* A chunk has come. */
void rs_trace_recorded_take_chunk(RsTraceRecorded *recorded, const RsTraceChunk *chunk);
/* At a round's end: whether all has been handed out that was in the rings at begin_end(). */
gboolean rs_trace_recorded_caught_up(RsTraceRecorded *recorded);

/*
 * Takes a source's names, as rs_trace_feed_tell_names() has them, and appends to `news` the entries
 * that are whole, and other than they were.
 */
void rs_trace_recorded_take_names(RsTraceRecorded *recorded, const guint8 *snapshot,
				  const guint8 *again, gsize size, gsize stride, GByteArray *news);
/* Appends all entries that are known. */
void rs_trace_recorded_all_names(const RsTraceRecorded *recorded, GByteArray *out);

#pragma GCC visibility pop
G_END_DECLS

#endif
