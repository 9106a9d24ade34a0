/* SPDX-License-Identifier: MIT */
#include "filter.h"

#include <ringside/atomic.h>

#define INSN_BYTES ((uint32_t)sizeof(struct rs_filter_insn))
#define HEAD_BYTES ((uint32_t)sizeof(struct rs_filter_program))

/* An instruction in registers: four loads, so that no field of it is read twice. */
struct insn {
	uint64_t word; /* op, source, width, offset, on_true */
	uint64_t on_false;
	uint64_t imm;
	uint64_t mask;
};

/* Unaligned little-endian loads that cannot become calls. */
typedef uint16_t __attribute__((aligned(1), may_alias)) u16_at;
typedef uint32_t __attribute__((aligned(1), may_alias)) u32_at;
typedef uint64_t __attribute__((aligned(1), may_alias)) u64_at;
typedef uint64_t __attribute__((may_alias)) u64_word;

struct text {
	const char *data;
	uint32_t size; /* bytes that may be read; the string ends at the first NUL among them */
};

/*
 * One table for the fourteen integer operations: three bits each, which say whether the answer is yes
 * for less (bit 0), equal (1), greater (2).
 */
#define TRUTH(op, bits) ((uint64_t)(bits) << ((op)*3))
#define LESS 1
#define SAME 2
#define MORE 4
#define TRUTHS                                                                                     \
	(TRUTH(RS_OP_EQ, SAME) | TRUTH(RS_OP_NE, LESS | MORE) | TRUTH(RS_OP_LT, LESS) |            \
	 TRUTH(RS_OP_LE, LESS | SAME) | TRUTH(RS_OP_GT, MORE) | TRUTH(RS_OP_GE, MORE | SAME) |     \
	 TRUTH(RS_OP_SLT, LESS) | TRUTH(RS_OP_SLE, LESS | SAME) | TRUTH(RS_OP_SGT, MORE) |         \
	 TRUTH(RS_OP_SGE, MORE | SAME) | TRUTH(RS_OP_ANY, LESS | MORE) | TRUTH(RS_OP_SEQ, SAME) |  \
	 TRUTH(RS_OP_SNE, LESS | MORE))
#define SIGNED_OPS                                                                                 \
	(1u << RS_OP_SLT | 1u << RS_OP_SLE | 1u << RS_OP_SGT | 1u << RS_OP_SGE | 1u << RS_OP_SEQ | \
	 1u << RS_OP_SNE)

static inline bool test_integer(unsigned int op, unsigned int width, uint64_t value,
				const struct insn *in)
{
	uint64_t a, b = in->imm;
	unsigned int order;

	if (rs_unlikely(op == RS_OP_CPUSET))
		return value < 64 && (b >> value & 1);
	a = value;
	if (SIGNED_OPS >> op & 1) {
		unsigned int up = 64 - 8 * width;

		/* flipping the top bits makes signed order out of unsigned order */
		a = (uint64_t)((int64_t)(a << up) >> up) & in->mask;
		a ^= 1ull << 63;
		b ^= 1ull << 63;
	} else {
		a &= in->mask;
		b = op == RS_OP_ANY ? 0 : b;
	}
	order = a < b ? 0 : a == b ? 1 : 2;
	return TRUTHS >> (op * 3 + order) & 1;
}

static inline bool same_bytes(const char *a, const char *b, uint32_t size)
{
	for (; size >= 8; a += 8, b += 8, size -= 8) {
		if (*(const u64_at *)a != *(const u64_at *)b)
			return false;
	}
	for (; size; a++, b++, size--) {
		if (*a != *b)
			return false;
	}
	return true;
}

static uint32_t text_length(const struct text *text)
{
	uint32_t n = 0;

	while (n < text->size && text->data[n])
		n++;
	return n;
}

static bool test_glob(const struct rs_filter_glob *glob, uint32_t glob_size,
		      const struct text *text)
{
	const u64_word *advance = (const u64_word *)(glob + 1);
	uint32_t classes = rs_load(&glob->classes);
	uint32_t length = rs_load(&glob->length);
	uint64_t empty = rs_load(&glob->empty);
	uint64_t stay = rs_load(&glob->stay);
	uint64_t state = 1 | (1 & empty) << 1;
	uint64_t done;

	if (length > RS_FILTER_MAX_GLOB || classes > (glob_size - sizeof(*glob)) / 8)
		return true;
	/* once a star that ends the pattern is reached, the rest of the string does not matter */
	done = length ? stay & 1ull << (length - 1) : 0;
	for (uint32_t i = 0; i < text->size && text->data[i]; i++) {
		uint32_t class = rs_load(&glob->class_of[(uint8_t)text->data[i]]);

		if (rs_unlikely(class >= classes))
			return true;
		state = ((state & rs_load(&advance[class])) << 1) | (state & stay);
		state |= (state & empty) << 1;
		if (state & done)
			return true;
		if (!state)
			return false;
	}
	return state >> length & 1;
}

