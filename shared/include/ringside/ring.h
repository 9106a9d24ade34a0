/* SPDX-License-Identifier: MIT */
/*
 * One ring per vCPU, made of pages (sub-buffers). docs/adr/0002-ring.md describes the algorithm and
 * why it is safe. This file describes the data.
 *
 * One 64-bit word decides who may write where:
 *
 *     bits  0..13  offset  in the current page, in 8-byte units, 0..page_size/8 (= page full), or
 *                          RS_WORD_CLOSED
 *     bits 14..31  page    sequence number of the current page, modulo 2^18
 *     bits 32..63  records records reserved on this ring so far, modulo 2^32
 *
 * Page `seq` lies at slot seq % pages of the ring's place. Before the first record the word is
 * { records 0, page -1, offset full }.
 *
 * Since 1.3 a ring may have two more places to go to, and the number of its pages may change while
 * producers write: see docs/adr/0035-ring-size.md. What a ring has, or is to have, is its shape.
 * Its n-th change leads to place n % 2: see rs_region_place_offset().
 *
 *     bits  0..4   log2 of the number of pages
 *     bits  5..63  change  how often the number has changed
 */
#ifndef RINGSIDE_RING_H
#define RINGSIDE_RING_H

#include <ringside/grow.h>

#define RS_WORD_OFFSET_BITS 14
#define RS_WORD_PAGE_BITS 18
#define RS_WORD_OFFSET_MASK ((1ull << RS_WORD_OFFSET_BITS) - 1)
#define RS_WORD_PAGE_MASK ((1ull << RS_WORD_PAGE_BITS) - 1)
#define RS_WORD_PAGE_SHIFT RS_WORD_OFFSET_BITS
#define RS_WORD_RECORDS_SHIFT (RS_WORD_OFFSET_BITS + RS_WORD_PAGE_BITS)
#define RS_RING_UNIT 8u /* bytes: the grain of offsets, records and commits */

/*
 * The offset of a page that is full, behind which the ring goes to its other place. So nobody opens
 * the next page in this one.
 */
#define RS_WORD_CLOSED RS_WORD_OFFSET_MASK

/* The word before the first record, for pages of `units` 8-byte units. */
#define RS_WORD_INITIAL(units) ((RS_WORD_PAGE_MASK << RS_WORD_PAGE_SHIFT) | (uint64_t)(units))

static inline uint32_t rs_word_offset(uint64_t word)
{
	return (uint32_t)(word & RS_WORD_OFFSET_MASK);
}

static inline uint32_t rs_word_page(uint64_t word)
{
	return (uint32_t)((word >> RS_WORD_PAGE_SHIFT) & RS_WORD_PAGE_MASK);
}

static inline uint32_t rs_word_records(uint64_t word)
{
	return (uint32_t)(word >> RS_WORD_RECORDS_SHIFT);
}

#define RS_SHAPE_LOG_BITS 5
#define RS_SHAPE_LOG_MASK ((1u << RS_SHAPE_LOG_BITS) - 1)
#define RS_SHAPE(change, log) ((uint64_t)(change) << RS_SHAPE_LOG_BITS | (log))

static inline uint32_t rs_shape_log(uint64_t shape)
{
	return (uint32_t)shape & RS_SHAPE_LOG_MASK;
}

static inline uint64_t rs_shape_change(uint64_t shape)
{
	return shape >> RS_SHAPE_LOG_BITS;
}

/*
 * What a place of a ring holds, or held last. That of change 0 counts as place 0.
 *
 *     bits  0..15  the low bits of the shape with which the ring came there; 0: it never did
 *     bits 16..63  begin  number of the first page there
 */
#define RS_PLACE_SHAPE_BITS 16
#define RS_PLACE_SHAPE_MASK ((1ull << RS_PLACE_SHAPE_BITS) - 1)
#define RS_PLACE(shape, begin)                                                                     \
	((uint64_t)(begin) << RS_PLACE_SHAPE_BITS | ((shape)&RS_PLACE_SHAPE_MASK))

static inline uint64_t rs_place_begin(uint64_t place)
{
	return place >> RS_PLACE_SHAPE_BITS;
}

/*
 * The header at the start of each page. The producer that moves the ring onto the page writes it.
 * Only the two commit counters change later. `boot` says which boot of the guest wrote the page,
 * and so which descriptors its ids mean. Records begin at `header_size`.
 *
 * Only the ring's own CPU adds to `committed`, by a plain instruction. Any CPU may add to
 * `committed_remote`. What counts is their sum, modulo 2^32. It grows by exactly ring_page_size in
 * each lap, once everything reserved on the page is written (or the page was skipped). So page
 * `seq` is complete when
 *     sum == (uint32_t)((seq / ring_pages + 1) * ring_page_size)
 * and everything reserved on the current page is written when
 *     sum - (uint32_t)(seq / ring_pages * ring_page_size) == offset * 8.
 * In a trace file `committed` is the length of the page's content in bytes, header included, and
 * `committed_remote` is 0.
 */
