/* SPDX-License-Identifier: MIT */
/* Instructions as text, of whatever bytes there are. */
#include "rs-trace-disasm.h"

#include <ringside/types.h>

static void check(const GArray *insns, guint at, guint64 address, guint size, const char *text)
{
	const RsTraceInsn *insn = &g_array_index(insns, RsTraceInsn, at);

	g_assert_cmphex(insn->address, ==, address);
	g_assert_cmpuint(insn->size, ==, size);
	g_assert_cmpstr(insn->text, ==, text);
}

/* What is no instruction is a byte, and so is what the end of memory cuts. */
static void test_instructions(void)
{
	static const guint8 bytes[] = {0xb8, 1, 0, 0, 0, 0x0f, 0x05, 0x06, 0xeb, 0xf6, 0x48};
	g_autoptr(GArray) insns =
		rs_trace_disassemble(RS_ARCH_X86_64, 0x401000, bytes, sizeof(bytes), 10);

	g_assert_cmpuint(insns->len, ==, 5);
	check(insns, 0, 0x401000, 5, "mov eax, 1");
	check(insns, 1, 0x401005, 2, "syscall");
	check(insns, 2, 0x401007, 1, ".byte 0x06");
	check(insns, 3, 0x401008, 2, "jmp 0x401000");
	check(insns, 4, 0x40100a, 1, ".byte 0x48");
	g_assert_cmpmem(g_array_index(insns, RsTraceInsn, 1).bytes, 2, bytes + 5, 2);
}

static void test_count(void)
{
	static const guint8 bytes[] = {0x90, 0x90, 0x90};
	g_autoptr(GArray) two = rs_trace_disassemble(RS_ARCH_X86_64, 0, bytes, 3, 2);
	g_autoptr(GArray) none = rs_trace_disassemble(RS_ARCH_X86_64, 0, bytes, 0, 2);

	g_assert_cmpuint(two->len, ==, 2);
	g_assert_cmpuint(none->len, ==, 0);
}

/* Addresses wrap as the CPU's do. */
static void test_ends_of_memory(void)
{
	static const guint8 bytes[] = {0x90, 0x90};
	g_autoptr(GArray) insns = rs_trace_disassemble(RS_ARCH_X86_64, G_MAXUINT64, bytes, 2, 5);

	g_assert_cmpuint(insns->len, ==, 2);
	check(insns, 0, G_MAXUINT64, 1, "nop");
	check(insns, 1, 0, 1, "nop");
}

static void test_another_architecture_is_bytes(void)
{
	static const guint8 bytes[] = {0x90, 0x90};
	g_autoptr(GArray) insns = rs_trace_disassemble(RS_ARCH_AARCH64, 0x10, bytes, 2, 5);

	g_assert_cmpuint(insns->len, ==, 2);
	check(insns, 0, 0x10, 1, ".byte 0x90");
	check(insns, 1, 0x11, 1, ".byte 0x90");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/disasm/instructions", test_instructions);
	g_test_add_func("/disasm/count", test_count);
	g_test_add_func("/disasm/ends-of-memory", test_ends_of_memory);
	g_test_add_func("/disasm/another-architecture", test_another_architecture_is_bytes);
	return g_test_run();
}
