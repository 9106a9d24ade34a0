/* SPDX-License-Identifier: MIT */
#include "cli/engine_print.h"

#include <inttypes.h>
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

static JsonBuilder *begin(const char *what, RsTraceEngine *engine)
{
	JsonBuilder *b = json_builder_new();

	json_builder_begin_object(b);
	add_text(b, "what", what);
	add_text(b, "source", rs_trace_engine_get_source(engine));
	rs_cli_add_number(b, "source_number", rs_trace_engine_get_source_number(engine));
	rs_cli_add_number(b, "thread", rs_trace_engine_get_thread(engine));
	rs_cli_add_number(b, "process", rs_trace_engine_get_process(engine));
	add_text(b, "comm", rs_trace_engine_get_comm(engine));
	return b;
}

static void end(JsonBuilder *b)
{
	json_builder_end_object(b);
	rs_cli_print_json(b);
	g_object_unref(b);
}

static void add_registers(JsonBuilder *b, const RsTraceEngineView *view)
{
	const RsTraceRegisterSet *set = view->set;

	json_builder_set_member_name(b, "registers");
	json_builder_begin_object(b);
	for (guint i = 0; set && i < set->count; i++)
		if (set->registers[i].number < view->count)
			add_word(b, set->registers[i].name, view->values[set->registers[i].number]);
	json_builder_end_object(b);
}

static void add_call(JsonBuilder *b, const struct rs_call_names *names,
		     const RsTraceEngineView *view)
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
	for (unsigned int i = 0; i < view->n_arguments; i++)
		add_word(b, NULL, view->arguments[i]);
	json_builder_end_array(b);
	json_builder_end_object(b);
}

static guint32 arch_of(RsTraceEngine *engine)
{
	const RsTraceRegisterSet *set = rs_trace_engine_get_registers(engine);

	return set ? set->arch : 0;
}

