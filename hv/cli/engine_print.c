/* SPDX-License-Identifier: MIT */
#include "cli/engine_print.h"

#include <inttypes.h>
#include <rs-trace-escape.h>
#include <stdio.h>

/* ---- JSON ---- */

static void add_text(JsonBuilder *b, const char *name, const char *text)
{
	json_builder_set_member_name(b, name);
	json_builder_add_string_value(b, text);
}

/* An address or a register, which readers are not to round. */
static void add_word(JsonBuilder *b, const char *name, uint64_t value)
{
	g_autofree char *text = g_strdup_printf("0x%" PRIx64, value);

	if (name)
		json_builder_set_member_name(b, name);
	json_builder_add_string_value(b, text);
}

static void add_hex(JsonBuilder *b, const char *name, const uint8_t *bytes, size_t size)
{
	g_autoptr(GString) text = g_string_new(NULL);

	for (size_t i = 0; i < size; i++)
		g_string_append_printf(text, "%02x", bytes[i]);
	add_text(b, name, text->str);
}

static JsonBuilder *begin(const char *what, const struct rs_cli_engine *engine)
{
	JsonBuilder *b = json_builder_new();

	json_builder_begin_object(b);
	add_text(b, "what", what);
	add_text(b, "source", engine->source);
	rs_cli_add_number(b, "source_number", engine->source_number);
	rs_cli_add_number(b, "thread", engine->thread);
	rs_cli_add_number(b, "process", engine->process);
	add_text(b, "comm", engine->comm);
	return b;
}

static void end(JsonBuilder *b)
{
	json_builder_end_object(b);
	rs_cli_print_json(b, false);
	g_object_unref(b);
}

static void add_registers(JsonBuilder *b, const struct rs_cli_engine_arch *arch,
			  const struct rs_cli_engine_view *view)
{
	json_builder_set_member_name(b, "registers");
	json_builder_begin_object(b);
	for (unsigned int i = 0; i < arch->count; i++)
		if (arch->registers[i].number < view->count)
			add_word(b, arch->registers[i].name,
				 view->values[arch->registers[i].number]);
	json_builder_end_object(b);
}

static void add_call(JsonBuilder *b, const struct rs_call_names *names,
		     const struct rs_cli_engine_view *view)
{
	const char *name =
		view->call <= G_MAXINT64 ? rs_call_name(names, (gint64)view->call) : NULL;

	json_builder_set_member_name(b, "call");
	json_builder_begin_object(b);
	rs_cli_add_number(b, "number", view->call);
	if (name)
		add_text(b, "name", name);
	json_builder_set_member_name(b, "arguments");
	json_builder_begin_array(b);
	for (unsigned int i = 0; i < view->args_count; i++)
		add_word(b, NULL, view->args[i]);
	json_builder_end_array(b);
	json_builder_end_object(b);
}

