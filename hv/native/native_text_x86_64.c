/* SPDX-License-Identifier: MIT */
/*
 * The tests of strings as x86-64 code. Registers beside those of native_x86_64.c:
 *
 *     r8   the string, where it is not in the entry; ecx  its bytes, where they are not known
 *     r9   the next byte; r10  scratch; r11  a table; edx  a state, or a length
 */
#include "native/asm_x86_64-private.h"

#include <glib.h>
#include <ringside/record.h>
#include <string.h>

#define INLINE 32u /* bytes that are compared without a loop */

struct text {
	enum rs_asm_reg base;
	int32_t disp;
	uint32_t size; /* bytes that may be read, or are in ecx: UNKNOWN */
};
#define UNKNOWN UINT32_MAX

/* r8 and ecx, of a string that may be missing: then it has no bytes. */
static struct text find_pointer(struct rs_asm *a, const struct rs_filter_insn *in)
{
	int32_t field = (int32_t)(in->width * RS_NATIVE_DYN_STRIDE);
	bool comm = in->source == RS_SRC_COMM;

	a->input = true;
	rs_asm_load(a, 8, false, R8, RS_MEM(SI, comm ? RS_NATIVE_IN_COMM : RS_NATIVE_IN_DYN));
	if (comm) {
		rs_asm_set(a, CX, RS_COMM_LEN);
	} else {
		rs_asm_load(a, 4, false, CX, RS_MEM(R8, field + (int32_t)RS_NATIVE_DYN_SIZE));
		rs_asm_load(a, 8, false, R8, RS_MEM(R8, field + (int32_t)RS_NATIVE_DYN_DATA));
		rs_asm_set(a, AX, RS_FILTER_MAX_STRING);
		rs_asm_op_reg(a, false, 0x3b, CX, AX);
		rs_asm_op_reg(a, false, 0x0f47, CX, AX); /* cmova */
	}
	rs_asm_set(a, AX, 0);
	rs_asm_op_reg(a, true, 0x85, R8, R8);    /* test */
	rs_asm_op_reg(a, false, 0x0f44, CX, AX); /* cmove */
	return (struct text){R8, 0, UNKNOWN};
}

static struct text find_text(struct rs_asm *a, const struct rs_filter_insn *in)
{
	if (in->source == RS_SRC_STRING)
		return (struct text){DI, (int32_t)in->offset, MIN(in->width, RS_FILTER_MAX_STRING)};
	return find_pointer(a, in);
}

/* Compares with bytes of the program: four tests at most for each 8 of them. */
static void same_inline(struct rs_asm *a, struct rs_asm_mem at, const uint8_t *want, uint32_t size,
			uint32_t no)
{
	for (uint32_t done = 0, step; done < size; done += step, at.disp += (int32_t)step) {
		uint64_t value = 0;

		step = size - done >= 8 ? 8 : size - done >= 4 ? 4 : 1;
		memcpy(&value, want + done, step);
		if (step < 8) {
			rs_asm_cmp_mem_imm(a, step, at,
					   step == 1 ? (int8_t)value : (int32_t)(uint32_t)value);
		} else {
			rs_asm_set(a, R10, value);
			rs_asm_op_mem(a, true, 0x39, R10, at); /* cmp %r10,memory */
		}
		rs_asm_jump_if(a, IF_NE, no);
	}
}

/* Goes on if the bytes at `at` are those; to `no` if not. */
static void same(struct rs_asm *a, struct rs_asm_mem at, const uint8_t *want, uint32_t size,
		 uint32_t no)
{
	uint32_t words = size & ~7u, again;

	if (size <= INLINE) {
		same_inline(a, at, want, size, no);
		return;
	}
	if (at.base !=
	    R8) { /* of what is in the entry, each place is known: only r8 has an index */
		rs_asm_op_mem(a, true, 0x8d, R8, at); /* lea */
		rs_asm_set(a, CX, size);
		at = RS_MEM(R8, 0);
	}
	rs_asm_lea_label(a, R11, rs_asm_table(a, g_memdup2(want, words), words, true));
	rs_asm_set(a, AX, 0);
	again = rs_asm_label(a);
	rs_asm_here(a, again);
	rs_asm_load(a, 8, false, R10, (struct rs_asm_mem){R11, AX, 0, 0});
	rs_asm_op_mem(a, true, 0x3b, R10, (struct rs_asm_mem){at.base, AX, 0, at.disp});
	rs_asm_jump_if(a, IF_NE, no);
	rs_asm_alu_imm(a, false, ALU_ADD, AX, 8);
	rs_asm_alu_imm(a, false, ALU_CMP, AX, (int32_t)words);
	rs_asm_jump_if(a, IF_B, again);
	at.disp += (int32_t)words;
	same_inline(a, at, want + words, size - words, no);
}

