/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sigabbrev_np() */
#include "cli/engine_show.h"

#include "patch/insn.h"

#include <inttypes.h>
#include <rs-trace-escape.h>
#include <signal.h>
#include <string.h>

void rs_cli_engine_show_registers(GString *out, const struct rs_cli_engine_arch *arch,
				  const struct rs_cli_engine_view *view)
{
	unsigned int shown = 0;

	for (unsigned int i = 0; i < arch->count; i++) {
		const struct rs_cli_engine_register *reg = &arch->registers[i];

		if (reg->number >= view->count)
			continue;
		g_string_append_printf(out, "%s%-3s %016" PRIx64,
				       shown % 3   ? "  "
				       : shown > 0 ? "\n  "
						   : "  ",
				       reg->name, view->values[reg->number]);
		shown++;
	}
	if (view->count >= arch->count)
		arch->flags(out, view->values);
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
			     const struct rs_cli_engine_view *view)
{
	append_call_name(out, names, view->call);
	g_string_append_c(out, '(');
	for (unsigned int i = 0; i < view->args_count; i++)
		g_string_append_printf(out, "%s0x%" PRIx64, i ? ", " : "", view->args[i]);
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
	const char *name = rs_cli_engine_event_name(event);

	if (!name)
		g_string_append_printf(out, "event %u: %" G_GINT64_FORMAT, event, value);
	else if (event == RS_UTRACE_EVENT_QUIESCE)
		g_string_append(out, "a safe point");
	else
		g_string_append(out, name);
	if (rs_cli_engine_event_is_signal(event))
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

static void clear_insn(gpointer insn)
{
	g_free(((struct rs_cli_engine_insn *)insn)->text);
}

/* What begins no instruction is one byte. `at`: where in the code. */
static struct rs_cli_engine_insn decode_one(const struct rs_cli_engine_bytes *code, size_t at)
{
	struct rs_cli_engine_insn insn = {.address = code->address + at, .size = 1};
	struct rs_insn_text text;

	if (rs_insn_show((rs_gva_t){insn.address}, code->bytes + at, code->size - at, &text,
			 NULL)) {
		insn.text = g_strdup_printf(".byte 0x%02x", code->bytes[at]);
	} else {
		insn.size = text.size;
		insn.text = rs_trace_escape(text.text, -1, NULL);
	}
	memcpy(insn.bytes, code->bytes + at, insn.size);
	return insn;
}

GArray *rs_cli_engine_decode(const struct rs_cli_engine_bytes *code, unsigned int count)
{
	GArray *out = g_array_new(FALSE, FALSE, sizeof(struct rs_cli_engine_insn));
	size_t at = 0;

	g_array_set_clear_func(out, clear_insn);
	while (at < code->size && out->len < count) {
		struct rs_cli_engine_insn insn = decode_one(code, at);

		at += insn.size;
		g_array_append_val(out, insn);
	}
	return out;
}

void rs_cli_engine_show_code(GString *out, const struct rs_cli_engine_bytes *code,
			     unsigned int count, uint64_t pc)
{
	g_autoptr(GArray) insns = rs_cli_engine_decode(code, count);

	for (guint i = 0; i < insns->len; i++) {
		const struct rs_cli_engine_insn *insn =
			&g_array_index(insns, struct rs_cli_engine_insn, i);
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
