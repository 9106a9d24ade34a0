/* SPDX-License-Identifier: MIT */
/*
 * The parts of the check of x86-64 code: each instruction for itself (insn_native_x86_64.c), what
 * its pointers are (insn_pointers_x86_64.c), and that its loops end (insn_loops_x86_64.c).
 */
#ifndef RS_HV_NATIVE_INSN_NATIVE_X86_64_PRIVATE_H
#define RS_HV_NATIVE_INSN_NATIVE_X86_64_PRIVATE_H

#include "native/native.h"

#include <capstone/capstone.h>
#include <sys/types.h>

struct rs_code {
	const struct rs_native *native;
	cs_insn *insns;
	size_t count;
	ssize_t *to; /* where each jumps: an index; -1: no jump, or to no instruction */
};

static inline const cs_x86_op *rs_code_ops(const cs_insn *insn)
{
	return insn->detail->x86.operands;
}

/* Whether what comes next in memory may be run next. */
static inline bool rs_code_goes_on(const cs_insn *insn)
{
	return insn->id != X86_INS_JMP && insn->id != X86_INS_RET;
}

/* The whole of a register that is a number; X86_REG_INVALID: it is none. */
x86_reg rs_code_number(x86_reg reg);

/* The whole of the register that an instruction writes; X86_REG_INVALID: none. */
x86_reg rs_code_writes(const cs_insn *insn);

/* What is wrong, and with which instruction; NULL: nothing. All passed the check for themselves. */
const char *rs_code_bad_pointer(const struct rs_code *code, size_t *at);
const char *rs_code_bad_loop(const struct rs_code *code, size_t *at);

#endif