struct rs_ring_page {     /* G */
	uint64_t seq;     /* full page sequence number */
	uint64_t ts;      /* event clock at the first record of the page */
	uint64_t records; /* records reserved on this ring before this page */
	uint64_t dropped; /* records refused on this ring before this page */
	uint32_t committed;
	uint32_t committed_remote;
	uint32_t boot;        /* rs_guest_info.boot of the writer */
	uint32_t chain;       /* clock chain of the first record: see control.h */
	uint16_t context;     /* context of the first record: see record.h */
	uint16_t skipped;     /* pages right before this one that the writer skipped */
	uint16_t ring;        /* index of the ring */
	uint16_t header_size; /* bytes before the first record, RS_RING_PAGE_HEADER or more */
	uint32_t pid;         /* context of the first record */
	uint32_t tgid;        /* thread group of `pid`, valid as an RS_REC_TGID; 0: not known */
};
RS_ASSERT_SIZE(struct rs_ring_page, 64);
RS_ASSERT_OFFSET(struct rs_ring_page, committed, 32);
RS_ASSERT_OFFSET(struct rs_ring_page, context, 48);
#define RS_RING_PAGE_HEADER 64u /* bytes of struct rs_ring_page as of 1.0 */

struct rs_ring_state {      /* G; each ring's on cache lines of its own */
	uint64_t word;      /* see above; moved only by compare-and-swap */
	uint64_t context;   /* last context written; only where producers nest (not PREEMPTIBLE) */
	uint64_t last_ts;   /* a lower bound of the newest record's timestamp */
	uint32_t wake_seen; /* the rs_ring_ctl.wake_armed that was last answered */
	uint32_t chain;     /* clock chain that the ring named last */
	uint64_t shape;     /* since 1.3: of the page after the current one; 0: not told */
	/*
	 * The agent's own, since 1.4: what its fast path would otherwise work out for each record.
	 * Nobody else need look. `page`: bits 0..31 are those of the word in the page that was last
	 * looked up, with offset 0; bits 32..63 say where it lies, in units from the start of the
	 * region.
	 */
	uint64_t page;
	uint32_t index;        /* of this ring */
	uint32_t ctl;          /* where its rs_ring_ctl lies, in units from the region's start */
	uint32_t wake_noticed; /* the wake_armed that asks for nothing before the next page */
	uint32_t reserved1;
	/* second line: touched once a page */
	uint64_t pages;     /* pages entered or skipped so far; never goes back */
	uint64_t records;   /* records reserved before the current page; never goes back */
	uint64_t dropped;   /* records refused: ring full (drop mode), or no usable page */
	uint64_t too_large; /* records cut because they do not fit in a page */
	uint64_t skipped;   /* pages skipped because a producer had not finished writing in them */
	uint64_t place[2];  /* since 1.3: RS_PLACE(), set before `shape` names it */
	uint64_t reserved2;
};
RS_ASSERT_SIZE(struct rs_ring_state, 128);
#define RS_RING_STATE_MIN_SIZE 128u
RS_ASSERT_GROWS(struct rs_ring_state, RS_RING_STATE_MIN_SIZE);
RS_ASSERT_OFFSET(struct rs_ring_state, shape, 32);
RS_ASSERT_OFFSET(struct rs_ring_state, page, 40);
RS_ASSERT_OFFSET(struct rs_ring_state, pages, 64);
RS_ASSERT_OFFSET(struct rs_ring_state, place, 104);

struct rs_ring_ctl {       /* H; each ring's on a cache line of its own */
	uint64_t consumed; /* drop mode: pages below this sequence number may be reused (release) */
	uint32_t wake_armed; /* differs from wake_seen: a reader sleeps and wants the doorbell */
	uint32_t wake_units; /* … once this many 8-byte units lie between wake_from and the word */
	uint64_t wake_from;  /* position in units: page * units per page + offset */
	/*
	 * Since 1.2: who begins to read shows nothing before this position (as wake_from), unless
	 * it lies behind the word. Agents ignore it. 0: nothing was passed over.
	 */
	uint64_t cleared;         /* (release) */
	uint64_t cleared_records; /* records reserved before that */
	/*
	 * Since 1.3: the shape that the ring is to take when it next switches the page, if its
	 * change is the one after the ring's own. It stays until the ring has it. 0: none.
	 * (release)
	 */
	uint64_t shape;
	uint64_t gone; /* since 1.3: pages before this one are not there any more (release) */
	uint64_t reserved;
};
RS_ASSERT_SIZE(struct rs_ring_ctl, 64);
#define RS_RING_CTL_MIN_SIZE 64u
RS_ASSERT_GROWS(struct rs_ring_ctl, RS_RING_CTL_MIN_SIZE);
RS_ASSERT_OFFSET(struct rs_ring_ctl, cleared, 24);
RS_ASSERT_OFFSET(struct rs_ring_ctl, shape, 40);

#endif
