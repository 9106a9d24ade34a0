/* SPDX-License-Identifier: MIT */
/*
 * A source of pages: the rings of a live region (rs-trace-live.h), later a file. A follower
 * (rs-trace-follower.h) asks each ring for its next pages, round by round. The source tells the
 * follower what is needed to decode them. One thread at a time. Together the calls of one round
 * block for 50 ms at most.
 */
#ifndef RS_TRACE_SOURCE_H
#define RS_TRACE_SOURCE_H

#include "rs-trace-ring.h"

G_BEGIN_DECLS

typedef struct _RsTraceSource RsTraceSource;
typedef struct _RsTraceFollower RsTraceFollower;

typedef struct {
	/* Before each round: tells the follower about boots and the clock. */
	void (*begin_round)(RsTraceSource *source, RsTraceFollower *follower);
	/* After each chunk, before it is decoded: tells what has changed in providers and clock. */
	void (*changes)(RsTraceSource *source, RsTraceFollower *follower);
	/* Before records are shown: tells the names of tasks. */
	void (*names)(RsTraceSource *source, RsTraceFollower *follower);
	/* The ring's next chunk; `now_ns` as for rs_trace_ring_next(). */
	RsTraceRingStatus (*next)(RsTraceSource *source, guint ring, guint64 now_ns,
				  RsTraceChunk *out);
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
	guint ring_pages; /* pages that a ring has */
};

G_END_DECLS

#endif
