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
	default:
		return true;
	}
}

/* Loads an integer field. False: the entry does not hold it, or its width is wrong. */
static bool load_field(const struct rs_filter_input *input, unsigned int width, unsigned int offset,
		       uint64_t *raw)
{
	const uint8_t *at = (const uint8_t *)input->entry + offset;

	if (width == 0 || width > 8 || offset + width > input->entry_size)
		return false;
	*raw = 0;
	for (unsigned int i = width; i-- > 0;)
		*raw = *raw << 8 | at[i];
	return true;
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

static bool test(const struct rs_filter_program *program, uint32_t size, const struct rs_insn *in,
		 const struct rs_filter_input *input)
{
	unsigned int op = in->word & 0xff, source = in->word >> 8 & 0xff;
	unsigned int width = in->word >> 16 & 0xffff;
	struct rs_insn plain = *in;
	uint64_t raw;

	if (op > RS_OP_CPUSET)
		return test_text(program, size, in, input);
	if (source == RS_SRC_FIELD) {
		if (!load_field(input, width, in->word >> 32 & 0xffff, &raw))
			return true;
	} else if (source == RS_SRC_CPU || source == RS_SRC_PID || source == RS_SRC_TGID) {
		raw = source == RS_SRC_CPU   ? input->cpu
		      : source == RS_SRC_PID ? input->pid
					     : input->tgid;
	} else {
		return true;
	}
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
