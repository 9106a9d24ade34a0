/* SPDX-License-Identifier: MIT */
/*
 * A stopped thread of a guest, as `ringside engine` shows it: any event, registers, system call,
 * and memory that is shown as bytes and as instructions. Input: a header, then the memory.
 */
#include "cli/engine_show.h"
#include "input.h"
#include "seed.h"

#include <stdlib.h>

#define COUNT_MAX 64u

struct head {
	uint64_t address, pc;
	uint64_t call;
	int64_t value;
	uint32_t event;
	uint8_t registers, args, count, missing;
	uint64_t words[8];
};

/* Whole lines of characters that print. */
RS_FUZZ_NOT_SEEN static void check_lines(const GString *out)
{
	if (out->len && out->str[out->len - 1] != '\n')
		abort();
	for (gsize i = 0; i < out->len; i++)
		if (out->str[i] != '\n' && !g_ascii_isprint(out->str[i]))
			abort();
}

/* Instructions follow each other, and none goes past what was read. */
static void check_code(const struct rs_cli_engine_bytes *code, unsigned int count)
{
	g_autoptr(GArray) insns =
		rs_trace_disassemble(RS_ARCH_X86_64, code->address, code->bytes, code->size, count);
	uint64_t next = code->address;

	for (guint i = 0; i < insns->len; i++) {
		const RsTraceInsn *insn = &g_array_index(insns, RsTraceInsn, i);

		if (insn->address != next || !insn->size || insn->size > RS_TRACE_INSN_MAX ||
		    !*insn->text)
			abort();
		next += insn->size;
	}
	if (next - code->address > code->size || insns->len > count)
		abort();
	if (insns->len < count && next - code->address != code->size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rs_call_names names = {.name = rs_trace_kdump_linux_call};
	struct rs_fuzz_input in = {data, size};
	g_autoptr(GString) out = g_string_new(NULL);
	struct rs_cli_engine_bytes memory;
	RsTraceEngineView view = {.set = rs_trace_register_set(RS_ARCH_X86_64)};
	struct head head;
	unsigned int count;

	rs_fuzz_take(&in, &head, sizeof(head));
	count = head.count % COUNT_MAX;
	view.count = head.registers % (RS_REGISTERS_MAX + 1);
	for (unsigned int i = 0; i < view.count; i++)
		view.values[i] = head.words[i % 8];
	view.has_call = true;
	view.call = head.call;
	view.n_arguments = head.args % (RS_TRACE_ENGINE_ARGUMENTS_MAX + 1);
	memcpy(view.arguments, head.words, view.n_arguments * sizeof(*view.arguments));
	memory = (struct rs_cli_engine_bytes){.address = head.address,
					      .bytes = in.data,
					      .size = in.left,
					      .wanted = in.left + head.missing};
	rs_cli_engine_show_registers(out, &view);
	rs_cli_engine_show_event(out, &names, head.event, head.value);
	rs_cli_engine_show_call(out, &names, &view);
	g_string_append_c(out, '\n');
	rs_cli_engine_show_memory(out, &memory);
	rs_cli_engine_show_code(out, RS_ARCH_X86_64, &memory, count, head.pc);
	check_lines(out);
	check_code(&memory, count);
	return 0;
}

/* Each event, with code that is right, cut and none. */
static void rs_fuzz_seeds(void)
{
	static const uint8_t code[] = {0xb8, 1, 0, 0, 0, 0x0f, 0x05, 0x06, 0x48, 0xff, 0xc3, 0x48};

	for (uint32_t event = 0; event <= RS_UTRACE_EVENTS; event++) {
		struct head head = {.address = 0x401000,
				    .pc = 0x401005,
				    .event = event,
				    .value = 5,
				    .registers = 18,
				    .args = 3,
				    .count = 8,
				    .missing = (uint8_t)(event % 2)};
		g_autofree char *name = g_strdup_printf("event-%u", event);
		uint8_t bytes[sizeof(head) + sizeof(code)];

		memcpy(bytes, &head, sizeof(head));
		memcpy(bytes + sizeof(head), code, sizeof(code));
		rs_fuzz_seed(name, bytes, sizeof(bytes));
	}
}
