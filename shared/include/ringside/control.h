/* SPDX-License-Identifier: MIT */
/*
 * The control pages: what the host wants. The guest need not poll them: a tracepoint that fires
 * loads its own control word, and that word says everything that it needs.
 *
 * To switch an event on, the host writes the filter program, then the control word, then the text
 * (or the generation, for a guest that patches itself). To switch it off, it writes the text, then
 * the control word. So the word alone decides about an event that fires between two steps.
 */
#ifndef RINGSIDE_CONTROL_H
#define RINGSIDE_CONTROL_H

#include <ringside/grow.h>

/*
 * A control word is uint32_t RS_SEC_EVENT_CTL[event id]. One store publishes it whole.
 *   bit 0      enabled
 *   bits 1..7  frames of the call stack that goes with each record: 0 none; at most RS_STACK_MAX.
 *              An agent that takes no stacks ignores them
 *   bits 8..31 filter: 0 none, else the program's offset in RS_SEC_FILTERS / 64
 */
#define RS_EVENT_ENABLED 1u
#define RS_EVENT_STACK_SHIFT 1
#define RS_EVENT_STACK_MASK 0xfeu
#define RS_EVENT_FILTER_SHIFT 8
#define RS_FILTER_GRAIN 64u /* programs start at multiples of this; offset 0 is never used */

/* rs_control.flags */
#define RS_CONTROL_SELF_PATCH (1u << 0) /* the guest is to patch its own text */
#define RS_CONTROL_STOP (1u << 1)       /* the session has ended: leave all sites off */
#define RS_CONTROL_NUDGES (1u << 2)     /* the host interrupts the guest after it raised nudge */
/*
 * While the host lives, it holds an open file description lock (F_OFD_SETLK, F_WRLCK) on the first
 * byte of the memory's file. An agent on the same machine that finds no such lock knows that the
 * host has ended, even if it could not say so. It puts its text back and leaves its region.
 */
#define RS_CONTROL_HELD (1u << 3)
/*
 * The memory is to be laid out anew. The agent puts its text back, marks its claim as left, and
 * uses the region no more. One that outlives that looks for a region again.
 */
#define RS_CONTROL_LEAVE (1u << 4)

/*
 * A clock epoch: ns = ((tsc - tsc_base) * mult >> shift) + ns_base. A new one begins when the
 * guest's counter was stopped or moved (a pause under TCG, a migration, another boot). Epochs are
 * numbered from 0, and a number is never reused. Epoch e is entry e % count of RS_SEC_CLOCK.
 *
 * A chain is a run of epochs during which the counter did not go back. Its number is that of its
 * first epoch. So chains are in the order of time, and inside a chain the counter tells the epochs
 * apart. An event clock value that outlives the moment is always kept together with its chain.
 *
 * To find the epoch of a record:
 *   - A page names the chain of its first record. Before a ring's first record of another chain the
 *     guest writes an RS_REC_TIME, which names the chain of what follows.
 *   - The record belongs to the newest epoch of this chain whose tsc_base is not above the record's
 *     timestamp.
 */
struct rs_clock_epoch { /* H */
	uint32_t index; /* its number, so that a reader notices a reused entry */
	uint32_t chain; /* number of the first epoch of its chain */
	uint64_t tsc_base;
	uint64_t ns_base; /* host's CLOCK_MONOTONIC - rs_region_header.origin_ns */
	uint64_t wall_ns; /* CLOCK_REALTIME of the base, ns since 1970; 0: unknown */
	uint32_t mult;
	uint32_t shift;    /* 0..63 */
	uint64_t error_ns; /* ns_base may be wrong by up to this much; UINT64_MAX: unknown */
	uint64_t reserved[2];
};
RS_ASSERT_SIZE(struct rs_clock_epoch, 64);
#define RS_CLOCK_EPOCH_MIN_SIZE 64u
RS_ASSERT_GROWS(struct rs_clock_epoch, RS_CLOCK_EPOCH_MIN_SIZE);

struct rs_control {             /* H */
	uint32_t generation;    /* grows after each batch of changes (release) */
	uint32_t flags;         /* RS_CONTROL_* */
	uint32_t clock_chain;   /* the newest chain */
	uint32_t epoch_count;   /* epochs begun so far (release) */
	uint32_t clock_pending; /* odd: an epoch begins now and will be published in a moment */
	uint32_t nudge;         /* grows each time that the host wants the agent to look */
	uint32_t clock_ping;    /* grows: the agent answers it in rs_guest_info at once */
	/*
	 * Odd while the text of sites changes under a guest with RS_GUEST_BREAKPOINTS. It begins
	 * with a breakpoint then (x86: 0xcc in the first byte). At other times a breakpoint in a
	 * site is somebody else's. Grows before the first store, and after the last one (release).
	 */
	uint32_t switching;
	uint64_t reserved1[12];
};
RS_ASSERT_SIZE(struct rs_control, 128);
#define RS_CONTROL_MIN_SIZE 128u
RS_ASSERT_GROWS(struct rs_control, RS_CONTROL_MIN_SIZE);

#endif
