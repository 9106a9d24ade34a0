/* SPDX-License-Identifier: MIT */
#include "rs-trace-registers-private.h"

#include <string.h>

/* In gdb's order. */
static const RsTraceRegister registers[] = {
	{"rax", NULL, RS_X86_64_RAX}, {"rbx", NULL, RS_X86_64_RBX},
	{"rcx", NULL, RS_X86_64_RCX}, {"rdx", NULL, RS_X86_64_RDX},
	{"rsi", NULL, RS_X86_64_RSI}, {"rdi", NULL, RS_X86_64_RDI},
	{"rbp", NULL, RS_X86_64_RBP}, {"rsp", "sp", RS_X86_64_RSP},
	{"r8", NULL, RS_X86_64_R8},   {"r9", NULL, RS_X86_64_R9},
	{"r10", NULL, RS_X86_64_R10}, {"r11", NULL, RS_X86_64_R11},
	{"r12", NULL, RS_X86_64_R12}, {"r13", NULL, RS_X86_64_R13},
	{"r14", NULL, RS_X86_64_R14}, {"r15", NULL, RS_X86_64_R15},
	{"rip", "pc", RS_X86_64_RIP}, {"rflags", "eflags", RS_X86_64_RFLAGS},
};

static void append_flags(GString *out, const guint64 *values)
{
	static const struct {
		guint8 bit;
		const char *name;
	} bits[] = {{0, "CF"}, {2, "PF"}, {4, "AF"},  {6, "ZF"},  {7, "SF"},
		    {8, "TF"}, {9, "IF"}, {10, "DF"}, {11, "OF"}, {14, "NT"}};
	const char *blank = " [";

	for (gsize i = 0; i < G_N_ELEMENTS(bits); i++) {
		if (!(values[RS_X86_64_RFLAGS] >> bits[i].bit & 1))
			continue;
		g_string_append_printf(out, "%s%s", blank, bits[i].name);
		blank = " ";
	}
	if (!strcmp(blank, " "))
		g_string_append_c(out, ']');
}

const RsTraceRegisterSet rs_trace_registers_x86_64 = {
	.arch = RS_ARCH_X86_64,
	.registers = registers,
	.count = G_N_ELEMENTS(registers),
	.pc = RS_X86_64_RIP,
	.append_flags = append_flags,
};
