/* SPDX-License-Identifier: MIT */
/* What a program costs an agent at most, and what the agent must know to run it. */
#include "filter/ast.h"

#include <string.h>

unsigned int rs_filter_capacity(unsigned int source, unsigned int width)
{
	if (source == RS_SRC_COMM)
		return RS_COMM_LEN;
	return source == RS_SRC_STRING ? MIN(width, RS_FILTER_MAX_STRING) : RS_FILTER_MAX_STRING;
}

/*
 * A byte of a string that a pattern looks at is a step, and so is a test of a number. Of a plain
 * text eight bytes are compared at once. Where a string ends is found a byte at a time, but each is
 * fast. A text in another may need two steps for a byte.
 */
unsigned int rs_filter_insn_steps(const struct rs_filter_insn *insn)
{
	unsigned int capacity = rs_filter_capacity(insn->source, insn->width);

	switch (insn->op) {
	case RS_OP_STR_EQ:
	case RS_OP_STR_PREFIX:
		return 1 + (unsigned int)(insn->imm >> 32) / 8;
	case RS_OP_STR_SUFFIX:
		return 1 + capacity / 4;
	case RS_OP_STR_GLOB:
		return 1 + capacity;
	case RS_OP_STR_SUB:
		return 1 + 2 * capacity;
	default:
		return 1;
	}
}

static struct rs_filter_insn insn_at(const void *program, unsigned int i)
{
	struct rs_filter_insn insn;

	memcpy(&insn, (const guint8 *)program + sizeof(struct rs_filter_program) + i * sizeof(insn),
	       sizeof(insn));
	return insn;
}

static unsigned int insn_count(const void *program)
{
	struct rs_filter_program head;

	memcpy(&head, program, sizeof(head));
	return head.insn_count;
}

unsigned int rs_filter_steps(const void *program)
{
	unsigned int steps[RS_FILTER_MAX_INSNS], count = insn_count(program);

	/* What an instruction leads to comes after it, so that is known before. */
	for (unsigned int i = count; i-- > 0;) {
		const struct rs_filter_insn insn = insn_at(program, i);
		unsigned int yes = insn.on_true < count ? steps[insn.on_true] : 0;
		unsigned int no = insn.on_false < count ? steps[insn.on_false] : 0;

		steps[i] = rs_filter_insn_steps(&insn) + MAX(yes, no);
	}
	return steps[0];
}

unsigned int rs_filter_minor(const void *program)
{
	unsigned int count = insn_count(program);

	for (unsigned int i = 0; i < count; i++) {
		const struct rs_filter_insn insn = insn_at(program, i);

		if (insn.op >= RS_OP_STR_SUB || insn.source == RS_SRC_DYN_INT)
			return 1;
	}
	return 0;
}
