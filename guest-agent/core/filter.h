/* SPDX-License-Identifier: MIT */
/*
 * Runs a filter program (ringside/filter.h) over an event that is about to be recorded.
 *
 * Called by emit, in any context (interrupt, NMI), with the entry assembled and nothing reserved yet.
 * No allocation, no lock, no floating point, no libc; time is linear in the number of instructions
 * and in the bytes of the strings that they look at.
 *
 * The host verifies each program before it publishes it. Nothing here relies on that: a program may
 * be replaced under our feet (the caller finds out by its sequence number), and in QEMU the guest
 * itself can write it. So each word is loaded once, each offset is bounded, jumps only go forward,
 * and what makes no sense accepts: a record too many is better than one lost.
 */
#ifndef RS_AGENT_FILTER_H
#define RS_AGENT_FILTER_H

#include "dyn.h"
#include <ringside/atomic.h>
#include <ringside/filter.h>

struct rs_filter_input {
	const void *entry;   /* the payload's fixed part */
	uint32_t entry_size; /* bytes of it */
	uint32_t dyn_count;
	const struct rs_dyn *dyn;
	const char *comm; /* RS_COMM_LEN bytes, NUL-padded; NULL: no name is known, taken as "" */
	uint32_t pid;
	uint32_t cpu;
};

/*
 * True: record the event. `size` is how many bytes may be read from `program` on, at least; a
 * program that claims to be larger is cut there. `program` is 8-byte aligned. The caller has checked
 * that it lies in the filter section, and checks `sequence` before and after (filter.h).
 */
bool rs_filter_run(const struct rs_filter_program *program, uint32_t size,
		   const struct rs_filter_input *input);

/*
 * The same for the instructions that most filters are made of, inlined into emit: integer fields. RS_FILTER_ACCEPT, RS_FILTER_REJECT, or 0 when the
 * program asks something else: then rs_filter_run() judges from the start.
 *
 * Integer operations take one table: three bits each, which say whether the answer is yes for less
 * (bit 0), equal (1), greater (2).
 */
#define RS_TRUTH(op, bits) ((uint64_t)(bits) << ((op)*3))
#define RS_LESS 1
#define RS_SAME 2
#define RS_MORE 4
#define RS_TRUTHS                                                                                  \
	(RS_TRUTH(RS_OP_EQ, RS_SAME) | RS_TRUTH(RS_OP_NE, RS_LESS | RS_MORE) |                     \
	 RS_TRUTH(RS_OP_LT, RS_LESS) | RS_TRUTH(RS_OP_LE, RS_LESS | RS_SAME) |                     \
	 RS_TRUTH(RS_OP_GT, RS_MORE) | RS_TRUTH(RS_OP_GE, RS_MORE | RS_SAME) |                     \
	 RS_TRUTH(RS_OP_SLT, RS_LESS) | RS_TRUTH(RS_OP_SLE, RS_LESS | RS_SAME) |                   \
	 RS_TRUTH(RS_OP_SGT, RS_MORE) | RS_TRUTH(RS_OP_SGE, RS_MORE | RS_SAME) |                   \
	 RS_TRUTH(RS_OP_ANY, RS_LESS | RS_MORE) | RS_TRUTH(RS_OP_SEQ, RS_SAME) |                   \
	 RS_TRUTH(RS_OP_SNE, RS_LESS | RS_MORE))
#define RS_SIGNED_OPS                                                                              \
	(1u << RS_OP_SLT | 1u << RS_OP_SLE | 1u << RS_OP_SGT | 1u << RS_OP_SGE | 1u << RS_OP_SEQ | \
	 1u << RS_OP_SNE)

static inline __attribute__((always_inline)) uint32_t
rs_filter_run_fields(const struct rs_filter_program *program, uint32_t count, const uint64_t *entry,
		     uint32_t entry_size)
{
	typedef uint64_t __attribute__((may_alias)) word_t;
	typedef uint64_t __attribute__((may_alias, aligned(1))) u64_t;
	typedef uint32_t __attribute__((may_alias, aligned(1))) u32_t;
	typedef uint16_t __attribute__((may_alias, aligned(1))) u16_t;
	const word_t *insns = (const word_t *)(program + 1);
	uint32_t at = 0, next;

	for (;;) {
		const word_t *in = insns + at * (sizeof(struct rs_filter_insn) / 8);
		uint64_t word = rs_load(&in[0]), imm = rs_load(&in[2]), a;
		uint32_t op = word & 0xff, width = word >> 16 & 0xffff;
		const char *field = (const char *)entry + (word >> 32 & 0xffff);

		if (rs_unlikely((uint16_t)word > RS_OP_SNE || /* RS_SRC_FIELD is 0 */
				(word >> 32 & 0xffff) + width > entry_size))
			return 0;
		/* As wide as it was just stored: a wider load would wait for the store buffer. */
		if (rs_likely(width == 4))
			a = *(const u32_t *)field;
		else if (width == 8)
			a = *(const u64_t *)field;
		else if (width == 2)
			a = *(const u16_t *)field;
		else if (width == 1)
			a = *(const uint8_t *)field;
		else
			return 0;
		if (rs_unlikely(RS_SIGNED_OPS >> op & 1)) {
			uint32_t up = 64 - 8 * width;

			/* flipping the top bits makes signed order out of unsigned order */
			a = ((uint64_t)((int64_t)(a << up) >> up) & rs_load(&in[3])) ^ 1ull << 63;
			imm ^= 1ull << 63;
		} else {
			a &= rs_load(&in[3]);
			imm = op == RS_OP_ANY ? 0 : imm;
		}
		next = RS_TRUTHS >> (op * 3 + (a >= imm) + (a > imm)) & 1
			       ? (uint32_t)(word >> 48)
			       : (uint32_t)rs_load(&in[1]) & 0xffff;
		if (next - at - 1 >= count - at - 1) /* forward only, and inside */
			return next == RS_FILTER_REJECT ? RS_FILTER_REJECT : RS_FILTER_ACCEPT;
		at = next;
	}
}

#endif
