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

static bool is_jump(const cs_insn *insn, uint64_t target)
{
	return insn->id == X86_INS_JMP && g_ascii_strtoull(insn->op_str, NULL, 16) == target;
}

/* The NOP is always the same bytes, and a guest may have a million of them: one look is enough. */
static int check_nop(struct rs_error *err)
{
	static int known; /* atomic */
	cs_insn insn = {0};
	int ret;

	if (g_atomic_int_get(&known))
		return 0;
	ret = decode((rs_gva_t){0}, nop5, sizeof(nop5), &insn, err);
	if (!ret && (insn.size != sizeof(nop5) || insn.id != X86_INS_NOP))
		ret = rs_error_set(err, EILSEQ, "our NOP decodes as '%s %s'", insn.mnemonic,
				   insn.op_str);
	g_atomic_int_set(&known, !ret);
	return ret;
}

int rs_insn_check_site(rs_gva_t at, rs_gva_t target, const uint8_t text[RS_SITE_BYTES],
		       enum rs_site_text *what, struct rs_error *err)
{
	enum rs_site_text found = rs_insn_compare(at, target, text);
	cs_insn insn = {0};
	int ret;

	if (found == RS_TEXT_FOREIGN)
		return rs_error_set(err, EILSEQ,
				    "holds %02x %02x %02x %02x %02x, neither the NOP nor our JMP",
				    text[0], text[1], text[2], text[3], text[4]);
	if (found == RS_TEXT_NOP) {
		ret = check_nop(err);
	} else {
		ret = decode(at, text, RS_SITE_BYTES, &insn, err);
		if (!ret && (insn.size != RS_SITE_BYTES || !is_jump(&insn, target.v)))
			ret = rs_error_set(err, EILSEQ, "decodes as '%s %s'", insn.mnemonic,
					   insn.op_str);
	}
	if (!ret)
		*what = found;
	return ret;
}

int rs_insn_check_target(rs_gva_t at, const uint8_t *text, size_t size, struct rs_jump_target *seen,
			 struct rs_error *err)
{
	cs_insn insn = {0};
	int ret = decode(at, text, MIN(size, RS_INSN_MAX), &insn, err);

	if (ret)
		return ret;
	memset(seen, 0, sizeof(*seen));
	seen->size = (uint8_t)insn.size;
	memcpy(seen->bytes, text, insn.size);
	return 0;
}

uint8_t rs_insn_return(int64_t value, uint8_t out[RS_INSN_RETURN_MAX])
{
	const int32_t low = (int32_t)value;
	uint8_t size = 0;

	if (low == value) { /* mov $low,%rax: extends the sign */
		out[size++] = 0x48;
		out[size++] = 0xc7;
		out[size++] = 0xc0;
		memcpy(out + size, &low, sizeof(low));
		size += sizeof(low);
	} else { /* movabs $value,%rax */
		out[size++] = 0x48;
		out[size++] = 0xb8;
		memcpy(out + size, &value, sizeof(value));
		size += sizeof(value);
	}
	out[size++] = 0xc3;
	return size;
}

uint8_t rs_insn_entry(const uint8_t *text, size_t size)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t skip = 0;

	if (size >= sizeof(endbr64) && !memcmp(text, endbr64, sizeof(endbr64)))
		skip = sizeof(endbr64);
	if (size >= skip + sizeof(nop5) && !memcmp(text + skip, nop5, sizeof(nop5)))
		skip += sizeof(nop5);
	return skip;
}
