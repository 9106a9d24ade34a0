/* SPDX-License-Identifier: MIT */
#include "rs-trace-disasm.h"

#include "rs-trace-escape.h"

#include <capstone/capstone.h>
#include <ringside/types.h>
#include <string.h>

/* Each thread keeps one disassembler: opening one costs more than a thousand uses. */
static void close_handle(gpointer handle)
{
	csh value = (csh)(guintptr)handle;

	cs_close(&value);
}

static GPrivate x86_64_key = G_PRIVATE_INIT(close_handle);

/* 0: there is none for this architecture. */
static csh get_handle(guint32 arch)
{
	csh handle;

	if (arch != RS_ARCH_X86_64)
		return 0;
	handle = (csh)(guintptr)g_private_get(&x86_64_key);
	if (!handle && cs_open(CS_ARCH_X86, CS_MODE_64, &handle) == CS_ERR_OK)
		g_private_set(&x86_64_key, (gpointer)(guintptr)handle);
	return handle;
}

static RsTraceInsn read_one(csh handle, guint64 address, const guint8 *bytes, gsize size)
{
	RsTraceInsn out = {.address = address, .size = 1};
	const guint8 *at = bytes;
	guint64 next = address;
	cs_insn insn = {0};

	size = MIN(size, RS_TRACE_INSN_MAX);
	if (handle && cs_disasm_iter(handle, &at, &size, &next, &insn)) {
		g_autofree char *text =
			g_strconcat(insn.mnemonic, *insn.op_str ? " " : "", insn.op_str, NULL);

		out.size = (guint8)insn.size;
		out.text = rs_trace_escape(text, -1, NULL);
	} else {
		out.text = g_strdup_printf(".byte 0x%02x", *bytes);
	}
	memcpy(out.bytes, bytes, out.size);
	return out;
}

static void clear_insn(gpointer insn)
{
	g_free(((RsTraceInsn *)insn)->text);
}

GArray *rs_trace_disassemble(guint32 arch, guint64 address, const guint8 *bytes, gsize size,
			     guint count)
{
	GArray *out = g_array_new(FALSE, FALSE, sizeof(RsTraceInsn));
	const csh handle = get_handle(arch);
	gsize at = 0;

	g_array_set_clear_func(out, clear_insn);
	while (at < size && out->len < count) {
		RsTraceInsn insn = read_one(handle, address + at, bytes + at, size - at);

		at += insn.size;
		g_array_append_val(out, insn);
	}
	return out;
}