/* Whether the string has that many bytes, NULs among them. */
static void long_enough(struct rs_asm *a, const struct text *text, uint32_t length, uint32_t no)
{
	if (!length || text->size != UNKNOWN)
		return;
	rs_asm_alu_imm(a, false, ALU_CMP, CX, (int32_t)length);
	rs_asm_jump_if(a, IF_B, no);
}

static void test_equal(struct rs_asm *a, const struct text *text, const uint8_t *want,
		       uint32_t length, uint32_t yes, uint32_t no)
{
	struct rs_asm_mem at = RS_MEM(text->base, text->disp), end = at;

	long_enough(a, text, length, no);
	/* Most fields differ at once, and a byte never waits for the store buffer. */
	if (length > 1 && text->base == DI)
		same_inline(a, at, want, 1, no);
	same(a, at, want, length, no);
	if (text->size == length) {
		rs_asm_jump(a, yes);
		return;
	}
	if (text->size == UNKNOWN) {
		rs_asm_alu_imm(a, false, ALU_CMP, CX, (int32_t)length);
		rs_asm_jump_if(a, IF_E, yes);
	}
	end.disp += (int32_t)length;
	rs_asm_cmp_mem_imm(a, 1, end, 0);
	rs_asm_branch(a, IF_E, yes, no);
}

static void test_prefix(struct rs_asm *a, const struct text *text, const uint8_t *want,
			uint32_t length, uint32_t yes, uint32_t no)
{
	struct rs_asm_mem at = RS_MEM(text->base, text->disp);

	long_enough(a, text, length, no);
	if (length > 1 && text->base == DI)
		same_inline(a, at, want, 1, no);
	same(a, at, want, length, no);
	rs_asm_jump(a, yes);
}

/* r8: the first byte; ecx: how many there are. */
static void take_pointer(struct rs_asm *a, const struct text *text)
{
	if (text->size == UNKNOWN)
		return;
	rs_asm_op_mem(a, true, 0x8d, R8, RS_MEM(text->base, text->disp)); /* lea */
	rs_asm_set(a, CX, text->size);
}

static void test_suffix(struct rs_asm *a, const struct text *text, const uint8_t *want,
			uint32_t length, uint32_t yes, uint32_t no)
{
	uint32_t again = rs_asm_label(a), ended = rs_asm_label(a);

	take_pointer(a, text);
	rs_asm_set(a, DX, 0);
	rs_asm_here(a, again);
	rs_asm_op_reg(a, false, 0x3b, DX, CX);
	rs_asm_jump_if(a, IF_AE, ended);
	rs_asm_load(a, 1, false, AX, (struct rs_asm_mem){R8, DX, 0, 0});
	rs_asm_alu_imm(a, false, ALU_ADD, DX, 1);
	rs_asm_op_reg(a, false, 0x85, AX, AX);
	rs_asm_jump_if(a, IF_NE, again);
	rs_asm_alu_imm(a, false, ALU_SUB, DX, 1);
	rs_asm_here(a, ended);
	rs_asm_alu_imm(a, false, ALU_CMP, DX, (int32_t)length);
	rs_asm_jump_if(a, IF_B, no);
	rs_asm_op_mem(a, true, 0x8d, R8, (struct rs_asm_mem){R8, DX, 0, 0}); /* lea */
	/* As in test_equal(), from the end: most strings differ there. */
	for (uint32_t i = 1; i <= 2 && i < length && text->base == DI; i++)
		same_inline(a, RS_MEM(R8, -(int32_t)i), want + length - i, 1, no);
	same(a, RS_MEM(R8, -(int32_t)length), want, length, no);
	rs_asm_jump(a, yes);
}

