/* SPDX-License-Identifier: MIT */
#include "filter.h"
#include "filter_fields.h"

#include <ringside/atomic.h>

#define INSN_BYTES ((uint32_t)sizeof(struct rs_filter_insn))
#define HEAD_BYTES ((uint32_t)sizeof(struct rs_filter_program))

/* Unaligned little-endian loads that cannot become calls. */
typedef uint64_t __attribute__((aligned(1), may_alias)) u64_at;
typedef uint64_t __attribute__((may_alias)) u64_word;

struct text {
	const char *data;
	uint32_t size; /* bytes that may be read; a NUL among them ends the string */
};

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
	/* Once a star at the end of the pattern is reached, the rest does not matter. */
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

/*
 * Looks for the text behind the table. A byte that does not match makes `have` smaller, and one
 * that matches makes it larger by 1. So there are at most two steps for each byte of the string.
 */
static bool test_sub(const uint8_t *table, uint32_t bytes, const struct text *text)
{
	uint32_t length = bytes / 3, have = 0, next;
	const uint16_t *shorter = (const uint16_t *)table;
	const char *want = (const char *)table + 2 * length;

	if (!length)
		return true;
	for (uint32_t i = 0; i < text->size && text->data[i]; i++) {
		while (have && want[have] != text->data[i]) {
			next = rs_load(&shorter[have]);
			if (rs_unlikely(next >= have))
				return true;
			have = next;
		}
		if (want[have] == text->data[i] && ++have == length)
			return true;
	}
	return false;
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

static __attribute__((__noinline__)) bool test_text(const struct rs_filter_program *program,
						    uint32_t size, const struct rs_insn *in,
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
	case RS_OP_STR_PREFIX: /* `want` has no NUL, so it cannot match past the string's */
		return length <= text.size && same_bytes(text.data, want, length);
	case RS_OP_STR_SUFFIX:
		end = text_length(&text);
		return length <= end && same_bytes(text.data + end - length, want, length);
	case RS_OP_STR_GLOB:
		if (at % 8 || length < sizeof(struct rs_filter_glob))
			return true;
		return test_glob((const struct rs_filter_glob *)want, length, &text);
	case RS_OP_STR_SUB:
		return at % 2 || test_sub((const uint8_t *)want, length, &text);
	default:
		return true;
	}
}

/* What became of a load. */
enum loaded {
	LOADED,
	ABSENT,    /* the array has no such element */
	SENSELESS, /* the instruction is wrong */
};

static void load_bytes(const uint8_t *at, unsigned int width, uint64_t *raw)
{
	*raw = 0;
	for (unsigned int i = width; i-- > 0;)
		*raw = *raw << 8 | at[i];
}

static enum loaded load_field(const struct rs_filter_input *input, unsigned int width,
			      unsigned int offset, uint64_t *raw)
{
	if (width == 0 || width > 8 || offset + width > input->entry_size)
		return SENSELESS;
	load_bytes((const uint8_t *)input->entry + offset, width, raw);
	return LOADED;
}

static enum loaded load_dyn(const struct rs_filter_input *input, unsigned int number,
			    unsigned int width, unsigned int offset, uint64_t *raw)
{
	const struct rs_dyn *dyn;

	if (width == 0 || width > 8 || number >= input->dyn_count)
		return SENSELESS;
	dyn = &input->dyn[number];
	if (!dyn->data || offset >= dyn->size)
		return ABSENT;
	if (width > dyn->size - offset)
		width = dyn->size - offset;
	load_bytes((const uint8_t *)dyn->data + offset, width, raw);
	return LOADED;
}

/* `word`: an instruction's, up to `offset`. */
static enum loaded load_integer(const struct rs_filter_input *input, uint64_t word, uint64_t *raw)
{
	unsigned int width = word >> 16 & 0xffff, offset = word >> 32 & 0xffff;

	switch (word >> 8 & 0xff) {
	case RS_SRC_FIELD:
		return load_field(input, width, offset, raw);
	case RS_SRC_DYN_INT:
		return load_dyn(input, width >> 8, width & 0xff, offset, raw);
	case RS_SRC_CPU:
		*raw = input->cpu;
		return LOADED;
	case RS_SRC_PID:
		*raw = input->pid;
		return LOADED;
	case RS_SRC_TGID:
		*raw = input->tgid;
		return LOADED;
	default:
		return SENSELESS;
	}
}

