/* SPDX-License-Identifier: MIT */
/*
 * Whether loops end. A loop is what lies between the target of a jump back, its head, and the last
 * jump back to it. Loops are one in another or apart. So whatever runs for ever comes to some head
 * again and again, and stays in that loop. Each loop must have a register that stops this, and that
 * one instruction of the loop changes, no other. One of:
 *
 *     counted     … sub $1,R; jne head            … add $k,R; cmp $n,R; jb head
 *     descending  … cmp R,S; jae out; mov S,R; jmp head
 *     advancing   head: cmp END,R; jae out; …     all ways to the head lead through an add to R
 */
#include "native/insn_native_x86_64-private.h"

#include <glib.h>

struct loop {
	const struct rs_code *code;
	size_t head, last;
	unsigned int jumps; /* back to the head */
};

static const cs_insn *insn_at(const struct loop *loop, size_t i)
{
	return &loop->code->insns[i];
}

static bool is_back(const struct rs_code *code, size_t i)
{
	return code->to[i] >= 0 && (size_t)code->to[i] <= i;
}

static bool is_target(const struct rs_code *code, size_t i)
{
	for (size_t k = 0; k < code->count; k++)
		if (code->to[k] == (ssize_t)i)
			return true;
	return false;
}

/* The only place that changes the register within the loop; `last` + 1: there is not just one. */
static size_t only_write(const struct loop *loop, x86_reg reg)
{
	size_t found = loop->last + 1;

	for (size_t i = loop->head; i <= loop->last; i++) {
		if (rs_code_writes(insn_at(loop, i)) != reg)
			continue;
		if (found <= loop->last)
			return loop->last + 1;
		found = i;
	}
	return found;
}

static bool never_written(const struct loop *loop, x86_reg reg)
{
	for (size_t i = loop->head; i <= loop->last; i++)
		if (rs_code_writes(insn_at(loop, i)) == reg)
			return false;
	return true;
}

/* Such an instruction on a register, and a value between `min` and `max`. */
static bool is_imm(const cs_insn *insn, unsigned int id, x86_reg reg, int64_t min, int64_t max)
{
	const cs_x86_op *ops = rs_code_ops(insn);

	return insn->id == id && ops[0].type == X86_OP_REG && ops[0].reg == reg &&
	       ops[1].type == X86_OP_IMM && ops[1].imm >= min && ops[1].imm <= max;
}

/* Such an instruction on two registers. */
static bool is_regs(const cs_insn *insn, unsigned int id, x86_reg *first, x86_reg *second)
{
	const cs_x86_op *ops = rs_code_ops(insn);

	*first = ops[0].reg;
	*second = ops[1].reg;
	return insn->id == id && ops[0].type == X86_OP_REG && ops[1].type == X86_OP_REG;
}

static bool is_half(x86_reg reg)
{
	return reg == X86_REG_EAX || reg == X86_REG_ECX || reg == X86_REG_EDX ||
	       reg == X86_REG_R10D;
}

/* Of the last `count` instructions only the first one may be jumped to. */
static bool ends_straight(const struct loop *loop, size_t count)
{
	if (loop->jumps != 1 || loop->last - loop->head + 1 < count)
		return false;
	for (size_t i = loop->last - count + 2; i <= loop->last; i++)
		if (is_target(loop->code, i))
			return false;
	return true;
}

static bool is_counted_down(const struct loop *loop)
{
	const cs_insn *sub;
	x86_reg reg;

	if (!ends_straight(loop, 2))
		return false;
	sub = insn_at(loop, loop->last - 1);
	reg = rs_code_ops(sub)->reg;
	return sub[1].id == X86_INS_JNE && is_imm(sub, X86_INS_SUB, reg, 1, 1) && is_half(reg) &&
	       only_write(loop, rs_code_number(reg)) == loop->last - 1;
}

static bool is_counted_up(const struct loop *loop)
{
	const cs_insn *add;
	x86_reg reg;

	if (!ends_straight(loop, 3))
		return false;
	add = insn_at(loop, loop->last - 2);
	reg = rs_code_ops(add)->reg;
	return add[2].id == X86_INS_JB && is_imm(add, X86_INS_ADD, reg, 1, 8) && is_half(reg) &&
	       is_imm(add + 1, X86_INS_CMP, reg, 1, INT32_MAX - 8) &&
	       only_write(loop, rs_code_number(reg)) == loop->last - 2;
}

