/* SPDX-License-Identifier: MIT */
/*
 * Reads one ring of a region. docs/adr/0002-ring.md has the algorithm. Each reader has cursors of
 * its own, so any number of them can watch one ring. What it reads is hostile: every word is read
 * once, bounded, and copied before it is looked at. A reader never blocks. Its work in each call is
 * bounded.
 *
 * Threads: a reader is used by one thread at a time. Different readers are independent.
 */
#ifndef RS_TRACE_RING_H
#define RS_TRACE_RING_H

#include "rs-trace-consumers.h"

G_BEGIN_DECLS

typedef enum {
	RS_TRACE_FROM_START, /* from record 0: all that was overwritten before counts as lost */
	/* From the oldest record that is still there, and that was not passed over. */
	RS_TRACE_FROM_OLDEST,
	RS_TRACE_FROM_NOW, /* only what comes from now on */
} RsTraceFrom;

/* The liveliest comes last. */
typedef enum {
	RS_TRACE_RING_END,       /* nothing will ever come; a live ring never says this */
	RS_TRACE_RING_IDLE,      /* nothing new, and no producer is under way */
	RS_TRACE_RING_IN_FLIGHT, /* nothing to take now, but a producer is writing a record */
	RS_TRACE_RING_DATA,      /* `out` was filled; call again */
} RsTraceRingStatus;

/*
 * New bytes of one page. `page` is a private copy of the page, from its header to `to`. Bytes
 * [from, to) are new. Those before `from` were handed out earlier, or written before the reader
 * joined. Nobody has looked at the records. In the copied header `committed` is `to`. The copy
 * belongs to the reader, and is valid until its next call.
 */
typedef struct {
	guint ring;
	guint from; /* bytes from the page's start; behind its header when the page is new */
	guint to;
	const guint8 *page;
	guint64 lost; /* records lost between the previous chunk and this one */
	/* Records in all chunks of earlier pages, by the counts in the pages' headers. */
	guint64 records;
} RsTraceChunk;

typedef struct {
	guint ring;
	RsTraceFrom from;
	gboolean consumer; /* publish our position, for mode drop; needs a writable region */
	/* With other consumers: theirs, borrowed, and our number there. NULL: there are none. */
	RsTraceConsumers *consumers;
	guint reader;
	/*
	 * Hand out a page only when it is full: for a reader that keeps pages.
	 */
	gboolean whole;
	/* how long a page waits for a producer that does not finish; 0: 1 s */
	guint64 patience_ns;
} RsTraceRingConfig;

typedef struct _RsTraceRing RsTraceRing;

/*
 * `region` must outlive the reader. NO_RING: the region has no such ring. READ_ONLY: a consumer
 * needs a writable region.
 */
RsTraceRing *rs_trace_ring_new(const RsTraceRegion *region, const RsTraceRingConfig *config,
			       GError **error);
void rs_trace_ring_free(RsTraceRing *ring);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceRing, rs_trace_ring_free)

/* Takes the next chunk. `now_ns` is any monotonic clock of the caller's, to measure patience. */
RsTraceRingStatus rs_trace_ring_next(RsTraceRing *ring, guint64 now_ns, RsTraceChunk *out);

/*
 * With `whole`: whether, from now on, the current page waits until it is full. Else it is handed
 * out as far as it is written, and the rest of it later.
 */
void rs_trace_ring_set_whole(RsTraceRing *ring, gboolean whole);

/* How far a producer has come: page `seq`, -1 before the first, and the bytes of it. */
typedef struct {
	gint64 seq;
	guint offset;
} RsTraceRingMark;
/* Where the producer is by now, as the guest says. */
void rs_trace_ring_written(const RsTraceRing *ring, RsTraceRingMark *out);
/* Number of records in all chunks so far. Looks into the last page. */
guint64 rs_trace_ring_records(const RsTraceRing *ring);
/* Number of records after the last chunk that are known to be lost; for the end of a trace. */
guint64 rs_trace_ring_pending_loss(RsTraceRing *ring);

/*
 * Asks for the doorbell once `bytes` more have been written, from this reader's position. A ring
 * has one doorbell, so only the region's owner arms it. Afterwards, call rs_trace_ring_next() once
 * more before sleeping: a record that came in between does not ring the doorbell.
 */
void rs_trace_ring_arm(RsTraceRing *ring, guint bytes);
/* How many bytes of pages the ring has now, also of those that it is leaving. */
guint rs_trace_ring_bytes(const RsTraceRing *ring);

typedef struct {
	guint64 lost;      /* in chunks so far */
	guint64 bad_pages; /* pages passed over because their header made no sense */
	guint64 stuck;     /* pages passed over because a producer never finished */
	guint64 resyncs; /* restarts of the reader because the ring went back (reboot or hostile) */
} RsTraceRingStats;
void rs_trace_ring_stats(const RsTraceRing *ring, RsTraceRingStats *out);

G_END_DECLS

#endif