/* Bit `n` of the map at `imm`, offset in the program | bytes << 32. */
static bool test_set(const struct rs_filter_program *program, uint32_t size, uint64_t imm,
		     uint64_t n)
{
	uint32_t at = (uint32_t)imm, bytes = (uint32_t)(imm >> 32);

	if (at > size || bytes > size - at)
		return true;
	return n / 8 < bytes && (rs_load((const uint8_t *)program + at + n / 8) >> (n % 8) & 1);
}

/* Compares two integers, each with a sign of its own. */
static __attribute__((__noinline__)) bool test_pair(const struct rs_insn *in,
						    const struct rs_filter_input *input)
{
	enum loaded first, second;
	bool below, same, a_negative, b_negative;
	uint64_t a, b;

	first = load_integer(input, in->word, &a);
	second = load_integer(input, in->imm, &b);
	if (first == SENSELESS || second == SENSELESS)
		return true;
	if (first == ABSENT || second == ABSENT)
		return false;
	if (in->mask & 1)
		a = (uint64_t)rs_insn_extend(in->word, a);
	if (in->mask & 2)
		b = (uint64_t)rs_insn_extend(in->imm, b);
	a_negative = in->mask & 1 && a >> 63;
	b_negative = in->mask & 2 && b >> 63;
	below = a_negative != b_negative ? a_negative : a < b;
	same = a_negative == b_negative && a == b;
	switch (in->word & 0xff) {
	case RS_OP_PAIR_EQ:
		return same;
	case RS_OP_PAIR_NE:
		return !same;
	case RS_OP_PAIR_LT:
		return below;
	case RS_OP_PAIR_LE:
		return below || same;
	case RS_OP_PAIR_GT:
		return !below && !same;
	default: /* GE */
		return !below;
	}
}

static bool test(const struct rs_filter_program *program, uint32_t size, const struct rs_insn *in,
		 const struct rs_filter_input *input)
{
	unsigned int op = in->word & 0xff;
	struct rs_insn plain = *in;
	enum loaded loaded;
	uint64_t raw;

	if (op >= RS_OP_PAIR_EQ && op <= RS_OP_PAIR_GE)
		return test_pair(in, input);
	if (op > RS_OP_CPUSET)
		return test_text(program, size, in, input);
	loaded = load_integer(input, in->word, &raw);
	if (loaded != LOADED)
		return loaded == SENSELESS;
	if (op == RS_OP_CPUSET)
		return test_set(program, size, in->imm, raw);
	plain.word = in->word & ~0xff00ull; /* as if of a field */
	return rs_insn_compare(&plain, raw);
}

/* Runs any program. */
static __attribute__((__noinline__)) bool run_any(const struct rs_filter_program *program,
						  uint32_t size,
						  const struct rs_filter_input *input,
						  uint32_t count)
{
	uint32_t at = 0;

	for (;;) {
		struct rs_insn in = rs_insn_load(program, at);
		uint32_t next =
			test(program, size, &in, input) ? in.word >> 48 : in.on_false & 0xffff;

		if (next <= at || next >= count) /* forward only: at most `count` steps */
			return next != RS_FILTER_REJECT;
		at = next;
	}
}

bool rs_filter_run(const struct rs_filter_program *program, uint32_t size,
		   const struct rs_filter_input *input)
{
	uint32_t count, verdict;

	if (rs_unlikely(size < HEAD_BYTES + INSN_BYTES))
		return true;
	count = rs_load(&program->insn_count);
	if (rs_unlikely(count == 0 || count > (size - HEAD_BYTES) / INSN_BYTES))
		return true;
	verdict = rs_filter_run_unsigned(program, count, input->entry, input->entry_size);
	if (!verdict)
		verdict = rs_filter_run_fields(program, count, input->entry, input->entry_size);
	if (verdict)
		return verdict != RS_FILTER_REJECT;
	return run_any(program, size, input, count);
}