static bool find_text(const struct rs_filter_input *input, unsigned int source, unsigned int width,
		      unsigned int offset, struct text *out)
{
	static const char none[1];

	switch (source) {
	case RS_SRC_STRING:
		if (offset > input->entry_size || width > input->entry_size - offset)
			return false;
		*out = (struct text){(const char *)input->entry + offset, width};
		break;
	case RS_SRC_DYN:
		if (width >= input->dyn_count)
			return false;
		*out = (struct text){input->dyn[width].data, input->dyn[width].size};
		if (!out->data)
			*out = (struct text){none, 0};
		break;
	case RS_SRC_COMM:
		*out = input->comm ? (struct text){input->comm, RS_COMM_LEN}
				   : (struct text){none, 0};
		break;
	default:
		return false;
	}
	if (out->size > RS_FILTER_MAX_STRING)
		out->size = RS_FILTER_MAX_STRING;
	return true;
}

static __attribute__((noinline)) bool test_text(const struct rs_filter_program *program,
						uint32_t size, const struct insn *in,
						const struct rs_filter_input *input)
{
	uint32_t at = (uint32_t)in->imm, length = (uint32_t)(in->imm >> 32), end;
	const char *want = (const char *)program + at;
	struct text text;

	if (!find_text(input, in->word >> 8 & 0xff, in->word >> 16 & 0xffff,
		       in->word >> 32 & 0xffff, &text) ||
	    at > size || length > size - at)
		return true;
	switch (in->word & 0xff) {
	case RS_OP_STR_EQ:
		return length <= text.size && same_bytes(text.data, want, length) &&
		       (length == text.size || !text.data[length]);
	case RS_OP_STR_PREFIX: /* `want` has no NUL, so it ends before the string's own does */
		return length <= text.size && same_bytes(text.data, want, length);
	case RS_OP_STR_SUFFIX:
		end = text_length(&text);
		return length <= end && same_bytes(text.data + end - length, want, length);
	case RS_OP_STR_GLOB:
		if (at % 8 || length < sizeof(struct rs_filter_glob))
			return true;
		return test_glob((const struct rs_filter_glob *)want, length, &text);
	default:
		return true;
	}
}

/* Loads an integer field; false: it does not lie in the entry, or has no such width. */
static inline bool load_field(const struct rs_filter_input *input, unsigned int width,
			      unsigned int offset, uint64_t *value)
{
	const char *at = (const char *)input->entry + offset;

	if (rs_unlikely(offset + width > input->entry_size))
		return false;
	switch (width) {
	case 1:
		*value = *(const uint8_t *)at;
		return true;
	case 2:
		*value = *(const u16_at *)at;
		return true;
	case 4:
		*value = *(const u32_at *)at;
		return true;
	case 8:
		*value = *(const u64_at *)at;
		return true;
	default:
		return false;
	}
}

static inline bool test(const struct rs_filter_program *program, uint32_t size,
			const struct insn *in, const struct rs_filter_input *input)
{
	unsigned int op = in->word & 0xff, source = in->word >> 8 & 0xff;
	unsigned int width = in->word >> 16 & 0xffff;
	uint64_t value;

	if (op > RS_OP_CPUSET)
		return test_text(program, size, in, input);
	if (rs_likely(source == RS_SRC_FIELD)) {
		if (!load_field(input, width, in->word >> 32 & 0xffff, &value))
			return true;
	} else if (source == RS_SRC_CPU || source == RS_SRC_PID) {
		value = source == RS_SRC_CPU ? input->cpu : input->pid;
		width = 4;
	} else {
		return true;
	}
	return test_integer(op, width, value, in);
}

bool rs_filter_run(const struct rs_filter_program *program, uint32_t size,
		   const struct rs_filter_input *input)
{
	const struct rs_filter_insn *insns = (const struct rs_filter_insn *)(program + 1);
	uint32_t count, at = 0, next;

	if (rs_unlikely(size < HEAD_BYTES + INSN_BYTES))
		return true;
	count = rs_load(&program->insn_count);
	if (rs_unlikely(count == 0 || count > (size - HEAD_BYTES) / INSN_BYTES))
		return true;
	for (;;) {
		const u64_word *words = (const u64_word *)&insns[at];
		struct insn in = {rs_load(&words[0]), rs_load(&words[1]), rs_load(&words[2]),
				  rs_load(&words[3])};

		next = test(program, size, &in, input) ? in.word >> 48 : in.on_false & 0xffff;
		if (next <= at || next >= count) /* forward only: at most `count` steps */
			return next != RS_FILTER_REJECT;
		at = next;
	}
}
