/* SPDX-License-Identifier: MIT */
/* x86-64 instructions at a site, see insn.h. */
#include "patch/insn.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>

static const uint8_t nop5[RS_SITE_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

void rs_insn_nop(uint8_t out[RS_SITE_BYTES])
{
	memcpy(out, nop5, sizeof(nop5));
}

int rs_insn_jmp(rs_gva_t at, rs_gva_t target, uint8_t out[RS_SITE_BYTES], struct rs_error *err)
{
	/* Modulo 2^64, as the CPU adds, so that a jump may wrap around the ends of the space. */
	int64_t distance = (int64_t)(target.v - (at.v + RS_SITE_BYTES));
	int32_t rel = (int32_t)distance;

	if (rel != distance)
		return rs_error_set(err, ERANGE, "target 0x%" PRIx64 " is out of a jump's reach",
				    target.v);
	out[0] = 0xe9;
	memcpy(out + 1, &rel, sizeof(rel));
	return 0;
}

enum rs_site_text rs_insn_compare(rs_gva_t at, rs_gva_t target, const uint8_t text[RS_SITE_BYTES])
{
	uint8_t jmp[RS_SITE_BYTES];

	if (!memcmp(text, nop5, sizeof(nop5)))
		return RS_TEXT_NOP;
	if (!rs_insn_jmp(at, target, jmp, NULL) && !memcmp(text, jmp, sizeof(jmp)))
		return RS_TEXT_JMP;
	return RS_TEXT_FOREIGN;
}

bool rs_insn_is_switch_on(const uint8_t *old_bytes, const uint8_t *new_bytes, size_t size)
{
	return size == RS_SITE_BYTES && !memcmp(old_bytes, nop5, sizeof(nop5)) &&
	       new_bytes[0] == 0xe9;
}

bool rs_insn_in_one_word(rs_gva_t at)
{
	return at.v % 8 + RS_SITE_BYTES <= 8;
}

/* Each thread keeps one disassembler: opening one costs more than a thousand uses. */
static void close_handle(gpointer handle)
{
	csh value = (csh)(uintptr_t)handle;

	cs_close(&value);
}

static GPrivate handle_key = G_PRIVATE_INIT(close_handle);

static int get_handle(csh *out, struct rs_error *err)
{
	csh handle = (csh)(uintptr_t)g_private_get(&handle_key);

	if (!handle) {
		cs_err status = cs_open(CS_ARCH_X86, CS_MODE_64, &handle);

		if (status != CS_ERR_OK)
			return rs_error_set(err, EIO, "Capstone: %s", cs_strerror(status));
		cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
		g_private_set(&handle_key, (gpointer)(uintptr_t)handle);
	}
	*out = handle;
	return 0;
}

static int decode(rs_gva_t at, const uint8_t *text, size_t size, cs_insn *insn,
		  struct rs_error *err)
{
	uint64_t address = at.v;
	csh handle = 0;
	int ret = get_handle(&handle, err);

	if (ret)
		return ret;
	if (!cs_disasm_iter(handle, &text, &size, &address, insn))
		return rs_error_set(err, EILSEQ, "no instruction at 0x%" PRIx64, at.v);
	return 0;
}

static bool jumps_to(const cs_insn *insn, uint64_t target)
{
	const cs_x86 *x86 = &insn->detail->x86;

	return insn->id == X86_INS_JMP && x86->op_count == 1 &&
	       x86->operands[0].type == X86_OP_IMM && (uint64_t)x86->operands[0].imm == target;
}

int rs_insn_check_site(rs_gva_t at, rs_gva_t target, const uint8_t text[RS_SITE_BYTES],
		       enum rs_site_text *what, struct rs_error *err)
{
	enum rs_site_text found = rs_insn_compare(at, target, text);
	cs_detail detail;
	cs_insn insn = {.detail = &detail};
	int ret;

	if (found == RS_TEXT_FOREIGN)
		return rs_error_set(err, EILSEQ,
				    "holds %02x %02x %02x %02x %02x, neither the NOP nor our JMP",
				    text[0], text[1], text[2], text[3], text[4]);
	ret = decode(at, text, RS_SITE_BYTES, &insn, err);
	if (ret)
		return ret;
	if (insn.size != RS_SITE_BYTES ||
	    (found == RS_TEXT_NOP ? insn.id != X86_INS_NOP : !jumps_to(&insn, target.v)))
		return rs_error_set(err, EILSEQ, "decodes as '%s %s'", insn.mnemonic, insn.op_str);
	*what = found;
	return 0;
}

int rs_insn_check_target(rs_gva_t at, const uint8_t *text, size_t size, struct rs_jump_target *seen,
			 struct rs_error *err)
{
	cs_detail detail;
	cs_insn insn = {.detail = &detail};
	int ret = decode(at, text, MIN(size, RS_INSN_MAX), &insn, err);

	if (ret)
		return ret;
	memset(seen, 0, sizeof(*seen));
	seen->size = (uint8_t)insn.size;
	memcpy(seen->bytes, text, insn.size);
	return 0;
}
