/* SPDX-License-Identifier: MIT */
/*
 * Makes and recognizes the instructions at a tracepoint site. hv's only user of Capstone. The bytes
 * come from the guest and are hostile. Nothing here reads guest memory. Any thread.
 */
#ifndef RS_HV_PATCH_INSN_H
#define RS_HV_PATCH_INSN_H

#include "base/error.h"
#include <ringside/descriptor.h>
#include <ringside/types.h>

#define RS_INSN_MAX 15u /* bytes of the longest instruction */

enum rs_site_text {
	RS_TEXT_FOREIGN, /* neither of the two: not to be touched */
	RS_TEXT_NOP,     /* the 5-byte NOP */
	RS_TEXT_JMP,     /* a JMP rel32 to this site's own target */
};

/* The first bytes at a jump target as they were decoded: a comparison is cheaper than decoding. */
struct rs_jump_target {
	uint8_t bytes[RS_INSN_MAX];
	uint8_t size; /* bytes of its first instruction; 0: not decoded yet */
};

/* The bytes for `at` when off, and when on. -ERANGE: a rel32 does not reach `target`. */
void rs_insn_nop(uint8_t out[RS_SITE_BYTES]);
int rs_insn_jmp(rs_gva_t at, rs_gva_t target, uint8_t out[RS_SITE_BYTES], struct rs_error *err);

/* Compares byte for byte, without decoding. */
enum rs_site_text rs_insn_compare(rs_gva_t at, rs_gva_t target, const uint8_t text[RS_SITE_BYTES]);

/* Whether a patch from `old_bytes` to `new_bytes` switches a site on: a JMP over the NOP. */
bool rs_insn_is_switch_on(const uint8_t *old_bytes, const uint8_t *new_bytes, size_t size);

/* Whether five bytes at `at` lie in one aligned 8-byte word. */
bool rs_insn_in_one_word(rs_gva_t at);

/*
 * Decodes the five bytes at `at`. They must be one NOP, or one JMP to `target`, in the encoding
 * that we write ourselves. -EILSEQ, and why.
 */
int rs_insn_check_site(rs_gva_t at, rs_gva_t target, const uint8_t text[RS_SITE_BYTES],
		       enum rs_site_text *what, struct rs_error *err);

/* Decodes the first instruction of `size` (1..RS_INSN_MAX) bytes at `at`. -EILSEQ: invalid. */
int rs_insn_check_target(rs_gva_t at, const uint8_t *text, size_t size, struct rs_jump_target *seen,
			 struct rs_error *err);

/*
 * Code that does nothing but return `value`: its size, RS_INSN_RETURN_MAX at most.
 */
#define RS_INSN_RETURN_MAX 11u
uint8_t rs_insn_return(int64_t value, uint8_t out[RS_INSN_RETURN_MAX]);

/*
 * Bytes at a function's entry, of `size`, that are best left alone: what an indirect branch must
 * lead to, and a NOP that belongs to a tracer. Whatever comes behind them begins the function.
 */
uint8_t rs_insn_entry(const uint8_t *text, size_t size);

#endif