static void add_code(JsonBuilder *b, const struct rs_cli_engine_bytes *code, unsigned int count)
{
	g_autoptr(GArray) insns = rs_cli_engine_decode(code, count);

	json_builder_set_member_name(b, "code");
	json_builder_begin_array(b);
	for (guint i = 0; i < insns->len; i++) {
		const struct rs_cli_engine_insn *insn =
			&g_array_index(insns, struct rs_cli_engine_insn, i);

		json_builder_begin_object(b);
		add_word(b, "address", insn->address);
		add_hex(b, "bytes", insn->bytes, insn->size);
		add_text(b, "text", insn->text);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
}

static void add_event(JsonBuilder *b, const struct rs_cli_engine *engine)
{
	const char *name = rs_cli_engine_event_name(engine->event);

	rs_cli_add_number(b, "event_number", engine->event);
	if (name)
		add_text(b, "event", name);
	json_builder_set_member_name(b, "value");
	json_builder_add_int_value(b, engine->value);
	json_builder_set_member_name(b, "stepped");
	json_builder_add_boolean_value(b, engine->stepped);
}

/* ---- either ---- */

static void append_who(GString *out, const struct rs_cli_engine_printer *printer,
		       const struct rs_cli_engine *engine)
{
	g_string_append_printf(out, "thread %u (%s%s%s)", engine->thread,
			       printer->name_sources ? engine->source : "",
			       printer->name_sources ? "/" : "", engine->comm);
}

/* Who, and why it has stopped. */
static void append_head(GString *out, const struct rs_cli_engine_printer *printer,
			const struct rs_cli_engine *engine, const struct rs_cli_engine_view *view)
{
	append_who(out, printer, engine);
	g_string_append(out, ": ");
	if (engine->stepped) {
		g_string_append(out, "has stepped");
	} else if (view && view->has_call && engine->event == RS_UTRACE_EVENT_SYSCALL_ENTRY) {
		g_string_append(out, "syscall_entry: ");
		rs_cli_engine_show_call(out, printer->names, view);
	} else {
		rs_cli_engine_show_event(out, printer->names, engine->event, engine->value);
	}
	g_string_append_c(out, '\n');
}

static void put(const GString *text)
{
	fwrite(text->str, 1, text->len, stdout);
}

void rs_cli_engine_print_stop(struct rs_cli_engine_printer *printer,
			      const struct rs_cli_engine *engine,
			      const struct rs_cli_engine_view *view,
			      const struct rs_cli_engine_bytes *code, unsigned int insns)
{
	g_autoptr(GString) out = g_string_new(printer->began ? "\n" : "");
	JsonBuilder *b;

	printer->began = true;
	if (printer->json) {
		b = begin("stop", engine);
		add_event(b, engine);
		if (view)
			add_registers(b, printer->arch, view);
		if (view && view->has_call)
			add_call(b, printer->names, view);
		if (code)
			add_code(b, code, insns);
		end(b);
		return;
	}
	append_head(out, printer, engine, view);
	if (view)
		rs_cli_engine_show_registers(out, printer->arch, view);
	if (code)
		rs_cli_engine_show_code(out, code, insns, code->address);
	put(out);
}

void rs_cli_engine_print_again(struct rs_cli_engine_printer *printer,
			       const struct rs_cli_engine *engine)
{
	g_autoptr(GString) out = g_string_new(NULL);

	if (printer->json)
		return;
	append_head(out, printer, engine, NULL);
	put(out);
}

void rs_cli_engine_print_gone(struct rs_cli_engine_printer *printer,
			      const struct rs_cli_engine *engine)
{
	g_autoptr(GString) out = g_string_new(NULL);

	printer->began = true;
	if (printer->json) {
		end(begin("gone", engine));
		return;
	}
	append_who(out, printer, engine);
	g_string_append(out, " is gone\n");
	put(out);
}

void rs_cli_engine_print_registers(struct rs_cli_engine_printer *printer,
				   const struct rs_cli_engine *engine,
				   const struct rs_cli_engine_view *view)
{
	g_autoptr(GString) out = g_string_new(NULL);
	JsonBuilder *b;

	if (printer->json) {
		b = begin("registers", engine);
		add_registers(b, printer->arch, view);
		end(b);
		return;
	}
	rs_cli_engine_show_registers(out, printer->arch, view);
	put(out);
}

void rs_cli_engine_print_call(struct rs_cli_engine_printer *printer,
			      const struct rs_cli_engine *engine,
			      const struct rs_cli_engine_view *view)
{
	g_autoptr(GString) out = g_string_new("  ");
	JsonBuilder *b;

	if (printer->json) {
		b = begin("call", engine);
		add_call(b, printer->names, view);
		end(b);
		return;
	}
	rs_cli_engine_show_call(out, printer->names, view);
	g_string_append_c(out, '\n');
	put(out);
}

void rs_cli_engine_print_memory(struct rs_cli_engine_printer *printer,
				const struct rs_cli_engine *engine,
				const struct rs_cli_engine_bytes *memory)
{
	g_autoptr(GString) out = g_string_new(NULL);
	JsonBuilder *b;

	if (printer->json) {
		b = begin("memory", engine);
		add_word(b, "address", memory->address);
		add_hex(b, "bytes", memory->bytes, memory->size);
		end(b);
		return;
	}
	rs_cli_engine_show_memory(out, memory);
	put(out);
}

void rs_cli_engine_print_code(struct rs_cli_engine_printer *printer,
			      const struct rs_cli_engine *engine,
			      const struct rs_cli_engine_bytes *code, unsigned int count,
			      uint64_t pc)
{
	g_autoptr(GString) out = g_string_new(NULL);
	JsonBuilder *b;

	if (printer->json) {
		b = begin("code", engine);
		add_code(b, code, count);
		end(b);
		return;
	}
	rs_cli_engine_show_code(out, code, count, pc);
	put(out);
}

static void print_one(struct rs_cli_engine_printer *printer, const struct rs_cli_engine *engine,
		      bool is_current)
{
	g_autoptr(GString) out = g_string_new(is_current ? "* " : "  ");
	JsonBuilder *b;

	if (printer->json) {
		b = begin("engine", engine);
		json_builder_set_member_name(b, "stopped");
		json_builder_add_boolean_value(b, engine->stopped);
		end(b);
		return;
	}
	if (engine->stopped) {
		append_head(out, printer, engine, NULL);
	} else {
		append_who(out, printer, engine);
		g_string_append(out, ": runs\n");
	}
	put(out);
}

void rs_cli_engine_print_all(struct rs_cli_engine_printer *printer,
			     const struct rs_cli_engines *engines,
			     const struct rs_cli_engine *current)
{
	for (guint i = 0; i < engines->all->len; i++) {
		const struct rs_cli_engine *engine = engines->all->pdata[i];

		if (!engine->gone)
			print_one(printer, engine, engine == current);
	}
}

static void print_threads_json(GPtrArray *rows)
{
	g_autoptr(JsonBuilder) b = json_builder_new();

	json_builder_begin_array(b);
	for (guint i = 0; i < rows->len; i++) {
		struct rs_cli_engine_thread thread;

		rs_cli_engine_read_thread(rows->pdata[i], &thread);
		json_builder_begin_object(b);
		add_text(b, "source", thread.source);
		rs_cli_add_number(b, "source_number", thread.source_number);
		rs_cli_add_number(b, "thread", thread.id);
		rs_cli_add_number(b, "process", thread.process);
		rs_cli_add_number(b, "parent", thread.parent);
		add_text(b, "comm", thread.comm);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
	rs_cli_print_json(b, true);
}

void rs_cli_engine_print_threads(GPtrArray *rows, bool json)
{
	if (json) {
		print_threads_json(rows);
		return;
	}
	printf("%8s %8s %8s  %-16s %s\n", "THREAD", "PROCESS", "PARENT", "COMM", "SOURCE");
	for (guint i = 0; i < rows->len; i++) {
		g_autofree char *comm = NULL, *source = NULL;
		struct rs_cli_engine_thread thread;

		rs_cli_engine_read_thread(rows->pdata[i], &thread);
		comm = rs_trace_escape(thread.comm, -1, NULL);
		source = rs_trace_escape(thread.source, -1, NULL);
		printf("%8u %8u %8u  %-16s %s\n", thread.id, thread.process, thread.parent, comm,
		       source);
	}
}
