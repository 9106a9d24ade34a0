/* SPDX-License-Identifier: MIT */
/*
 * Checks x86-64 code of filters, see native.h. It is written from what such code may do, not from
 * how it is made. Each instruction is one of a list, and each register has one role:
 *
 *     rdi, rsi            the arguments: never written
 *     r8, r9              pointers into strings and dynamic fields: never made of a number
 *     r11                 a table of this code
 *     rax, rcx, rdx, r10  numbers
 *
 * Memory is only read. Jumps lead to an instruction. What then depends on the way to an instruction
 * is in insn_pointers_x86_64.c, and loops are in insn_loops_x86_64.c.
 */
#include "native/insn_native_x86_64-private.h"

#include <errno.h>
#include <glib.h>

x86_reg rs_code_number(x86_reg reg)
{
	switch (reg) {
	case X86_REG_AL:
	case X86_REG_EAX:
	case X86_REG_RAX:
		return X86_REG_RAX;
	case X86_REG_ECX:
	case X86_REG_RCX:
		return X86_REG_RCX;
	case X86_REG_EDX:
	case X86_REG_RDX:
		return X86_REG_RDX;
	case X86_REG_R10D:
	case X86_REG_R10:
		return X86_REG_R10;
	default:
		return X86_REG_INVALID;
	}
}

static bool is_number(x86_reg reg)
{
	return rs_code_number(reg) != X86_REG_INVALID;
}

x86_reg rs_code_writes(const cs_insn *insn)
{
	const cs_x86_op *to = rs_code_ops(insn);

	if (insn->id == X86_INS_CMP || insn->id == X86_INS_TEST || insn->id == X86_INS_BT ||
	    !insn->detail->x86.op_count || to->type != X86_OP_REG)
		return X86_REG_INVALID;
	return is_number(to->reg) ? rs_code_number(to->reg) : to->reg;
}

static bool is_pointer(x86_reg reg)
{
	return reg == X86_REG_R8 || reg == X86_REG_R9 || reg == X86_REG_R11;
}

static bool is_free(x86_reg reg)
{
	return reg == X86_REG_INVALID || is_number(reg);
}

static bool is_input(int64_t disp, uint8_t size)
{
	switch (disp) {
	case RS_NATIVE_IN_DYN:
	case RS_NATIVE_IN_COMM:
		return size == 8;
	case RS_NATIVE_IN_PID:
	case RS_NATIVE_IN_TGID:
	case RS_NATIVE_IN_CPU:
		return size == 4;
	default:
		return false;
	}
}

/* A place that may be read. */
static bool good_load(const struct rs_code *c, const cs_x86_op *op)
{
	const x86_op_mem *mem = &op->mem;

	if (mem->segment != X86_REG_INVALID || !is_free(mem->index))
		return false;
	if (mem->base == X86_REG_RDI)
		return mem->index == X86_REG_INVALID && mem->disp >= 0 &&
		       mem->disp + op->size <= c->native->entry_size;
	if (mem->base == X86_REG_RSI)
		return c->native->kind == RS_NATIVE_INPUT && mem->index == X86_REG_INVALID &&
		       is_input(mem->disp, op->size);
	return is_pointer(mem->base);
}

/* What is in the entry: where it begins, and how many bytes there are, which comes next. */
static bool good_string(const struct rs_code *c, const cs_insn *insn, const x86_op_mem *mem)
{
	const cs_insn *next = insn + 1;
	const cs_x86 *x86;

	if (next == c->insns + c->count || next->id != X86_INS_MOV)
		return false;
	x86 = &next->detail->x86;
	return mem->index == X86_REG_INVALID && mem->disp >= 0 &&
	       x86->operands[0].reg == X86_REG_ECX && x86->operands[0].type == X86_OP_REG &&
	       x86->operands[1].type == X86_OP_IMM && x86->operands[1].imm >= 0 &&
	       mem->disp + x86->operands[1].imm <= c->native->entry_size;
}

static bool good_lea(const struct rs_code *c, const cs_insn *insn)
{
	const cs_x86_op *to = &insn->detail->x86.operands[0], *from = to + 1;
	uint64_t table = insn->address + insn->size + (uint64_t)from->mem.disp;

	if (to->reg == X86_REG_R11)
		return from->mem.base == X86_REG_RIP && from->mem.index == X86_REG_INVALID &&
		       table >= c->native->text && table < c->native->size;
	if (to->reg == X86_REG_R8 && from->mem.base == X86_REG_RDI)
		return good_string(c, insn, &from->mem);
	if (to->reg == X86_REG_R8 || to->reg == X86_REG_R9)
		return from->mem.base == X86_REG_R8 && is_free(from->mem.index) &&
		       !from->mem.disp && from->mem.scale == 1;
	/* Only a sum. */
	return is_number(to->reg) && is_free(from->mem.base) && is_free(from->mem.index);
}

/* To a pointer: from the input, or from a dynamic field. */
static bool good_pointer(const cs_x86_op *to, const cs_x86_op *from)
{
	return (to->reg == X86_REG_R8 || to->reg == X86_REG_R9) && from->type == X86_OP_MEM &&
	       from->size == 8 && (from->mem.base == X86_REG_RSI || from->mem.base == X86_REG_R8) &&
	       from->mem.index == X86_REG_INVALID && from->mem.disp >= 0 &&
	       from->mem.disp % RS_NATIVE_DYN_STRIDE % 8 == 0;
}

