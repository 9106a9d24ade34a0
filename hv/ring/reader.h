/* SPDX-License-Identifier: MIT */
/*
 * Reads one ring of a region; the algorithm is in docs/adr/0002-ring.md. Each reader has cursors of
 * its own, so any number of them can watch one ring. What it reads is hostile: every word is read
 * once, bounded, and copied before it is looked at. A reader never blocks and its work per call is bounded.
 *
 * Threads: one reader, one thread. Different readers are independent.
 */
#ifndef RS_HV_RING_READER_H
#define RS_HV_RING_READER_H

#include "ring/region.h"

enum rs_ring_from {
	RS_RING_FROM_START,  /* from record 0: all that was overwritten before counts as lost */
	RS_RING_FROM_OLDEST, /* from the oldest record that is still there */
	RS_RING_FROM_NOW,    /* only what comes from now on */
};

enum rs_ring_status {
	RS_RING_IDLE,      /* nothing new, and no producer is under way */
	RS_RING_IN_FLIGHT, /* nothing to take now, but a producer is in the middle of a record */
	RS_RING_DATA,      /* `out` was filled; call again */
};

/*
 * New bytes of one page. Bytes [from, to) are new and whole records; those before `from` were handed out
 * earlier. In the copied header `committed` is `to`. Valid until the next call on this reader.
 */
struct rs_ring_chunk {
	uint32_t ring;
	uint32_t from; /* bytes from the page's start; RS_RING_PAGE_HEADER when the page is new */
	uint32_t to;
	const uint8_t *page;
	uint64_t lost;    /* records lost between the previous chunk and this one */
	uint32_t records; /* records in [from, to), marks not counted */
};

struct rs_ring_reader_config {
	uint32_t ring;
	enum rs_ring_from from;
	bool consumer; /* drop mode: publish our position; needs a writable region */
	/* how long a page waits for a producer that does not finish; 0: 1 s */
	uint64_t patience_ns;
};

struct rs_ring_reader;

/* `region` must outlive the reader. -EINVAL: no such ring; -EACCES: consumer on a read-only region. */
int rs_ring_reader_create(const struct rs_region *region,
			  const struct rs_ring_reader_config *config, struct rs_ring_reader **out,
			  struct rs_error *err);
void rs_ring_reader_destroy(struct rs_ring_reader *reader);

/* Takes the next chunk. `now_ns` is any monotonic clock of the caller's, to measure patience. */
enum rs_ring_status rs_ring_reader_next(struct rs_ring_reader *reader, uint64_t now_ns,
					struct rs_ring_chunk *out);

/* Records that are known to be lost but lie after the last chunk; for the end of a trace. */
uint64_t rs_ring_reader_pending_loss(struct rs_ring_reader *reader);

/*
 * Asks for the doorbell once `bytes` more have been written, from this reader's position. There is one
 * doorbell a ring: only the region's owner arms it. Afterwards call rs_ring_reader_next once more
 * before sleeping: what came in between rings nothing.
 */
void rs_ring_reader_arm(struct rs_ring_reader *reader, uint32_t bytes);

struct rs_ring_reader_stats {
	uint64_t records;   /* handed out */
	uint64_t lost;      /* in chunks so far */
	uint64_t bad_pages; /* pages cut short because a record or header made no sense */
	uint64_t stuck;     /* pages passed over because a producer never finished */
	uint64_t resyncs;   /* the ring went back (guest rebooted, or is hostile): began anew */
};
void rs_ring_reader_stats(const struct rs_ring_reader *reader, struct rs_ring_reader_stats *out);

/* State of a ring as the producer tells it, each figure bounded by what is possible. */
struct rs_ring_info {
	uint64_t records;   /* ever reserved */
	uint64_t entries;   /* records that can still be read */
	uint64_t overrun;   /* records overwritten */
	uint64_t dropped;   /* records refused */
	uint64_t bytes;     /* bytes of pages that can still be read */
	uint64_t skipped;   /* pages passed over by the producer */
	uint64_t too_large; /* records cut */
	uint64_t oldest_ts; /* event clock of the oldest page; 0: empty */
	uint64_t newest_ts; /* event clock of a record near the newest; 0: empty */
};
void rs_ring_info(const struct rs_region *region, uint32_t ring, struct rs_ring_info *out);

#endif
