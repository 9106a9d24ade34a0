/* SPDX-License-Identifier: MIT */
/*
 * The control pages: what the host wants. The guest polls nothing here: a tracepoint that fires
 * loads its own control word, and that word says everything that it needs.
 *
 * Order for switching an event on: filter program, control word, then text (or generation, for a
 * guest that patches itself). Off: text, then control word. So an event that fires between the
 * two steps of either is judged by the word alone.
 */
#ifndef RINGSIDE_CONTROL_H
#define RINGSIDE_CONTROL_H

#include <ringside/types.h>

/*
 * A control word, uint32_t RS_SEC_EVENT_CTL[event id]; one store publishes it whole.
 *   bit 0      enabled
 *   bits 1..7  zero
 *   bits 8..31 filter: 0 none, else the program's offset in RS_SEC_FILTERS / 64
 */
#define RS_EVENT_ENABLED 1u
#define RS_EVENT_FILTER_SHIFT 8
#define RS_FILTER_GRAIN 64u /* programs start at multiples of this; offset 0 is never used */

/* rs_control.flags */
#define RS_CONTROL_SELF_PATCH (1u << 0) /* the guest is to patch its own text */
#define RS_CONTROL_STOP (1u << 1)       /* the session has ended: leave all sites off */

/*
 * A clock epoch: ns = ((tsc - tsc_base) * mult >> shift) + ns_base. Pages carry the index of the
 * epoch that their timestamps belong to; a new one begins when the guest's counter was stopped
 * or moved (a pause under QEMU, a migration).
 */
struct rs_clock_epoch { /* H */
	uint64_t tsc_base;
	uint64_t ns_base;
	uint32_t mult;
	uint32_t shift;
	uint64_t reserved;
};
RS_ASSERT_SIZE(struct rs_clock_epoch, 32);
#define RS_CLOCK_EPOCHS 64u

struct rs_control {           /* H, one page */
	uint32_t generation;  /* grows after each batch of changes (release) */
	uint32_t flags;       /* RS_CONTROL_* */
	uint32_t epoch;       /* the epoch that the guest stamps into new pages: index mod EPOCHS */
	uint32_t epoch_count; /* epochs ever begun */
	uint64_t reserved[6];
	struct rs_clock_epoch epochs[RS_CLOCK_EPOCHS];
};
RS_ASSERT_OFFSET(struct rs_control, epochs, 64);
RS_ASSERT_SIZE(struct rs_control, 2112);

#endif
