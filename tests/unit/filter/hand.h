/* SPDX-License-Identifier: MIT */
/* Filter programs that no compiler would make, for the tests of those who take them. */
#ifndef RS_TESTS_FILTER_HAND_H
#define RS_TESTS_FILTER_HAND_H

#include <glib.h>
#include <ringside/control.h>
#include <ringside/filter.h>

/* A program by hand: its instructions, then a pool of so many bytes. */
struct by_hand {
	struct rs_filter_program head;
	struct rs_filter_insn insn[RS_FILTER_MAX_INSNS + 1];
	uint8_t rest[RS_FILTER_MAX_SIZE];
};

#define ENTRY 40u /* bytes */
#define DYNS 2u

static inline void begin(struct by_hand *p, unsigned int count, struct rs_filter_insn insn,
			 unsigned int pool)
{
	unsigned int code = sizeof(p->head) + count * (unsigned int)sizeof(insn);

	*p = (struct by_hand){
		.head = {.insn_count = (uint16_t)count,
			 .size = (code + pool + RS_FILTER_GRAIN - 1) / RS_FILTER_GRAIN *
				 RS_FILTER_GRAIN,
			 .pool = code,
			 .event = RS_MAX_EVENTS - 1},
	};
	insn.on_true = insn.on_true ? insn.on_true : RS_FILTER_ACCEPT;
	insn.on_false = insn.on_false ? insn.on_false : RS_FILTER_REJECT;
	for (unsigned int i = 0; i < count; i++)
		p->insn[i] = insn;
}

#endif
