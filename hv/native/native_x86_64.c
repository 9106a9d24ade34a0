/* SPDX-License-Identifier: MIT */
/*
 * A filter as x86-64 code, see native.h: its instructions one behind the other, those on integers
 * here, those on strings in native_text_x86_64.c. Registers:
 *
 *     rdi  the entry; rsi  the input: neither changes
 *     rax  an integer; rdx  the first one of a pair
 *     others as each test says; rbx, rbp, rsp, r12 to r15 are never touched
 *
 * A field is loaded as wide as it is: a wider load would wait for the store buffer.
 */
#include "native/asm_x86_64-private.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

/* An integer that an instruction looks at. */
struct source {
	unsigned int kind, width, number, offset; /* RS_SRC_*; `number`: of the dynamic field */
};

/* `word`: the bytes of an instruction up to `offset`, as those of the second one in a pair. */
static struct source source_of(uint64_t word)
{
	struct source s = {.kind = word >> 8 & 0xff, .width = word >> 16 & 0xffff};

	s.offset = word >> 32 & 0xffff;
	if (s.kind == RS_SRC_DYN_INT) {
		s.number = s.width >> 8;
		s.width &= 0xff;
	} else if (s.kind != RS_SRC_FIELD) {
		s.width = 4;
	}
	return s;
}

static bool may_be_negative(const struct source *s)
{
	return s->kind == RS_SRC_FIELD || s->kind == RS_SRC_DYN_INT;
}

static struct rs_asm_mem memory_of(struct rs_asm *a, const struct source *s)
{
	switch (s->kind) {
	case RS_SRC_FIELD:
		return RS_MEM(DI, (int32_t)s->offset);
	case RS_SRC_PID:
		a->input = true;
		return RS_MEM(SI, RS_NATIVE_IN_PID);
	case RS_SRC_TGID:
		a->input = true;
		return RS_MEM(SI, RS_NATIVE_IN_TGID);
	default:
		a->input = true;
		return RS_MEM(SI, RS_NATIVE_IN_CPU);
	}
}

/* The last bytes of a dynamic field are fewer than the integer has: the others are 0. */
static void load_rest(struct rs_asm *a, unsigned int offset)
{
	struct rs_asm_mem byte = {R9, CX, 0, (int32_t)offset - 1};
	uint32_t again = rs_asm_label(a);

	rs_asm_alu_imm(a, false, ALU_SUB, CX, (int32_t)offset); /* bytes that are there */
	rs_asm_set(a, AX, 0);
	rs_asm_here(a, again);
	rs_asm_op_reg(a, true, 0xc1, 4, AX); /* shl $8,%rax */
	rs_asm_bytes(a, "\x08", 1);
	rs_asm_load(a, 1, false, R10, byte);
	rs_asm_op_reg(a, true, 0x09, R10, AX); /* or %r10,%rax */
	rs_asm_alu_imm(a, false, ALU_SUB, CX, 1);
	rs_asm_jump_if(a, IF_NE, again);
}

/* To rax. On to `absent` if there is no such element. */
static void load_dyn(struct rs_asm *a, const struct source *s, bool sign, uint32_t absent)
{
	int32_t field = (int32_t)(s->number * RS_NATIVE_DYN_STRIDE);
	uint32_t whole = rs_asm_label(a), end = rs_asm_label(a), next = a->next;

	a->input = true;
	a->next = RS_ASM_LABELS;
	rs_asm_load(a, 8, false, R8, RS_MEM(SI, RS_NATIVE_IN_DYN));
	rs_asm_load(a, 8, false, R9, RS_MEM(R8, field + (int32_t)RS_NATIVE_DYN_DATA));
	rs_asm_load(a, 4, false, CX, RS_MEM(R8, field + (int32_t)RS_NATIVE_DYN_SIZE));
	rs_asm_op_reg(a, true, 0x85, R9, R9); /* test */
	rs_asm_jump_if(a, IF_E, absent);
	rs_asm_alu_imm(a, false, ALU_CMP, CX, (int32_t)s->offset);
	rs_asm_jump_if(a, IF_BE, absent);
	if (s->width > 1) {
		rs_asm_alu_imm(a, false, ALU_CMP, CX, (int32_t)(s->offset + s->width));
		rs_asm_jump_if(a, IF_AE, whole);
		load_rest(a, s->offset);
		if (sign)
			rs_asm_extend(a, s->width, AX);
		rs_asm_jump(a, end);
	}
	rs_asm_here(a, whole);
	rs_asm_load(a, s->width, sign, AX, RS_MEM(R9, (int32_t)s->offset));
	rs_asm_here(a, end);
	a->next = next;
}

