/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sigabbrev_np() */
#include "cli/engine_show.h"

#include <inttypes.h>
#include <rs-trace-escape.h>
#include <signal.h>
#include <string.h>

static void append_register(GString *out, const char *name, uint64_t value, unsigned int *shown)
{
	const char *before = *shown % 3 ? "  " : *shown ? "\n  " : "  ";

	g_string_append_printf(out, "%s%-3s %016" PRIx64, before, name, value);
	++*shown;
}

void rs_cli_engine_show_registers(GString *out, const RsTraceEngineView *view)
{
	const RsTraceRegisterSet *set = view->set;
	unsigned int shown = 0;

	for (guint i = 0; set && i < set->count; i++)
		if (set->registers[i].number < view->count)
			append_register(out, set->registers[i].name,
					view->values[set->registers[i].number], &shown);
	for (guint i = 0; !set && i < view->count; i++) {
		g_autofree char *name = g_strdup_printf("#%u", i);

		append_register(out, name, view->values[i], &shown);
	}
	if (set && view->count >= set->count)
		set->append_flags(out, view->values);
	if (shown)
		g_string_append_c(out, '\n');
}

/* Names of calls may be a user's file's, and are escaped as all that is not ours. */
static void append_call_name(GString *out, const struct rs_call_names *names, uint64_t number)
{
	const char *name = number <= G_MAXINT64 ? rs_call_name(names, (gint64)number) : NULL;

	if (name)
		rs_trace_append_escaped(out, name, strlen(name), NULL);
	else
		g_string_append_printf(out, "call %" PRIu64, number);
}

void rs_cli_engine_show_call(GString *out, const struct rs_call_names *names,
			     const RsTraceEngineView *view)
{
	append_call_name(out, names, view->call);
	g_string_append_c(out, '(');
	for (unsigned int i = 0; i < view->n_arguments; i++)
		g_string_append_printf(out, "%s0x%" PRIx64, i ? ", " : "", view->arguments[i]);
	g_string_append_c(out, ')');
}

static void append_signal(GString *out, gint64 number)
{
	const char *name = number == (int)number ? sigabbrev_np((int)number) : NULL;

	if (name)
		g_string_append_printf(out, ": SIG%s", name);
	else
		g_string_append_printf(out, ": signal %" G_GINT64_FORMAT, number);
}

void rs_cli_engine_show_event(GString *out, const struct rs_call_names *names, guint event,
			      gint64 value)
{
	const char *name = rs_trace_engine_event_name(event);

	if (!name)
		g_string_append_printf(out, "event %u: %" G_GINT64_FORMAT, event, value);
	else if (event == RS_UTRACE_EVENT_QUIESCE)
		g_string_append(out, "quiesce: a safe point");
	else
		g_string_append(out, name);
	if (rs_trace_engine_event_is_signal(event))
		append_signal(out, value);
	switch (event) {
	case RS_UTRACE_EVENT_SYSCALL_ENTRY:
		g_string_append(out, ": ");
		append_call_name(out, names, (uint64_t)value);
		break;
	case RS_UTRACE_EVENT_EXIT:
		g_string_append_printf(out, ": code %" G_GINT64_FORMAT, value);
		break;
	case RS_UTRACE_EVENT_CLONE:
		g_string_append_printf(out, ": thread %" G_GINT64_FORMAT, value);
		break;
	case RS_UTRACE_EVENT_JCTL:
		g_string_append(out, value ? ": continued" : ": stopped");
		break;
	default:
		break;
	}
}

/* What follows could not be read. */
static void append_end(GString *out, const struct rs_cli_engine_bytes *memory)
{
	if (memory->size < memory->wanted)
		g_string_append_printf(out, "   0x%016" PRIx64 "  cannot be read\n",
				       memory->address + memory->size);
}

static void append_row(GString *out, uint64_t address, const uint8_t *bytes, size_t size)
{
	g_string_append_printf(out, "   0x%016" PRIx64 " ", address);
	for (size_t i = 0; i < 16; i++) {
		if (i < size)
			g_string_append_printf(out, "%s%02x", i == 8 ? "  " : " ", bytes[i]);
		else
			g_string_append(out, i == 8 ? "    " : "   ");
	}
	g_string_append(out, "  ");
	for (size_t i = 0; i < size; i++)
		g_string_append_c(out, g_ascii_isprint(bytes[i]) ? (char)bytes[i] : '.');
	g_string_append_c(out, '\n');
}

void rs_cli_engine_show_memory(GString *out, const struct rs_cli_engine_bytes *memory)
{
	for (size_t at = 0; at < memory->size; at += 16)
		append_row(out, memory->address + at, memory->bytes + at,
			   MIN(memory->size - at, 16));
	append_end(out, memory);
}

void rs_cli_engine_show_code(GString *out, guint32 arch, const struct rs_cli_engine_bytes *code,
			     unsigned int count, uint64_t pc)
{
	g_autoptr(GArray) insns =
		rs_trace_disassemble(arch, code->address, code->bytes, code->size, count);

	for (guint i = 0; i < insns->len; i++) {
		const RsTraceInsn *insn = &g_array_index(insns, RsTraceInsn, i);
		g_autoptr(GString) hex = g_string_new(NULL);

		for (unsigned int k = 0; k < insn->size; k++)
			g_string_append_printf(hex, "%02x ", insn->bytes[k]);
		g_string_append_printf(out, "%s 0x%016" PRIx64 "  %-30s %s\n",
				       insn->address == pc ? "=>" : "  ", insn->address, hex->str,
				       insn->text);
	}
	if (insns->len < count)
		append_end(out, code);
}