static void add_code(JsonBuilder *b, guint32 arch, const struct rs_cli_engine_bytes *code,
		     unsigned int count)
{
	g_autoptr(GArray) insns =
		rs_trace_disassemble(arch, code->address, code->bytes, code->size, count);

	json_builder_set_member_name(b, "code");
	json_builder_begin_array(b);
	for (guint i = 0; i < insns->len; i++) {
		const RsTraceInsn *insn = &g_array_index(insns, RsTraceInsn, i);

		json_builder_begin_object(b);
		add_word(b, "address", insn->address);
		add_hex(b, "bytes", insn->bytes, insn->size);
		add_text(b, "text", insn->text);
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
}

static void add_event(JsonBuilder *b, const RsTraceEngineStop *stop)
{
	const char *name = rs_trace_engine_event_name(stop->event);

	rs_cli_add_number(b, "event_number", stop->event);
	if (name)
		add_text(b, "event", name);
	json_builder_set_member_name(b, "value");
	json_builder_add_int_value(b, stop->value);
	json_builder_set_member_name(b, "stepped");
	json_builder_add_boolean_value(b, stop->stepped);
	if (stop->path)
		add_text(b, "path", stop->path);
}

/* ---- either ---- */

static void append_who(GString *out, const struct rs_cli_engine_printer *printer,
		       RsTraceEngine *engine)
{
	g_string_append_printf(out, "thread %u (%s%s%s)", rs_trace_engine_get_thread(engine),
			       printer->name_sources ? rs_trace_engine_get_source(engine) : "",
			       printer->name_sources ? "/" : "", rs_trace_engine_get_comm(engine));
}

/* Who, and why it has stopped. */
static void append_head(GString *out, const struct rs_cli_engine_printer *printer,
			RsTraceEngine *engine, const RsTraceEngineView *view)
{
	const RsTraceEngineStop *stop = rs_trace_engine_get_stop(engine);

	append_who(out, printer, engine);
	g_string_append(out, ": ");
	if (!stop) {
		g_string_append(out, "runs");
	} else if (stop->stepped) {
		g_string_append(out, "has stepped");
	} else if (view && view->has_call && stop->event == RS_UTRACE_EVENT_SYSCALL_ENTRY) {
		g_string_append(out, "syscall_entry: ");
		rs_cli_engine_show_call(out, printer->names, view);
	} else {
		rs_cli_engine_show_event(out, printer->names, stop->event, stop->value);
		if (stop->path)
			g_string_append_printf(out, ": %s", stop->path);
	}
	g_string_append_c(out, '\n');
}

static void put(const GString *text)
{
	fwrite(text->str, 1, text->len, stdout);
}

/* The code of a view, if it has any. */
static bool code_of(const RsTraceEngineView *view, unsigned int insns,
		    struct rs_cli_engine_bytes *out)
{
	if (!view || !view->code || !insns)
		return false;
	*out = (struct rs_cli_engine_bytes){.address = view->values[view->set->pc],
					    .wanted = (size_t)insns * RS_TRACE_INSN_MAX};
	out->bytes = g_bytes_get_data(view->code, &out->size);
	return true;
}

void rs_cli_engine_print_stop(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
			      const RsTraceEngineView *view, unsigned int insns)
{
	g_autoptr(GString) out = g_string_new(printer->began && !printer->brief ? "\n" : "");
	struct rs_cli_engine_bytes code;
	JsonBuilder *b;

	printer->began = true;
	if (printer->json) {
		b = begin("stop", engine);
		add_event(b, rs_trace_engine_get_stop(engine));
		if (view && !printer->brief)
			add_registers(b, view);
		if (view && view->has_call)
			add_call(b, printer->names, view);
		if (code_of(view, insns, &code))
			add_code(b, arch_of(engine), &code, insns);
		end(b);
		return;
	}
	append_head(out, printer, engine, view);
	if (view && !printer->brief)
		rs_cli_engine_show_registers(out, view);
	if (code_of(view, insns, &code))
		rs_cli_engine_show_code(out, arch_of(engine), &code, insns, code.address);
	put(out);
}

void rs_cli_engine_print_again(struct rs_cli_engine_printer *printer, RsTraceEngine *engine)
{
	g_autoptr(GString) out = g_string_new(NULL);

	if (printer->json)
		return;
	append_head(out, printer, engine, NULL);
	put(out);
}

void rs_cli_engine_print_attached(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
				  RsTraceEngine *followed)
{
	g_autoptr(GString) out = g_string_new(NULL);
	JsonBuilder *b;

	printer->began = true;
	if (printer->json) {
		b = begin("attached", engine);
		if (followed)
			rs_cli_add_number(b, "follows", rs_trace_engine_get_thread(followed));
		end(b);
		return;
	}
	append_who(out, printer, engine);
	if (followed)
		g_string_append_printf(out, " follows thread %u\n",
				       rs_trace_engine_get_thread(followed));
	else
		g_string_append(out, " is followed\n");
	put(out);
}

void rs_cli_engine_print_gone(struct rs_cli_engine_printer *printer, RsTraceEngine *engine)
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

void rs_cli_engine_print_registers(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
				   const RsTraceEngineView *view)
{
	g_autoptr(GString) out = g_string_new(NULL);
	JsonBuilder *b;

	if (printer->json) {
		b = begin("registers", engine);
		add_registers(b, view);
		end(b);
		return;
	}
	rs_cli_engine_show_registers(out, view);
	put(out);
}

void rs_cli_engine_print_call(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
			      const RsTraceEngineView *view)
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

void rs_cli_engine_print_memory(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
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

void rs_cli_engine_print_code(struct rs_cli_engine_printer *printer, RsTraceEngine *engine,
			      const struct rs_cli_engine_bytes *code, unsigned int count,
			      uint64_t pc)
{
	g_autoptr(GString) out = g_string_new(NULL);
	JsonBuilder *b;

	if (printer->json) {
		b = begin("code", engine);
		add_code(b, arch_of(engine), code, count);
		end(b);
		return;
	}
	rs_cli_engine_show_code(out, arch_of(engine), code, count, pc);
	put(out);
}

static void print_one(struct rs_cli_engine_printer *printer, RsTraceEngine *engine, bool is_current)
{
	g_autoptr(GString) out = g_string_new(is_current ? "* " : "  ");
	JsonBuilder *b;

	if (printer->json) {
		b = begin("engine", engine);
		json_builder_set_member_name(b, "stopped");
		json_builder_add_boolean_value(b, rs_trace_engine_get_stop(engine) != NULL);
		end(b);
		return;
	}
	append_head(out, printer, engine, NULL);
	put(out);
}

void rs_cli_engine_print_all(struct rs_cli_engine_printer *printer, RsTraceEngines *engines,
			     RsTraceEngine *current)
{
	for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(engines)); i++) {
		g_autoptr(RsTraceEngine) engine = g_list_model_get_item(G_LIST_MODEL(engines), i);

		print_one(printer, engine, engine == current);
	}
}

static void print_threads_json(GPtrArray *threads)
{
	g_autoptr(JsonBuilder) b = json_builder_new();

	json_builder_begin_array(b);
	for (guint i = 0; i < threads->len; i++) {
		const RsTraceEngineThread *thread = threads->pdata[i];

		json_builder_begin_object(b);
		add_text(b, "source", thread->source);
		rs_cli_add_number(b, "source_number", thread->source_number);
		rs_cli_add_number(b, "thread", thread->id);
		rs_cli_add_number(b, "process", thread->process);
		rs_cli_add_number(b, "parent", thread->parent);
		add_text(b, "comm", thread->comm);
		add_text(b, "state", thread->dead ? "dead" : "alive");
		json_builder_end_object(b);
	}
	json_builder_end_array(b);
	rs_cli_print_json(b);
}

void rs_cli_engine_print_threads(GPtrArray *threads, bool json)
{
	if (json) {
		print_threads_json(threads);
		return;
	}
	printf("%8s %8s %8s  %-5s  %-16s %s\n", "THREAD", "PROCESS", "PARENT", "STATE", "COMM",
	       "SOURCE");
	for (guint i = 0; i < threads->len; i++) {
		const RsTraceEngineThread *thread = threads->pdata[i];

		printf("%8u %8u %8u  %-5s  %-16s %s\n", thread->id, thread->process, thread->parent,
		       thread->dead ? "dead" : "alive", thread->comm, thread->source);
	}
}