static void load(struct rs_asm *a, const struct source *s, bool sign, uint32_t absent)
{
	sign = sign && may_be_negative(s);
	if (s->kind == RS_SRC_DYN_INT)
		load_dyn(a, s, sign, absent);
	else
		rs_asm_load(a, s->width, sign, AX, memory_of(a, s));
}

/* op `reg`, value: through rcx if the value does not fit. */
static void alu_value(struct rs_asm *a, enum rs_asm_alu alu, uint8_t reg, uint64_t value)
{
	if (rs_asm_fits(value, 32)) {
		rs_asm_alu_imm(a, true, alu, reg, (int32_t)value);
		return;
	}
	rs_asm_set(a, CX, value);
	rs_asm_op_reg(a, true, (uint32_t)alu << 3 | 1, CX, reg);
}

static enum rs_asm_if condition_of(unsigned int op)
{
	static const uint8_t conditions[] = {
		[RS_OP_EQ] = IF_E,       [RS_OP_NE] = IF_NE,      [RS_OP_LT] = IF_B,
		[RS_OP_LE] = IF_BE,      [RS_OP_GT] = IF_A,       [RS_OP_GE] = IF_AE,
		[RS_OP_SLT] = IF_L,      [RS_OP_SLE] = IF_LE,     [RS_OP_SGT] = IF_G,
		[RS_OP_SGE] = IF_GE,     [RS_OP_ANY] = IF_NE,     [RS_OP_SEQ] = IF_E,
		[RS_OP_SNE] = IF_NE,     [RS_OP_PAIR_EQ] = IF_E,  [RS_OP_PAIR_NE] = IF_NE,
		[RS_OP_PAIR_LT] = IF_B,  [RS_OP_PAIR_LE] = IF_BE, [RS_OP_PAIR_GT] = IF_A,
		[RS_OP_PAIR_GE] = IF_AE,
	};

	return conditions[op];
}

static bool is_signed(unsigned int op)
{
	return op >= RS_OP_SLT && op <= RS_OP_SNE && op != RS_OP_ANY;
}

/* One instruction compares memory with a value, where value and mask let it. */
static bool compare_there(struct rs_asm *a, const struct rs_filter_insn *in, const struct source *s)
{
	uint64_t all = s->width == 8 || is_signed(in->op) ? UINT64_MAX : (1ull << 8 * s->width) - 1;
	bool fits = s->width == 8       ? rs_asm_fits(in->imm, 32)
		    : is_signed(in->op) ? rs_asm_fits(in->imm, 8 * s->width)
					: in->imm <= all;

	if (s->kind == RS_SRC_DYN_INT || s->width == 2)
		return false;
	if (in->op == RS_OP_ANY) {
		if (in->mask > INT32_MAX && s->width == 8)
			return false;
		rs_asm_test_mem_imm(a, s->width, memory_of(a, s), (int32_t)in->mask);
		return true;
	}
	if (in->mask != all || !fits)
		return false;
	rs_asm_cmp_mem_imm(a, s->width, memory_of(a, s),
			   s->width == 1 ? (int8_t)in->imm : (int32_t)in->imm);
	return true;
}

static void test_integer(struct rs_asm *a, const struct rs_filter_insn *in, const struct source *s,
			 uint32_t yes, uint32_t no)
{
	uint64_t all = s->width == 8 ? UINT64_MAX : (1ull << 8 * s->width) - 1;

	if (!compare_there(a, in, s)) {
		load(a, s, is_signed(in->op), no);
		if (in->mask != (is_signed(in->op) ? UINT64_MAX : all))
			alu_value(a, ALU_AND, AX, in->mask);
		alu_value(a, ALU_CMP, AX, in->imm); /* of ANY it is 0 */
	}
	rs_asm_branch(a, condition_of(in->op), yes, no);
}

