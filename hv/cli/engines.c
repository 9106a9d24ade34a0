/* SPDX-License-Identifier: MIT */
#include "cli/engines.h"

#include <rs-trace-escape.h>
#include <string.h>

#define READ_MAX 3968u /* bytes of one EngineReadMemory */
#define TRAP 5         /* the signal by which a step ends */

static void free_engine(gpointer data)
{
	struct rs_cli_engine *engine = data;

	g_free(engine->source);
	g_free(engine->comm);
	g_free(engine);
}

void rs_cli_engines_init(struct rs_cli_engines *engines, RsDBusSession1 *session)
{
	*engines = (struct rs_cli_engines){.session = session};
	engines->all = g_ptr_array_new_with_free_func(free_engine);
}

void rs_cli_engines_deinit(struct rs_cli_engines *engines)
{
	g_clear_pointer(&engines->all, g_ptr_array_unref);
}

/* ---- threads ---- */

GVariant *rs_cli_engine_threads(RsDBusSession1 *session, guint32 source, GError **error)
{
	GVariant *threads = NULL;

	rs_dbus_session1_call_threads_sync(session, rs_trace_client_source(source), &threads, NULL,
					   NULL, error);
	return threads;
}

void rs_cli_engine_read_thread(GVariant *row, struct rs_cli_engine_thread *out)
{
	*out = (struct rs_cli_engine_thread){.source = "", .comm = ""};
	g_variant_lookup(row, "source", "&s", &out->source);
	g_variant_lookup(row, "source_number", "u", &out->source_number);
	g_variant_lookup(row, "id", "u", &out->id);
	g_variant_lookup(row, "process", "u", &out->process);
	g_variant_lookup(row, "parent", "u", &out->parent);
	g_variant_lookup(row, "comm", "&s", &out->comm);
}

gboolean rs_cli_engines_attach(struct rs_cli_engines *engines,
			       const struct rs_cli_engine_thread *thread, guint32 events,
			       GError **error)
{
	struct rs_cli_engine *engine;
	guint32 number;

	if (!rs_dbus_session1_call_engine_attach_sync(engines->session, thread->id, events,
						      rs_trace_client_source(thread->source_number),
						      &number, NULL, NULL, error))
		return FALSE;
	engine = g_new0(struct rs_cli_engine, 1);
	engine->number = number;
	engine->source_number = thread->source_number;
	engine->thread = thread->id;
	engine->process = thread->process;
	engine->source = rs_trace_escape(thread->source, -1, NULL);
	engine->comm = rs_trace_escape(thread->comm, -1, NULL);
	g_ptr_array_add(engines->all, engine);
	return TRUE;
}

/* ---- their state ---- */

static void is_gone(struct rs_cli_engines *engines, struct rs_cli_engine *engine)
{
	if (engine->gone)
		return;
	engine->gone = true;
	engine->stopped = false;
	if (engines->gone)
		engines->gone(engine, engines->data);
}

/* One of the steps that were asked for is over. True: the next one has begun. */
static bool steps_on(struct rs_cli_engines *engines, struct rs_cli_engine *engine)
{
	if (!engine->steps)
		return false;
	if (!rs_cli_engine_event_is_signal(engine->event) || engine->value != TRAP) {
		engine->steps = 0;
		return false;
	}
	if (--engine->steps == 0) {
		engine->stepped = true;
		return false;
	}
	/* Else the thread stays where it is, and shows it. */
	return rs_cli_engine_control(engines, engine, engine->block ? "block-step" : "step", NULL);
}

static void has_stopped(struct rs_cli_engines *engines, struct rs_cli_engine *engine, GVariant *row)
{
	guint64 stop = 0;

	g_variant_lookup(row, "stop", "t", &stop);
	if (stop == engine->stop)
		return;
	engine->stop = stop;
	engine->stopped = true;
	engine->shown = engine->stepped = false;
	engine->event = 0;
	engine->value = 0;
	g_variant_lookup(row, "event", "u", &engine->event);
	g_variant_lookup(row, "value", "x", &engine->value);
	if (!steps_on(engines, engine))
		engine->order = ++engines->stops;
}

static struct rs_cli_engine *by_number(const struct rs_cli_engines *engines, guint32 number)
{
	for (guint i = 0; i < engines->all->len; i++) {
		struct rs_cli_engine *engine = engines->all->pdata[i];

		if (engine->number == number)
			return engine;
	}
	return NULL;
}

static void take_row(struct rs_cli_engines *engines, GVariant *row, GHashTable *seen)
{
	const char *state = "";
	struct rs_cli_engine *engine;
	guint32 number = 0;

	g_variant_lookup(row, "engine", "u", &number);
	g_variant_lookup(row, "state", "&s", &state);
	engine = by_number(engines, number);
	if (!engine || engine->gone)
		return;
	g_hash_table_add(seen, engine);
	if (!strcmp(state, "gone"))
		is_gone(engines, engine);
	else if (!strcmp(state, "stopped"))
		has_stopped(engines, engine, row);
	else
		engine->stopped = false;
}

gboolean rs_cli_engines_refresh(struct rs_cli_engines *engines, GError **error)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
	g_autoptr(GVariant) rows = NULL;

	if (!rs_dbus_session1_call_engine_list_sync(engines->session, rs_trace_client_no_options(),
						    &rows, NULL, NULL, error))
		return FALSE;
	for (gsize i = 0; i < g_variant_n_children(rows); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);

		take_row(engines, row, seen);
	}
	/* One that is gone is told once only. */
	for (guint i = 0; i < engines->all->len; i++)
		if (!g_hash_table_contains(seen, engines->all->pdata[i]))
			is_gone(engines, engines->all->pdata[i]);
	return TRUE;
}

