/* SPDX-License-Identifier: MIT */
/*
 * What r8, r9 and r11 point to, in one pass from the first instruction to the last. All ways to an
 * instruction must agree on a register, else it is nothing there. A jump back must find what its
 * target has relied on.
 */
#include "native/insn_native_x86_64-private.h"

#include <glib.h>

enum kind {
	NOTHING, /* not set, or unclear: never read through */
	DYN,     /* the array of dynamic fields */
	BYTES,   /* of a string or of a dynamic field; from the entry or from others */
	END,     /* of bytes: only compared */
	TABLE,   /* of this code */
};

struct pointer {
	enum kind kind;
	uint32_t at; /* of a table */
};

enum { R8, R9, R11, POINTERS };

struct state {
	bool reached;
	struct pointer pointers[POINTERS];
};

static struct pointer *find(struct state *state, x86_reg reg)
{
	return reg == X86_REG_R8    ? &state->pointers[R8]
	       : reg == X86_REG_R9  ? &state->pointers[R9]
	       : reg == X86_REG_R11 ? &state->pointers[R11]
				    : NULL;
}

static bool same(struct pointer a, struct pointer b)
{
	return a.kind == b.kind && a.at == b.at;
}

static void join(struct state *to, const struct state *from)
{
	for (unsigned int i = 0; i < POINTERS; i++)
		if (!to->reached)
			to->pointers[i] = from->pointers[i];
		else if (!same(to->pointers[i], from->pointers[i]))
			to->pointers[i] = (struct pointer){0};
	to->reached = true;
}

/* `to_pointer`: it is loaded to a register of pointers. */
static bool good_load(const struct rs_code *code, const struct pointer *base, const cs_x86_op *op,
		      bool to_pointer)
{
	const struct rs_native *native = code->native;
	int64_t disp = op->mem.disp;

	switch (base->kind) {
	case DYN:
		if (op->mem.index != X86_REG_INVALID || disp < 0 ||
		    disp >= native->dyn_count * (int64_t)RS_NATIVE_DYN_STRIDE)
			return false;
		disp %= RS_NATIVE_DYN_STRIDE;
		return to_pointer ? disp == RS_NATIVE_DYN_DATA && op->size == 8
				  : disp == RS_NATIVE_DYN_SIZE && op->size == 4;
	case BYTES:
		return !to_pointer;
	case TABLE:
		return !to_pointer && disp >= 0 && base->at + disp + op->size <= native->size;
	default:
		return false;
	}
}

/* A pointer moves on, or becomes another one. */
static bool good_sum(struct state *state, const cs_insn *insn, struct pointer *to)
{
	const cs_x86_op *ops = rs_code_ops(insn);
	const struct pointer *from = insn->id == X86_INS_LEA ? find(state, ops[1].mem.base) : to;

	if (insn->id == X86_INS_LEA && ops[1].mem.base == X86_REG_RIP) {
		uint64_t at = insn->address + insn->size + (uint64_t)ops[1].mem.disp;

		*to = (struct pointer){TABLE, (uint32_t)at};
		return true;
	}
	if (!from) { /* in the entry */
		to->kind = BYTES;
		return true;
	}
	if (from->kind != BYTES)
		return false;
	to->kind = ops[0].reg == X86_REG_R9 ? END : BYTES;
	return true;
}

static struct pointer loaded(const struct pointer *base, const x86_op_mem *mem)
{
	bool dyn = !base && mem->disp == RS_NATIVE_IN_DYN; /* else from rsi: the name */

	return (struct pointer){.kind = dyn ? DYN : BYTES};
}

static const char *step(const struct rs_code *code, const cs_insn *insn, struct state *state)
{
	const cs_x86 *x86 = &insn->detail->x86;
	struct pointer *to = x86->op_count ? find(state, rs_code_writes(insn)) : NULL;

	if (insn->id == X86_INS_LEA || insn->id == X86_INS_ADD) {
		if (to)
			return good_sum(state, insn, to) ? NULL : "the address of something else";
		if (insn->id == X86_INS_LEA)
			return NULL;
	}
	for (uint8_t i = 0; i < x86->op_count; i++) {
		const cs_x86_op *op = &x86->operands[i];
		const struct pointer *base;

		if (op->type != X86_OP_MEM)
			continue;
		base = find(state, op->mem.base);
		if (base && !good_load(code, base, op, to))
			return "a load of something else";
		if (to)
			*to = loaded(base, &op->mem);
	}
	return NULL;
}

/* Where a jump leads back to, less is known, or the same. */
static bool keeps(const struct state *there, const struct state *here)
{
	for (unsigned int i = 0; i < POINTERS; i++)
		if (there->pointers[i].kind != NOTHING &&
		    !same(there->pointers[i], here->pointers[i]))
			return false;
	return there->reached;
}

const char *rs_code_bad_pointer(const struct rs_code *code, size_t *at)
{
	g_autofree struct state *states = g_new0(struct state, code->count + 1);

	states[0].reached = true;
	for (size_t i = 0; i < code->count; i++) {
		const cs_insn *insn = &code->insns[i];
		struct state state = states[i];
		const char *why;

		if (!state.reached) /* never run: nothing before it leads there, nor behind it */
			continue;
		*at = i;
		why = step(code, insn, &state);
		if (why)
			return why;
		if (rs_code_goes_on(insn))
			join(&states[i + 1], &state);
		if (code->to[i] < 0)
			continue;
		if ((size_t)code->to[i] > i)
			join(&states[code->to[i]], &state);
		else if (!keeps(&states[code->to[i]], &state))
			return "a jump back with another pointer";
	}
	return NULL;
}