/* Bit n of a map. A short one is a number, another one a table. */
static void test_set(struct rs_asm *a, const uint8_t *program, const struct rs_filter_insn *in,
		     const struct source *s, uint32_t yes, uint32_t no)
{
	const uint8_t *map = program + (uint32_t)in->imm;
	uint32_t bytes = (uint32_t)(in->imm >> 32);
	uint64_t word = 0;

	load(a, s, false, no);
	rs_asm_alu_imm(a, true, ALU_CMP, AX, (int32_t)(8 * bytes));
	rs_asm_jump_if(a, IF_AE, no);
	if (bytes <= sizeof(word)) {
		memcpy(&word, map, bytes);
		rs_asm_set(a, CX, word);
	} else {
		rs_asm_lea_label(a, R11, rs_asm_table(a, map, bytes, false));
		rs_asm_op_reg(a, false, 0x8b, CX, AX);
		rs_asm_op_reg(a, false, 0xc1, 5, CX); /* shr $3,%ecx */
		rs_asm_bytes(a, "\x03", 1);
		rs_asm_load(a, 1, false, CX, (struct rs_asm_mem){R11, CX, 0, 0});
		rs_asm_alu_imm(a, false, ALU_AND, AX, 7);
	}
	rs_asm_op_reg(a, true, 0x0fa3, AX, CX); /* bt %rax,%rcx */
	rs_asm_branch(a, IF_B, yes, no);
}

/* Where one of a pair can be negative, and the other one too large for a signed comparison. */
static void split_signs(struct rs_asm *a, unsigned int op, bool first, uint32_t yes, uint32_t no)
{
	uint8_t reg = first ? DX : AX;
	bool below = op == RS_OP_PAIR_LT || op == RS_OP_PAIR_LE;
	bool above = op == RS_OP_PAIR_GT || op == RS_OP_PAIR_GE;

	rs_asm_op_reg(a, true, 0x85, reg, reg); /* test */
	rs_asm_jump_if(a, IF_S, (first ? below : above) || op == RS_OP_PAIR_NE ? yes : no);
}

static void test_pair(struct rs_asm *a, const struct rs_filter_insn *in, const struct source *s,
		      uint32_t yes, uint32_t no)
{
	static const uint8_t with_sign[] = {IF_E, IF_NE, IF_L, IF_LE, IF_G, IF_GE};
	struct source second = source_of(in->imm);
	bool first_sign = in->mask & 1 && may_be_negative(s);
	bool second_sign = in->mask & 2 && may_be_negative(&second);
	bool mixed = (first_sign && !second_sign && second.width == 8) ||
		     (!first_sign && second_sign && s->width == 8);

	load(a, s, first_sign, no);
	rs_asm_op_reg(a, true, 0x8b, DX, AX);
	load(a, &second, second_sign, no);
	if (mixed)
		split_signs(a, in->op, first_sign, yes, no);
	rs_asm_op_reg(a, true, 0x3b, DX, AX); /* cmp %rax,%rdx */
	rs_asm_branch(a,
		      !mixed && (first_sign || second_sign) ? with_sign[in->op - RS_OP_PAIR_EQ]
							    : condition_of(in->op),
		      yes, no);
}

static void test(struct rs_asm *a, const uint8_t *program, const struct rs_filter_insn *in)
{
	uint32_t yes = in->on_true == RS_FILTER_ACCEPT   ? RS_ASM_ACCEPT
		       : in->on_true == RS_FILTER_REJECT ? RS_ASM_REJECT
							 : in->on_true;
	uint32_t no = in->on_false == RS_FILTER_ACCEPT   ? RS_ASM_ACCEPT
		      : in->on_false == RS_FILTER_REJECT ? RS_ASM_REJECT
							 : in->on_false;
	struct source s;
	uint64_t word;

	memcpy(&word, in, sizeof(word));
	s = source_of(word);
	if (in->op >= RS_OP_PAIR_EQ)
		test_pair(a, in, &s, yes, no);
	else if (in->op >= RS_OP_STR_EQ)
		rs_native_text(a, program, in, yes, no);
	else if (in->op == RS_OP_CPUSET)
		test_set(a, program, in, &s, yes, no);
	else
		test_integer(a, in, &s, yes, no);
}

