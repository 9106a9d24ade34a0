/* SPDX-License-Identifier: MIT */
/*
 * Instructions at a tracepoint site: make them, tell them apart. The only user of Capstone. Bytes
 * come from the guest and are hostile; nothing here reads guest memory. Any thread.
 */
#ifndef RS_HV_PATCH_INSN_H
#define RS_HV_PATCH_INSN_H

#include "base/error.h"
#include <ringside/descriptor.h>
#include <ringside/types.h>

#define RS_INSN_MAX 15u /* bytes of the longest instruction */

enum rs_site_text {
	RS_TEXT_FOREIGN, /* neither of the two: hands off */
	RS_TEXT_NOP,     /* the 5-byte NOP */
	RS_TEXT_JMP,     /* a JMP rel32 to this site's own target */
};

/* The first bytes at a jump target, to see cheaply whether they are still what was decoded. */
struct rs_jump_target {
	uint8_t bytes[RS_INSN_MAX];
	uint8_t size; /* bytes of its first instruction; 0: not decoded yet */
};

/* The bytes for `at` when off, and when on. -ERANGE: `target` is out of a rel32's reach. */
void rs_insn_nop(uint8_t out[RS_SITE_BYTES]);
int rs_insn_jmp(rs_gva_t at, rs_gva_t target, uint8_t out[RS_SITE_BYTES], struct rs_error *err);

/* Byte for byte; no decoding. */
enum rs_site_text rs_insn_compare(rs_gva_t at, rs_gva_t target, const uint8_t text[RS_SITE_BYTES]);

/* Whether `new_bytes` over `old_bytes` is what we do when we switch a site on: JMP over NOP. */
bool rs_insn_is_switch_on(const uint8_t *old_bytes, const uint8_t *new_bytes, size_t size);

/* Whether five bytes at `at` lie in one aligned 8-byte word. */
bool rs_insn_in_one_word(rs_gva_t at);

/*
 * Decodes the five bytes at `at` and says whether they are one NOP or one JMP to `target` and the bytes
 * that we would write ourselves. -EILSEQ, and why.
 */
int rs_insn_check_site(rs_gva_t at, rs_gva_t target, const uint8_t text[RS_SITE_BYTES],
		       enum rs_site_text *what, struct rs_error *err);

/* Decodes the first instruction of `size` (1..RS_INSN_MAX) bytes at `at`. -EILSEQ: it is none. */
int rs_insn_check_target(rs_gva_t at, const uint8_t *text, size_t size, struct rs_jump_target *seen,
			 struct rs_error *err);

#endif
