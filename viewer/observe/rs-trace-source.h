/* SPDX-License-Identifier: MIT */
/*
 * A source of pages: the rings of a live region (rs-trace-live.h), later a file. A follower
 * (rs-trace-follower.h) asks each ring for its next pages, round by round. The source tells the
 * follower what it needs to decode them. One thread at a time; no call here blocks for long.
 */
#ifndef RS_TRACE_SOURCE_H
#define RS_TRACE_SOURCE_H

#include "rs-trace-ring.h"

G_BEGIN_DECLS

typedef struct _RsTraceSource RsTraceSource;
typedef struct _RsTraceFollower RsTraceFollower;

typedef struct {
	/* Before each round: tells the follower of boots and the clock. */
	void (*begin_round)(RsTraceSource *source, RsTraceFollower *follower);
	/* After each chunk, before it is decoded: tells what has changed of providers and clock. */
	void (*changes)(RsTraceSource *source, RsTraceFollower *follower);
	/* Before records are shown: tells the names of tasks. */
	void (*names)(RsTraceSource *source, RsTraceFollower *follower);
	/* The ring's next chunk; `now_ns` as for rs_trace_ring_next(). */
	RsTraceRingStatus (*next)(RsTraceSource *source, guint ring, guint64 now_ns,
				  RsTraceChunk *out);
	/* At the end: records that are known to be lost after the last chunk. */
	guint64 (*pending_loss)(RsTraceSource *source, guint ring);
	/* Asks to be woken when something has come. FALSE: nothing will, look again by yourself. */
	gboolean (*arm)(RsTraceSource *source);
	void (*free)(RsTraceSource *source);
} RsTraceSourceOps;

struct _RsTraceSource {
	const RsTraceSourceOps *ops;
	guint n_rings;
	guint ring_pages; /* pages that a ring can hold at one time */
};

G_END_DECLS

#endif