static struct rs_filter_insn insn_at(const uint8_t *program, uint32_t i)
{
	struct rs_filter_insn in;

	memcpy(&in, program + sizeof(struct rs_filter_program) + i * sizeof(in), sizeof(in));
	return in;
}

/* Which instructions can be reached: the others are left out. */
static void find_reached(const uint8_t *program, uint32_t count, bool *reached)
{
	reached[0] = true;
	for (uint32_t i = 0; i < count; i++) {
		struct rs_filter_insn in = insn_at(program, i);

		if (reached[i] && in.on_true < count)
			reached[in.on_true] = true;
		if (reached[i] && in.on_false < count)
			reached[in.on_false] = true;
	}
}

static void emit_ends(struct rs_asm *a)
{
	static const uint8_t accept[] = {0xb8, 1, 0, 0, 0, 0xc3}; /* mov $1,%eax; ret */
	static const uint8_t reject[] = {0x31, 0xc0, 0xc3};       /* xor %eax,%eax; ret */

	rs_asm_here(a, RS_ASM_ACCEPT);
	rs_asm_bytes(a, accept, sizeof(accept));
	rs_asm_here(a, RS_ASM_REJECT);
	rs_asm_bytes(a, reject, sizeof(reject));
}

static void emit(struct rs_asm *a, const uint8_t *program, uint32_t count, const bool *reached)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

	rs_asm_bytes(a, endbr64, sizeof(endbr64));
	for (uint32_t i = 0; i < count && !a->full; i++) {
		struct rs_filter_insn in = insn_at(program, i);

		if (!reached[i])
			continue;
		a->next = i + 1;
		while (a->next < count && !reached[a->next])
			a->next++;
		if (a->next == count)
			a->next = RS_ASM_ACCEPT;
		rs_asm_here(a, i);
		test(a, program, &in);
	}
	emit_ends(a);
}

/* Behind the code, each at a multiple of 8. */
static void emit_tables(struct rs_asm *a)
{
	static const uint8_t unused[7] = {RS_NATIVE_UNUSED, RS_NATIVE_UNUSED, RS_NATIVE_UNUSED,
					  RS_NATIVE_UNUSED, RS_NATIVE_UNUSED, RS_NATIVE_UNUSED,
					  RS_NATIVE_UNUSED};

	for (uint32_t i = 0; i < a->table_count; i++) {
		rs_asm_bytes(a, unused, -a->size & 7);
		rs_asm_here(a, a->tables[i].label);
		rs_asm_bytes(a, a->tables[i].bytes, a->tables[i].size);
	}
}

static void forget(struct rs_asm *a)
{
	for (uint32_t i = 0; i < a->table_count; i++)
		if (a->tables[i].made)
			g_free((void *)a->tables[i].bytes);
	a->table_count = a->jump_count = a->size = 0;
	a->label_count = RS_ASM_FREE;
}

int rs_native_compile_x86_64(const void *program, struct rs_native *out, struct rs_error *err)
{
	uint32_t count = ((const struct rs_filter_program *)program)->insn_count;
	bool reached[RS_FILTER_MAX_INSNS] = {false}, full;
	struct rs_asm *a = g_new0(struct rs_asm, 1);
	uint32_t text = 0;

	find_reached(program, count, reached);
	for (unsigned int pass = 0; pass < 2 && !a->full; pass++) {
		forget(a);
		a->second = pass;
		emit(a, program, count, reached);
		text = a->size;
		emit_tables(a);
		rs_asm_link(a);
	}
	full = a->full;
	if (!full) {
		memset(out->bytes, RS_NATIVE_UNUSED, sizeof(out->bytes));
		memcpy(out->bytes, a->bytes, a->size);
		out->text = text;
		out->size = a->size;
		out->kind = a->input ? RS_NATIVE_INPUT : RS_NATIVE_FIELDS;
	}
	forget(a);
	g_free(a);
	if (full)
		return rs_error_set(err, E2BIG, "as code it takes more than %u bytes",
				    RS_NATIVE_MAX);
	return 0;
}
