/* SPDX-License-Identifier: MIT */
/*
 * Filter programs. The host compiles and verifies a program and publishes it in RS_SEC_FILTERS. The
 * agent runs it before it reserves space for a record.
 *
 * A program is a decision graph: each instruction tests one thing and names the next instruction
 * for true and for false. Both lie after it (or are ACCEPT / REJECT), so a program of n
 * instructions takes at most n steps. There is no arithmetic, no store and no call.
 *
 * To publish a program, the host writes it into space that no control word names, raises `sequence`
 * from odd to even (release), then stores the control word. Before it reuses the space it makes
 * `sequence` odd. The agent loads `sequence` before and after a run. If it was odd or has changed,
 * the agent reads the control word again and runs that program. After a few tries it accepts the
 * event: one record too many is better than a lost one.
 */
#ifndef RINGSIDE_FILTER_H
#define RINGSIDE_FILTER_H

#include <ringside/types.h>

#define RS_FILTER_MAX_INSNS 128u
#define RS_FILTER_MAX_SIZE 16384u  /* bytes of one program, pool included */
#define RS_FILTER_MAX_GLOB 63u     /* pattern elements: a character, class, ? or * */
#define RS_FILTER_MAX_STRING 4096u /* a filter ignores the bytes of a string after these */

#define RS_FILTER_ACCEPT 0xffffu
#define RS_FILTER_REJECT 0xfffeu

/* What an instruction looks at (rs_filter_insn.source). */
#define RS_SRC_FIELD 0u  /* integer of `width` bytes at `offset` in the fixed part */
#define RS_SRC_STRING 1u /* char[width] at `offset` in the fixed part, up to its NUL */
#define RS_SRC_DYN 2u  /* the event's dynamic field number `width`, a string; locator at `offset` */
#define RS_SRC_COMM 3u /* name of the running task */
#define RS_SRC_PID 4u
#define RS_SRC_CPU 5u
#define RS_SRC_TGID 6u /* thread group of the running task; 0: not known */
/*
 * Integer in the bytes of a dynamic field. `width`: bytes of the integer, number of the field << 8.
 * `offset`: in the field. If the first byte is not there, the test is false. Others that are not
 * there are 0. Since ABI 1.1.
 */
#define RS_SRC_DYN_INT 7u

/*
 * The test (rs_filter_insn.op). Integers: (value & mask) is compared with imm, 64-bit. The mask of
 * an unsigned operation has no bit beyond the value's width (CPU, PID and TGID: 32 bits).
 */
#define RS_OP_EQ 0u
#define RS_OP_NE 1u
#define RS_OP_LT 2u /* unsigned */
#define RS_OP_LE 3u
#define RS_OP_GT 4u
#define RS_OP_GE 5u
#define RS_OP_SLT 6u /* signed: the value is sign-extended from `width` first, then masked */
#define RS_OP_SLE 7u
#define RS_OP_SGT 8u
#define RS_OP_SGE 9u
#define RS_OP_ANY 10u /* (value & mask) != 0; imm is 0 */
#define RS_OP_SEQ 11u /* EQ of a sign-extended value */
#define RS_OP_SNE 12u
#define RS_OP_CPUSET 13u /* the bit of the CPU is set in a bit map in the pool: imm as of strings */
/* Strings: imm = offset in the pool | length << 32. */
#define RS_OP_STR_EQ 16u
#define RS_OP_STR_PREFIX 17u
#define RS_OP_STR_SUFFIX 18u
#define RS_OP_STR_GLOB 19u /* struct rs_filter_glob in the pool, 8-byte aligned */
/*
 * Somewhere in the string is a text of n bytes. In the pool: uint16_t[n], then the text. Number i
 * is how many bytes have matched, if i had and the next one does not: less than i, or 0. Since ABI
 * 1.1.
 */
#define RS_OP_STR_SUB 20u
/*
 * Two integers, compared as in mathematics. imm has the bytes of an instruction up to `offset`:
 * source, width and offset of the second one, with `op` 0. mask: bit 0 if the first one is signed,
 * bit 1 if the second is. Since ABI 1.1.
 */
#define RS_OP_PAIR_EQ 24u
#define RS_OP_PAIR_NE 25u
#define RS_OP_PAIR_LT 26u
#define RS_OP_PAIR_LE 27u
#define RS_OP_PAIR_GT 28u
#define RS_OP_PAIR_GE 29u

struct rs_filter_insn {
	uint8_t op;
	uint8_t source;
	uint16_t width;
	uint16_t offset;
	uint16_t on_true; /* instruction index, greater than its own, or ACCEPT / REJECT */
	uint16_t on_false;
	uint16_t reserved0;
	uint32_t reserved1;
	uint64_t imm;
	uint64_t mask;
};
RS_ASSERT_SIZE(struct rs_filter_insn, 32);

/*
 * A glob as a bit-parallel automaton: state bit i means "the first i elements have matched". For
 * byte c the new state is ((state & advance[class_of[c]]) << 1) | (state & stay). Then
 * state |= (state & empty) << 1, because a star may match nothing. Once is enough, since the
 * compiler merges neighbouring stars. The string matches if bit `length` is set at its end. Time is
 * linear in the string's length.
 */
struct rs_filter_glob {
	uint64_t empty;   /* bit i: element i is a star */
	uint64_t stay;    /* bit i: element i is a star: it also consumes any byte and stays */
	uint16_t length;  /* elements */
	uint16_t classes; /* rows of advance[], 1..256 */
	uint32_t reserved;
	uint8_t class_of[256];
	/* uint64_t advance[classes]: bit i set when element i matches a byte of the class */
};
RS_ASSERT_SIZE(struct rs_filter_glob, 280);

struct rs_filter_program {   /* H */
	uint32_t sequence;   /* odd: being written */
	uint16_t insn_count; /* 1..RS_FILTER_MAX_INSNS */
	uint16_t reserved0;
	uint32_t size;  /* bytes in all, multiple of RS_FILTER_GRAIN */
	uint32_t pool;  /* offset of the pool from the program's start, multiple of 8 */
	uint64_t event; /* id that it was compiled for; its offsets are wrong for any other */
	uint64_t reserved1;
	/* struct rs_filter_insn[insn_count], then the pool */
};
RS_ASSERT_SIZE(struct rs_filter_program, 32);

#endif