static bool is_descending(const struct loop *loop)
{
	const cs_insn *cmp;
	x86_reg reg, less, to, from;

	if (!ends_straight(loop, 4))
		return false;
	cmp = insn_at(loop, loop->last - 3);
	return is_regs(cmp, X86_INS_CMP, &less, &reg) && cmp[1].id == X86_INS_JAE &&
	       is_regs(cmp + 2, X86_INS_MOV, &to, &from) && to == reg && from == less &&
	       is_half(reg) && is_half(less) &&
	       only_write(loop, rs_code_number(reg)) == loop->last - 1;
}

/* Whether another loop lies around it, within this one. */
static bool is_nested(const struct loop *loop, size_t i)
{
	for (size_t k = i; k <= loop->last; k++)
		if (is_back(loop->code, k) && (size_t)loop->code->to[k] > loop->head &&
		    (size_t)loop->code->to[k] <= i)
			return true;
	return false;
}

/* Marks an instruction that can be run next. Returns whether that is new. */
static bool reach(const struct loop *loop, bool *reached, size_t i)
{
	bool is_new = i > loop->head && i <= loop->last && !reached[i - loop->head];

	if (is_new)
		reached[i - loop->head] = true;
	return is_new;
}

/* Whether each way from the head to the head leads through instruction `at`. */
static bool always_through(const struct loop *loop, size_t at)
{
	g_autofree bool *reached = g_new0(bool, loop->last - loop->head + 1);
	bool more = true;

	reached[0] = true;
	while (more) {
		more = false;
		for (size_t i = loop->head; i <= loop->last; i++) {
			ssize_t to = loop->code->to[i];

			if (!reached[i - loop->head] || i == at)
				continue;
			if (to == (ssize_t)loop->head)
				return false;
			if (rs_code_goes_on(insn_at(loop, i)))
				more |= reach(loop, reached, i + 1);
			if (to >= 0)
				more |= reach(loop, reached, (size_t)to);
		}
	}
	return true;
}

/* A register as rs_code_writes() says it; X86_REG_INVALID: only a part of one. */
static x86_reg whole(x86_reg reg)
{
	return reg == X86_REG_R8 || reg == X86_REG_R9 ? reg : rs_code_number(reg);
}

/* What grows by one cannot pass its end. A pointer may: no string ends where memory does. */
static bool is_advancing(const struct loop *loop)
{
	const cs_insn *cmp = insn_at(loop, loop->head);
	x86_reg reg, end;
	size_t add;

	if (loop->last == loop->head || !is_regs(cmp, X86_INS_CMP, &reg, &end) ||
	    cmp[1].id != X86_INS_JAE || loop->code->to[loop->head + 1] <= (ssize_t)loop->last ||
	    whole(reg) == X86_REG_INVALID || whole(end) == X86_REG_INVALID)
		return false;
	add = only_write(loop, whole(reg));
	return add <= loop->last &&
	       is_imm(insn_at(loop, add), X86_INS_ADD, reg, 1,
		      reg == X86_REG_R8 && end == X86_REG_R9 ? 4 : 1) &&
	       never_written(loop, whole(end)) && !is_nested(loop, add) &&
	       always_through(loop, add);
}

/* All jumps back into the loop are from within it. */
static bool is_closed(const struct loop *loop)
{
	for (size_t i = loop->last + 1; i < loop->code->count; i++)
		if (is_back(loop->code, i) && (size_t)loop->code->to[i] > loop->head &&
		    (size_t)loop->code->to[i] <= loop->last)
			return false;
	return true;
}

const char *rs_code_bad_loop(const struct rs_code *code, size_t *at)
{
	for (size_t i = 0; i < code->count; i++) {
		struct loop loop = {.code = code};

		if (!is_back(code, i))
			continue;
		loop.head = (size_t)code->to[i];
		for (size_t k = loop.head; k < code->count; k++)
			if (code->to[k] == (ssize_t)loop.head && is_back(code, k)) {
				loop.last = k;
				loop.jumps++;
			}
		*at = i;
		if (!is_closed(&loop) || !(is_counted_down(&loop) || is_counted_up(&loop) ||
					   is_descending(&loop) || is_advancing(&loop)))
			return "a jump back";
	}
	return NULL;
}