/* What an instruction writes is its first operand. */
static bool good_target(const cs_insn *insn)
{
	const cs_x86_op *to = &insn->detail->x86.operands[0], *from = to + 1;

	if (to->type != X86_OP_REG)
		return false;
	if (is_number(to->reg))
		return true;
	if (insn->id == X86_INS_MOV)
		return good_pointer(to, from);
	return insn->id == X86_INS_ADD && to->reg == X86_REG_R8 && from->type == X86_OP_IMM &&
	       (from->imm == 1 || from->imm == 4);
}

static bool good_operands(const struct rs_code *c, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;

	for (uint8_t i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_MEM && !good_load(c, &x86->operands[i]))
			return false;
	return true;
}

/* An instruction that is no jump. */
static const char *bad_plain(const struct rs_code *c, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *first = &x86->operands[0];

	if (x86->prefix[0] || x86->prefix[1] || x86->prefix[3])
		return "a prefix";
	switch (insn->id) {
	case X86_INS_LEA:
		return good_lea(c, insn) ? NULL : "the address of something else";
	case X86_INS_CMP:
	case X86_INS_TEST:
		return good_operands(c, insn) ? NULL : "a load of something else";
	case X86_INS_BT: /* in memory it would be at any distance */
		return first->type == X86_OP_REG ? NULL : "a bit in memory";
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVZX:
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD:
	case X86_INS_ADD:
	case X86_INS_AND:
	case X86_INS_OR:
	case X86_INS_SUB:
	case X86_INS_XOR:
	case X86_INS_SHL:
	case X86_INS_SHR:
	case X86_INS_CMOVA:
	case X86_INS_CMOVE:
		if (!good_target(insn))
			return "a write";
		return good_operands(c, insn) ? NULL : "a load of something else";
	default:
		return "an instruction that no filter has";
	}
}

static bool is_jump(const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_JMP:
	case X86_INS_JA:
	case X86_INS_JAE:
	case X86_INS_JB:
	case X86_INS_JBE:
	case X86_INS_JE:
	case X86_INS_JNE:
	case X86_INS_JG:
	case X86_INS_JGE:
	case X86_INS_JL:
	case X86_INS_JLE:
	case X86_INS_JS:
		return insn->detail->x86.operands[0].type == X86_OP_IMM;
	default:
		return false;
	}
}

static const char *bad_insn(const struct rs_code *c, size_t i)
{
	const cs_insn *insn = &c->insns[i];

	if (i == 0)
		return insn->id == X86_INS_ENDBR64 ? NULL : "no begin";
	if (insn->id == X86_INS_RET)
		return insn->size == 1 ? NULL : "a return that takes from the stack";
	if (is_jump(insn))
		return c->to[i] < 0 ? "a jump to somewhere else" : NULL;
	return bad_plain(c, insn);
}

static void find_targets(struct rs_code *c)
{
	c->to = g_new(ssize_t, c->count);
	for (size_t i = 0; i < c->count; i++) {
		c->to[i] = -1;
		for (size_t k = 0; k < c->count && is_jump(&c->insns[i]); k++)
			if (c->insns[k].address == (uint64_t)rs_code_ops(&c->insns[i])->imm)
				c->to[i] = (ssize_t)k;
	}
}

static const char *find_bad(const struct rs_code *c, size_t *at)
{
	const char *why;

	for (*at = 0; *at < c->count; ++*at) {
		why = bad_insn(c, *at);
		if (why)
			return why;
	}
	why = rs_code_bad_pointer(c, at);
	return why ? why : rs_code_bad_loop(c, at);
}

static int check_all(struct rs_code *c, struct rs_error *err)
{
	const cs_insn *last = c->count ? c->insns + c->count - 1 : NULL;
	const char *why;
	size_t at;

	if (!last || last->address + last->size != c->native->text || last->id != X86_INS_RET)
		return rs_error_set(err, EILSEQ, "code of a filter is cut off");
	find_targets(c);
	why = find_bad(c, &at);
	g_free(c->to);
	if (!why)
		return 0;
	return rs_error_set(err, EILSEQ, "code of a filter has at %u: %s (%s %s)",
			    (unsigned int)c->insns[at].address, why, c->insns[at].mnemonic,
			    c->insns[at].op_str);
}

int rs_native_check_x86_64(const struct rs_native *native, struct rs_error *err)
{
	struct rs_code c = {.native = native};
	csh handle;
	int ret;

	if (!native->text || native->text > native->size || native->size > sizeof(native->bytes))
		return rs_error_set(err, EILSEQ, "code of a filter has no valid size");
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK)
		return rs_error_set(err, EIO, "Capstone does not start");
	cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	c.count = cs_disasm(handle, native->bytes, native->text, 0, 0, &c.insns);
	ret = check_all(&c, err);
	if (c.insns)
		cs_free(c.insns, c.count);
	cs_close(&handle);
	return ret;
}