/*
 * A glob's states without its stars: bit i means that i of the other elements have matched, and is
 * in `stars` if a star comes next. Row c has the bits to which a byte of class c leads.
 */
struct states {
	uint64_t stars;
	unsigned int last; /* that bit is set at the end of a string that matches */
	bool wide;         /* more bits than 32 */
	uint32_t classes, size;
	uint8_t *table; /* classes of bytes, then rows */
};

static struct states states_of(const uint8_t *pattern)
{
	struct rs_filter_glob head;
	uint8_t place[64]; /* the bit of each element that is no star */
	struct states s = {0};

	memcpy(&head, pattern, sizeof(head));
	for (unsigned int i = 0; i < head.length; i++) {
		place[i] = (uint8_t)s.last;
		if (head.stay >> i & 1)
			s.stars |= 1ull << s.last;
		else
			s.last++;
	}
	s.wide = s.last > 31;
	s.classes = head.classes;
	s.size = 256 + s.classes * (s.wide ? 8 : 4);
	s.table = g_malloc0(s.size);
	memcpy(s.table, head.class_of, 256);
	for (uint32_t c = 0; c < s.classes; c++) {
		uint64_t row, to = 0;

		memcpy(&row, pattern + sizeof(head) + c * sizeof(row), sizeof(row));
		for (unsigned int i = 0; i < head.length; i++)
			if (row >> i & 1)
				to |= 2ull << place[i];
		memcpy(s.table + 256 + (s.wide ? 8 : 4) * c, &to, s.wide ? 8 : 4);
	}
	return s;
}

/* edx and `bits` at once: the flags say whether one of them is set. */
static void test_state(struct rs_asm *a, const struct states *s, unsigned int bit)
{
	rs_asm_op_reg(a, s->wide, 0x0fba, 4, DX); /* bt */
	rs_asm_bytes(a, &(uint8_t){(uint8_t)bit}, 1);
}

/* From the states in rdx, and the byte in rax, to the next ones. On to `no` if none is left. */
static void next_state(struct rs_asm *a, const struct states *s, uint32_t no)
{
	struct rs_asm_mem twice = {DX, DX, 0, 0}, row = {R11, AX, s->wide ? 3 : 2, 256};

	rs_asm_load(a, 1, false, AX, (struct rs_asm_mem){R11, AX, 0, 0});
	rs_asm_op_mem(a, s->wide, 0x8d, R10, twice); /* lea */
	rs_asm_op_mem(a, s->wide, 0x23, R10, row);   /* and */
	if (!s->stars) {
		rs_asm_op_reg(a, s->wide, 0x8b, DX, R10);
		rs_asm_op_reg(a, s->wide, 0x85, DX, DX);
	} else {
		if (!s->wide || rs_asm_fits(s->stars, 32)) {
			rs_asm_alu_imm(a, s->wide, ALU_AND, DX, (int32_t)s->stars);
		} else {
			rs_asm_set(a, CX, s->stars);
			rs_asm_op_reg(a, true, 0x23, DX, CX);
		}
		rs_asm_op_reg(a, s->wide, 0x0b, DX, R10); /* or */
	}
	if (!(s->stars & 1)) /* a star in front is never left */
		rs_asm_jump_if(a, IF_E, no);
}

static void test_glob(struct rs_asm *a, const struct text *text, const uint8_t *pattern,
		      uint32_t yes, uint32_t no)
{
	uint32_t again = rs_asm_label(a), ended = rs_asm_label(a), next = a->next;
	uint32_t step = text->size != UNKNOWN && text->size % 4 == 0 ? 4 : 1;
	struct states s = states_of(pattern);

	take_pointer(a, text);
	rs_asm_lea_label(a, R11, rs_asm_table(a, s.table, s.size, true));
	rs_asm_op_mem(a, true, 0x8d, R9, (struct rs_asm_mem){R8, CX, 0, 0}); /* lea: the end */
	rs_asm_set(a, DX, 1);
	rs_asm_here(a, again);
	rs_asm_op_reg(a, true, 0x3b, R8, R9);
	rs_asm_jump_if(a, IF_AE, ended);
	for (uint32_t i = 0; i < step; i++) {
		rs_asm_load(a, 1, false, AX, RS_MEM(R8, (int32_t)i));
		rs_asm_op_reg(a, false, 0x85, AX, AX);
		rs_asm_jump_if(a, IF_E, ended);
		next_state(a, &s, no);
	}
	/* A star at the end is never left, so it is enough to look now and then. */
	if (s.stars >> s.last & 1) {
		test_state(a, &s, s.last);
		rs_asm_jump_if(a, IF_B, yes);
	}
	rs_asm_alu_imm(a, true, ALU_ADD, R8, (int32_t)step);
	a->next = RS_ASM_LABELS;
	rs_asm_jump(a, again);
	a->next = next;
	rs_asm_here(a, ended);
	test_state(a, &s, s.last);
	rs_asm_branch(a, IF_B, yes, no);
}

