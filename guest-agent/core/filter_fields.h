/* SPDX-License-Identifier: MIT */
/*
 * The instructions that most filter programs are made of: those on integer fields of the entry.
 * They are inlined into filter.c and into rs_judge() in judge.c. Trust and bounds as in filter.h.
 */
#ifndef RS_AGENT_FILTER_FIELDS_H
#define RS_AGENT_FILTER_FIELDS_H

#include <ringside/atomic.h>
#include <ringside/filter.h>

typedef uint64_t __attribute__((may_alias)) rs_word;
typedef uint64_t __attribute__((may_alias, aligned(1))) rs_u64_any;
typedef uint32_t __attribute__((may_alias, aligned(1))) rs_u32_any;
typedef uint16_t __attribute__((may_alias, aligned(1))) rs_u16_any;

/* An instruction, loaded in four words so that none of its fields is read twice. */
struct rs_insn {
	uint64_t word; /* op, source, width, offset, on_true */
	uint64_t on_false;
	uint64_t imm;
	uint64_t mask;
};

/*
 * Integer operations below CPUSET on `raw`. The low `width` bytes of `raw` are the value. Those
 * above do not matter: only a signed operation has mask bits there, and it extends the value first.
 */
static inline int64_t rs_insn_extend(uint64_t word, uint64_t raw)
{
	unsigned int up = (64 - 8 * (word >> 16 & 0xff)) & 63;

	return (int64_t)(raw << up) >> up;
}

static inline __attribute__((always_inline)) bool rs_insn_compare(const struct rs_insn *in,
								  uint64_t raw)
{
	uint64_t a = raw & in->mask;
	int64_t signed_a, b = (int64_t)in->imm;

	switch (in->word & 0xffff) {
	case RS_OP_EQ:
		return a == in->imm;
	case RS_OP_NE:
		return a != in->imm;
	case RS_OP_LT:
		return a < in->imm;
	case RS_OP_LE:
		return a <= in->imm;
	case RS_OP_GT:
		return a > in->imm;
	case RS_OP_GE:
		return a >= in->imm;
	case RS_OP_ANY:
		return a != 0;
	default:
		break;
	}
	signed_a = rs_insn_extend(in->word, raw) & (int64_t)in->mask;
	switch (in->word & 0xffff) {
	case RS_OP_SLT:
		return signed_a < b;
	case RS_OP_SLE:
		return signed_a <= b;
	case RS_OP_SGT:
		return signed_a > b;
	case RS_OP_SGE:
		return signed_a >= b;
	case RS_OP_SEQ:
		return signed_a == b;
	default: /* SNE */
		return signed_a != b;
	}
}

static inline struct rs_insn rs_insn_load(const struct rs_filter_program *program, uint32_t at)
{
	const rs_word *words = (const rs_word *)((const struct rs_filter_insn *)(program + 1) + at);

	return (struct rs_insn){rs_load(&words[0]), rs_load(&words[1]), rs_load(&words[2]),
				rs_load(&words[3])};
}

/*
 * Runs a program of `count` (>= 1) instructions if all are of the most common kind: unsigned, on a
 * field of 4 or 8 bytes. RS_FILTER_ACCEPT or RS_FILTER_REJECT; 0 if one is of another kind.
 *
 * It calls no function and loads each word when it is needed, so few registers must be saved. Each
 * comparison ends in a jump: a jump is predicted, while the next load would wait for a value.
 */
static inline __attribute__((always_inline)) uint32_t
rs_filter_run_unsigned(const struct rs_filter_program *program, uint32_t count, const void *entry,
		       uint32_t entry_size)
{
	const rs_word *const first = (const rs_word *)(program + 1), *in = first, *to;
	uint32_t next;

	for (;; in = to) {
		uint64_t word = rs_load(&in[0]), offset = word >> 32 & 0xffff, a;
		uint32_t low = (uint32_t)word; /* op, source, width */

		/* As wide as the last store: a wider load would wait for the store buffer. */
		if (rs_likely(low >> 16 == 4 && offset + 4 <= entry_size))
			a = *(const rs_u32_any *)((const char *)entry + offset);
		else if (low >> 16 == 8 && offset + 8 <= entry_size)
			a = *(const rs_u64_any *)((const char *)entry + offset);
		else
			return 0;
		a &= rs_load(&in[3]);
		switch (low & 0xffff) {
		case RS_OP_EQ:
			if (a == rs_load(&in[2]))
				goto yes;
			goto no;
		case RS_OP_NE:
			if (a != rs_load(&in[2]))
				goto yes;
			goto no;
		case RS_OP_LT:
			if (a < rs_load(&in[2]))
				goto yes;
			goto no;
		case RS_OP_LE:
			if (a <= rs_load(&in[2]))
				goto yes;
			goto no;
		case RS_OP_GT:
			if (a > rs_load(&in[2]))
				goto yes;
			goto no;
		case RS_OP_GE:
			if (a >= rs_load(&in[2]))
				goto yes;
			goto no;
		case RS_OP_ANY:
			if (a)
				goto yes;
			goto no;
		default: /* a source other than FIELD (0), a signed operation, or not an integer */
			return 0;
		}
	no:
		next = rs_load(&in[1]) & 0xffff;
		to = first + next * 4ull;
		/* Forward only: at most `count` steps. */
		if (next >= count || to <= in)
			break;
		continue;
	yes:
		next = (uint32_t)(word >> 48);
		to = first + next * 4ull;
		if (next >= count || to <= in)
			break;
	}
	return next == RS_FILTER_REJECT ? RS_FILTER_REJECT : RS_FILTER_ACCEPT;
}

/* The same for every instruction on integer fields. 0 if the program needs anything else. */
static inline __attribute__((always_inline)) uint32_t
rs_filter_run_fields(const struct rs_filter_program *program, uint32_t count, const void *entry,
		     uint32_t entry_size)
{
	uint32_t at = 0, next;

	for (;;) {
		struct rs_insn in = rs_insn_load(program, at);
		uint32_t width = in.word >> 16 & 0xffff, offset = in.word >> 32 & 0xffff;
		const char *field = (const char *)entry + offset;
		uint64_t raw;

		/* A source other than FIELD (0), or an operation not on an integer. */
		if (rs_unlikely((in.word & 0xffff) >= RS_OP_CPUSET || offset + width > entry_size))
			return 0;
		if (width == 4)
			raw = *(const rs_u32_any *)field;
		else if (width == 8)
			raw = *(const rs_u64_any *)field;
		else if (width == 2)
			raw = *(const rs_u16_any *)field;
		else if (width == 1)
			raw = *(const uint8_t *)field;
		else
			return 0;
		next = rs_insn_compare(&in, raw) ? in.word >> 48 : in.on_false & 0xffff;
		if (next <= at || next >= count)
			break;
		at = next;
	}
	return next == RS_FILTER_REJECT ? RS_FILTER_REJECT : RS_FILTER_ACCEPT;
}

#endif