struct rs_cli_engine *rs_cli_engines_find(const struct rs_cli_engines *engines, guint32 thread)
{
	for (guint i = 0; i < engines->all->len; i++) {
		struct rs_cli_engine *engine = engines->all->pdata[i];

		if (engine->thread == thread && !engine->gone)
			return engine;
	}
	return NULL;
}

struct rs_cli_engine *rs_cli_engines_first_stopped(const struct rs_cli_engines *engines)
{
	struct rs_cli_engine *first = NULL;

	for (guint i = 0; i < engines->all->len; i++) {
		struct rs_cli_engine *engine = engines->all->pdata[i];

		if (engine->stopped && (!first || engine->order < first->order))
			first = engine;
	}
	return first;
}

bool rs_cli_engines_any(const struct rs_cli_engines *engines)
{
	for (guint i = 0; i < engines->all->len; i++)
		if (!((struct rs_cli_engine *)engines->all->pdata[i])->gone)
			return true;
	return false;
}

bool rs_cli_engines_several(const struct rs_cli_engines *engines)
{
	for (guint i = 1; i < engines->all->len; i++) {
		const struct rs_cli_engine *a = engines->all->pdata[0], *b = engines->all->pdata[i];

		if (a->source_number != b->source_number)
			return true;
	}
	return false;
}

/* ---- what they are asked ---- */

gboolean rs_cli_engine_control(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
			       const char *action, GError **error)
{
	if (!rs_dbus_session1_call_engine_control_sync(engines->session, engine->number, action,
						       rs_trace_client_no_options(), NULL, NULL,
						       error))
		return FALSE;
	if (!strcmp(action, "detach"))
		engine->gone = true;
	if (strcmp(action, "stop") != 0 && strcmp(action, "interrupt") != 0)
		engine->stopped = false;
	return TRUE;
}

gboolean rs_cli_engine_step(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
			    guint64 steps, bool block, GError **error)
{
	engine->block = block;
	if (!rs_cli_engine_control(engines, engine, block ? "block-step" : "step", error))
		return FALSE;
	engine->steps = steps;
	return TRUE;
}

/* Copies numbers of an "at", `most` at most. Returns how many. */
static unsigned int take_numbers(GVariant *from, uint64_t *to, gsize most)
{
	gsize count = 0;
	const guint64 *numbers = g_variant_get_fixed_array(from, &count, sizeof(guint64));

	count = MIN(count, most);
	if (count)
		memcpy(to, numbers, count * sizeof(*to));
	return (unsigned int)count;
}

gboolean rs_cli_engine_look(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
			    struct rs_cli_engine_view *view, GError **error)
{
	g_autoptr(GVariant) registers = NULL, more = NULL, args = NULL;

	*view = (struct rs_cli_engine_view){0};
	if (!rs_dbus_session1_call_engine_registers_sync(engines->session, engine->number,
							 rs_trace_client_no_options(), &registers,
							 &more, NULL, error))
		return FALSE;
	view->count = take_numbers(registers, view->values, RS_REGISTERS_MAX);
	view->has_call = g_variant_lookup(more, "syscall", "t", &view->call);
	args = g_variant_lookup_value(more, "arguments", G_VARIANT_TYPE("at"));
	if (args)
		view->args_count = take_numbers(args, view->args, RS_CLI_ENGINE_ARGS_MAX);
	return TRUE;
}

static GVariant *numbers(const uint64_t *values, gsize count)
{
	return g_variant_new_fixed_array(G_VARIANT_TYPE_UINT64, values, count, sizeof(guint64));
}

gboolean rs_cli_engine_set(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
			   unsigned int reg, uint64_t value, GError **error)
{
	uint64_t values[RS_REGISTERS_MAX] = {0};

	values[reg] = value;
	return rs_dbus_session1_call_engine_set_registers_sync(
		engines->session, engine->number, numbers(values, reg + 1), 1ull << reg,
		rs_trace_client_no_options(), NULL, NULL, error);
}

gboolean rs_cli_engine_set_call(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
				uint64_t number, const uint64_t *args, unsigned int count,
				GError **error)
{
	return rs_dbus_session1_call_engine_set_syscall_sync(
		engines->session, engine->number, number, numbers(args, count),
		rs_trace_client_no_options(), NULL, NULL, error);
}

GByteArray *rs_cli_engine_read(struct rs_cli_engines *engines, struct rs_cli_engine *engine,
			       uint64_t address, size_t size, GError **error)
{
	g_autoptr(GByteArray) out = g_byte_array_new();

	while (out->len < size) {
		guint32 wanted = (guint32)MIN(size - out->len, READ_MAX);
		g_autoptr(GVariant) bytes = NULL;
		const guint8 *data;
		gsize got = 0;

		if (!rs_dbus_session1_call_engine_read_memory_sync(
			    engines->session, engine->number, address + out->len, wanted,
			    rs_trace_client_no_options(), &bytes, NULL, NULL, error))
			return NULL;
		data = g_variant_get_fixed_array(bytes, &got, 1);
		g_byte_array_append(out, data, (guint)MIN(got, wanted));
		if (got < wanted)
			break;
	}
	return g_steal_pointer(&out);
}