/* As the agent's test_sub(): edx bytes have matched so far. */
static void test_sub(struct rs_asm *a, const struct text *text, const uint8_t *table,
		     uint32_t bytes, uint32_t yes, uint32_t no)
{
	uint32_t length = bytes / 3, next = a->next;
	uint32_t outer = rs_asm_label(a), inner = rs_asm_label(a), match = rs_asm_label(a);
	struct rs_asm_mem want = {R11, DX, 0, (int32_t)(2 * length)}, shorter = {R11, DX, 1, 0};

	take_pointer(a, text);
	rs_asm_lea_label(a, R11, rs_asm_table(a, table, bytes, false));
	rs_asm_op_mem(a, true, 0x8d, R9, (struct rs_asm_mem){R8, CX, 0, 0}); /* lea: the end */
	rs_asm_set(a, DX, 0);
	a->next = RS_ASM_LABELS;
	rs_asm_here(a, outer);
	rs_asm_op_reg(a, true, 0x3b, R8, R9);
	rs_asm_jump_if(a, IF_AE, no);
	rs_asm_load(a, 1, false, AX, RS_MEM(R8, 0));
	rs_asm_alu_imm(a, true, ALU_ADD, R8, 1);
	rs_asm_op_reg(a, false, 0x85, AX, AX);
	rs_asm_jump_if(a, IF_E, no);
	rs_asm_here(a, inner);
	rs_asm_op_mem(a, false, 0x3a, AX, want); /* cmp memory,%al */
	rs_asm_jump_if(a, IF_E, match);
	rs_asm_op_reg(a, false, 0x85, DX, DX);
	rs_asm_jump_if(a, IF_E, outer);
	/* It is shorter always: so that this ends can be seen in the code. */
	rs_asm_load(a, 2, false, R10, shorter);
	rs_asm_op_reg(a, false, 0x3b, R10, DX);
	rs_asm_jump_if(a, IF_AE, no);
	rs_asm_op_reg(a, false, 0x8b, DX, R10);
	rs_asm_jump(a, inner);
	rs_asm_here(a, match);
	rs_asm_alu_imm(a, false, ALU_ADD, DX, 1);
	rs_asm_alu_imm(a, false, ALU_CMP, DX, (int32_t)length);
	rs_asm_jump_if(a, IF_B, outer);
	a->next = next;
	rs_asm_jump(a, yes);
}

void rs_native_text(struct rs_asm *a, const uint8_t *program, const struct rs_filter_insn *in,
		    uint32_t yes, uint32_t no)
{
	const uint8_t *want = program + (uint32_t)in->imm;
	uint32_t length = (uint32_t)(in->imm >> 32);
	bool whole = in->op == RS_OP_STR_GLOB || in->op == RS_OP_STR_SUB;
	struct text text;

	if (!whole && in->source == RS_SRC_STRING &&
	    length > MIN(in->width, RS_FILTER_MAX_STRING)) {
		rs_asm_jump(a, no);
		return;
	}
	text = find_text(a, in);
	if (in->op == RS_OP_STR_EQ)
		test_equal(a, &text, want, length, yes, no);
	else if (in->op == RS_OP_STR_PREFIX)
		test_prefix(a, &text, want, length, yes, no);
	else if (in->op == RS_OP_STR_SUFFIX)
		test_suffix(a, &text, want, length, yes, no);
	else if (in->op == RS_OP_STR_GLOB)
		test_glob(a, &text, want, yes, no);
	else
		test_sub(a, &text, want, length, yes, no);
}
