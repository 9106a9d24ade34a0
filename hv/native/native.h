/* SPDX-License-Identifier: MIT */
/*
 * Filters as machine code (docs/adr/0036-native-filters.md). compile: from a program that the
 * verifier has accepted to code that decides the same about each event. check: whether bytes are
 * harmless code of that kind, whoever wrote them. Each architecture has files of its own for both.
 *
 * The code is a function as shared/include/ringside/native.h describes it. It needs no other place
 * than the one where it lies, which is a multiple of RS_NATIVE_ALIGN. Behind the instructions lie
 * the tables that it reads.
 *
 * Any thread; no state but a disassembler of each thread.
 */
#ifndef RS_HV_NATIVE_NATIVE_H
#define RS_HV_NATIVE_NATIVE_H

#include "base/error.h"
#include <ringside/filter.h>
#include <ringside/native.h>
#include <stdbool.h>
#include <stddef.h>

#define RS_NATIVE_MAX 8192u /* bytes of one filter, tables included */

struct rs_native {
	uint32_t kind; /* RS_NATIVE_* */
	uint16_t entry_size;
	uint8_t dyn_count; /* dynamic fields that the input must have */
	uint32_t text;     /* bytes of instructions */
	uint32_t size;     /* bytes in all */
	uint8_t bytes[RS_NATIVE_MAX];
};

/*
 * `program`: verified for an event of this entry size and number of dynamic fields; 8-byte aligned.
 * -ENOTSUP: not for this RS_ARCH_*; -E2BIG: the code is too long.
 */
int rs_native_compile(uint32_t arch, const void *program, unsigned int entry_size,
		      unsigned int dyn_count, struct rs_native *out, struct rs_error *err);

/*
 * Whether the bytes are harmless: they end and return, write nothing but registers that a callee
 * may change, and read nothing but the entry, the input, the strings and dynamic fields that this
 * names, and their own tables. How far a number leads into strings and tables is not proved.
 * -EILSEQ: what is wrong. -ENOTSUP: no such architecture.
 */
int rs_native_check(uint32_t arch, const struct rs_native *native, struct rs_error *err);

/* native_x86_64.c, which leaves entry_size and dyn_count to its caller; insn_native_x86_64.c. */
int rs_native_compile_x86_64(const void *program, struct rs_native *out, struct rs_error *err);
int rs_native_check_x86_64(const struct rs_native *native, struct rs_error *err);

#endif
