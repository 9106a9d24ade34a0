/* SPDX-License-Identifier: MIT */
/*
 * A source of pages: the rings of a live region (rs-trace-live.h), later a file. A feed
 * (rs-trace-feed.h) asks it round by round for the next pages of each ring, and passes them to a
 * sink. By the functions rs_trace_feed_tell_*(), the source tells what is needed to decode them. It
 * does not know what becomes of it.
 *
 * One thread at a time. Together the calls of one round block for 50 ms at most. Trust: what a
 * source hands out may be hostile. It is bounded, but not parsed.
 */
#ifndef RS_TRACE_SOURCE_H
#define RS_TRACE_SOURCE_H

#include "rs-trace-ring.h"

G_BEGIN_DECLS

typedef struct _RsTraceSource RsTraceSource;
typedef struct _RsTraceFeed RsTraceFeed;

typedef struct {
	/* Before each round: tells what has changed in boots and clock. */
	void (*begin_round)(RsTraceSource *source, RsTraceFeed *feed);
	/*
	 * After each chunk, before the sink takes it: tells what has changed in providers and
	 * clock.
	 */
	void (*changes)(RsTraceSource *source, RsTraceFeed *feed);
	/* When a sink asks for them: tells the names of tasks, if they have changed. */
	void (*names)(RsTraceSource *source, RsTraceFeed *feed);
	/* The ring's next chunk; `now_ns` as for rs_trace_ring_next(). */
	RsTraceRingStatus (*next)(RsTraceSource *source, guint ring, guint64 now_ns,
				  RsTraceChunk *out);
	/*
	 * Of a source that hands out whole pages: whether this ring's page is handed out only once
	 * it is full, as at first, or as far as it is written.
	 */
	void (*set_whole)(RsTraceSource *source, guint ring, gboolean whole);
	/* Where the ring's producer is by now. What it says may be wrong. */
	void (*written)(RsTraceSource *source, guint ring, RsTraceRingMark *out);
	/*
	 * At the end: what the source has held back is what next() hands out from now on. FALSE, or
	 * NULL: there is nothing like that.
	 */
	gboolean (*let_go)(RsTraceSource *source);
	/* At the end: number of records in all of the ring's chunks. */
	guint64 (*records)(RsTraceSource *source, guint ring);
	/* At the end: number of records after the last chunk that are known to be lost. */
	guint64 (*pending_loss)(RsTraceSource *source, guint ring);
	/*
	 * Asks for the doorbell when something has come. FALSE: there is no doorbell, so look again
	 * after a while.
	 */
	gboolean (*arm)(RsTraceSource *source);
	void (*free)(RsTraceSource *source);
} RsTraceSourceOps;

struct _RsTraceSource {
	const RsTraceSourceOps *ops;
	guint n_rings;
	guint ring_pages; /* pages that a ring may hold at once, now; may change in each round */
	guint page_size;  /* bytes of each */
};

G_END_DECLS

#endif
