/* SPDX-License-Identifier: MIT */
/*
 * One ring that is written by hand, one step of a producer at a time. So every half-finished state
 * can be made. The agent's tests use the real producer.
 */
#ifndef RS_TEST_HAND_H
#define RS_TEST_HAND_H

#include <rs-trace-ring.h>
#include <stdbool.h>

#define HAND_PAGE 4096u
#define HAND_PAGES 4u
#define HAND_RECORD 512u /* bytes of each record: 7 fit */

struct hand {
	RsTraceRegion *region;
	struct rs_ring_state *state;
	struct rs_ring_ctl *ctl;
	uint8_t *pages;
	uint32_t n_pages;
	uint32_t index;  /* of the ring */
	uint32_t header; /* bytes of a page's header */
	int64_t seq;
	uint32_t offset, records, dropped;
};

/* HAND_PAGES pages; mode: RS_MODE_*. */
void hand_open(struct hand *r, uint32_t mode);
/* So many pages, a power of two. */
void hand_open_large(struct hand *r, uint32_t mode, uint32_t pages);
/*
 * Opens ring `index` of three. Its state and its control are `more` bytes longer than our structs.
 */
void hand_open_of(struct hand *r, uint32_t mode, uint32_t index, uint32_t more);
/* Both are freed. */
void hand_close(struct hand *r, RsTraceRing *reader);

struct rs_ring_page *hand_page(struct hand *r, int64_t seq);
/* Makes the state's word say where the producer is. */
void hand_publish(struct hand *r);
/* Commits the rest of the current page. */
void hand_pad(struct hand *r);
/* Moves on to page seq + 1 + skip; the header's bytes are committed with the first record. */
void hand_turn(struct hand *r, uint32_t skip);
/* Reserves a record; returns its place, for hand_commit(). */
uint8_t *hand_reserve(struct hand *r);
void hand_commit(struct hand *r, uint8_t *at);
/* Both, n times. */
void hand_emit(struct hand *r, uint32_t n);
/* The guest begins anew, as if the pages before `to` had been there. */
void hand_go_back(struct hand *r, int64_t to);

/* Its patience is 100 ns. */
RsTraceRing *hand_reader(struct hand *r, RsTraceFrom from, bool consumer);
uint32_t hand_count(const RsTraceChunk *chunk);
/* Reads all records at time 0. Counts the taken ones and those reported lost. */
void hand_drain(RsTraceRing *reader, uint64_t *records, uint64_t *lost);

#endif
