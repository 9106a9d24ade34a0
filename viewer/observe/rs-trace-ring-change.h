/* SPDX-License-Identifier: MIT */
/*
 * What the session that owns a region does to its rings while producers write. Outsiders have a
 * region read-only, so these are not for them.
 *
 * docs/adr/0035-ring-size.md: a ring has two places and is in one of them. It is offered another
 * shape once its other place is empty, and takes that when it next switches the page. So a ring
 * that is not written keeps its size until it is.
 *
 * The region is writable, and one thread of one process does this. Trust: where a ring is, is what
 * its guest says. Each word is read once. A guest that lies loses its own records.
 */
#ifndef RS_TRACE_RING_CHANGE_H
#define RS_TRACE_RING_CHANGE_H

#include "rs-trace-region.h"

G_BEGIN_DECLS

#pragma GCC visibility push(hidden)

/* How far a change has come. */
typedef struct {
	guint changed;    /* rings that have as many pages as are wanted */
	guint offered;    /* rings that will, when they next switch the page */
	guint held;       /* rings that cannot be offered it yet: their other place is in use */
	guint64 changes;  /* of all rings so far, as their guest says */
	guint64 returned; /* bytes of memory that were given back now */
	guint64 zeroed;   /* bytes that were emptied, and could not be given back */
} RsTraceRingChange;

/* The largest number of bytes that its rings can have; 0: their number of pages cannot change. */
guint64 rs_trace_ring_max_bytes(const RsTraceRegion *region);

/*
 * Goes on with the change to rings of `pages` pages, a power of two, RS_RING_PAGES_MIN or more and
 * at most what rs_trace_ring_max_bytes() allows; 0: rings stay as they are. Also gives back the
 * memory of places that rings have left. To be called again now and then, until all have changed.
 *
 * A place that a ring has left is kept until the ring has filled its new one, so that a slow reader
 * finds what it has not read. `hurry`: only until another change needs it. In mode drop, it is
 * always kept until the consumer has read it.
 */
void rs_trace_ring_change(const RsTraceRegion *region, guint pages, gboolean hurry,
			  RsTraceRingChange *out);

/*
 * Passes over all that the ring holds: readers that begin later do not show it. Those that read
 * already notice nothing, and no page is given back to the producer. Returns how many records a
 * reader would have got; 0 if there is no such ring.
 */
guint64 rs_trace_ring_clear(const RsTraceRegion *region, guint ring);

#pragma GCC visibility pop

G_END_DECLS

#endif
