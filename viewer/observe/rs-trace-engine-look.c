/* SPDX-License-Identifier: MIT */
/* What is read of a stopped thread, and changed. */
#include "rs-trace-engine-op-private.h"

#include <string.h>

#define READ_MAX 3968u /* bytes of one EngineReadMemory */

/* ---- memory ---- */

static void read_on(GTask *task, RsTraceEngineOp *op);

/* TRUE: there is more to read. */
static gboolean add_bytes(RsTraceEngineOp *op, GVariant *reply)
{
	gsize wanted = MIN(op->size - op->bytes->len, READ_MAX), got = 0;
	g_autoptr(GVariant) bytes = g_variant_get_child_value(reply, 0);
	const guint8 *data = g_variant_get_fixed_array(bytes, &got, 1);

	if (got)
		g_byte_array_append(op->bytes, data, (guint)MIN(got, wanted));
	return got >= wanted && op->bytes->len < op->size;
}

static void take_bytes(GTask *task, RsTraceEngineOp *op, GVariant *reply)
{
	if (add_bytes(op, reply))
		read_on(task, op);
	else
		g_task_return_pointer(task, g_byte_array_free_to_bytes(g_steal_pointer(&op->bytes)),
				      (GDestroyNotify)g_bytes_unref);
}

static void read_on(GTask *task, RsTraceEngineOp *op)
{
	gsize wanted = MIN(op->size - op->bytes->len, READ_MAX);
	GVariant *rest[] = {g_variant_new_uint64(op->address + op->bytes->len),
			    g_variant_new_uint32((guint32)wanted)};

	rs_trace_engine_call(task, "EngineReadMemory", rest, 2);
}

void rs_trace_engine_read_async(RsTraceEngine *engine, guint64 address, gsize size,
				GCancellable *cancellable, GAsyncReadyCallback callback,
				gpointer data)
{
	RsTraceEngineOp *op;
	g_autoptr(GTask) task = rs_trace_engine_begin(engine, cancellable, callback, data, &op);

	op->take = take_bytes;
	op->address = address;
	op->size = size;
	op->bytes = g_byte_array_new();
	read_on(task, op);
}

GBytes *rs_trace_engine_read_finish(RsTraceEngine *engine, GAsyncResult *result, GError **error)
{
	g_return_val_if_fail(g_task_is_valid(result, engine), NULL);
	return g_task_propagate_pointer(G_TASK(result), error);
}

/* ---- a look ---- */

static void return_view(GTask *task, RsTraceEngineOp *op)
{
	g_task_return_pointer(task, g_steal_pointer(&op->view),
			      (GDestroyNotify)rs_trace_engine_view_free);
}

static void take_code(GTask *task, RsTraceEngineOp *op, GVariant *reply)
{
	if (add_bytes(op, reply)) {
		read_on(task, op);
		return;
	}
	op->view->code = g_byte_array_free_to_bytes(g_steal_pointer(&op->bytes));
	return_view(task, op);
}

static void failed_code(GTask *task, RsTraceEngineOp *op, GError *error)
{
	g_error_free(error);
	return_view(task, op);
}

/* Copies numbers of an "at", `most` at most. Returns how many. */
static guint take_numbers(GVariant *from, guint64 *to, gsize most)
{
	gsize count = 0;
	const guint64 *numbers = g_variant_get_fixed_array(from, &count, sizeof(guint64));

	count = MIN(count, most);
	if (count)
		memcpy(to, numbers, count * sizeof(*to));
	return (guint)count;
}

static void take_registers(GTask *task, RsTraceEngineOp *op, GVariant *reply)
{
	RsTraceEngine *engine = g_task_get_source_object(task);
	g_autoptr(GVariant) registers = g_variant_get_child_value(reply, 0);
	g_autoptr(GVariant) more = g_variant_get_child_value(reply, 1);
	g_autoptr(GVariant) arguments =
		g_variant_lookup_value(more, "arguments", G_VARIANT_TYPE("at"));
	RsTraceEngineView *view = g_new0(RsTraceEngineView, 1);

	op->view = view;
	view->set = engine->registers;
	view->count = take_numbers(registers, view->values, RS_REGISTERS_MAX);
	view->has_call = g_variant_lookup(more, "syscall", "t", &view->call);
	if (arguments)
		view->n_arguments =
			take_numbers(arguments, view->arguments, RS_TRACE_ENGINE_ARGUMENTS_MAX);
	if (!op->size || !view->set || view->set->pc >= view->count) {
		return_view(task, op);
		return;
	}
	op->take = take_code;
	op->failed = failed_code;
	op->address = view->values[view->set->pc];
	op->bytes = g_byte_array_new();
	read_on(task, op);
}

void rs_trace_engine_look_async(RsTraceEngine *engine, gsize code, GCancellable *cancellable,
				GAsyncReadyCallback callback, gpointer data)
{
	RsTraceEngineOp *op;
	g_autoptr(GTask) task = rs_trace_engine_begin(engine, cancellable, callback, data, &op);

	op->take = take_registers;
	op->size = code;
	rs_trace_engine_call(task, "EngineRegisters", NULL, 0);
}

RsTraceEngineView *rs_trace_engine_look_finish(RsTraceEngine *engine, GAsyncResult *result,
					       GError **error)
{
	g_return_val_if_fail(g_task_is_valid(result, engine), NULL);
	return g_task_propagate_pointer(G_TASK(result), error);
}

/* ---- changes ---- */

static GVariant *numbers(const guint64 *values, gsize count)
{
	return g_variant_new_fixed_array(G_VARIANT_TYPE_UINT64, values, count, sizeof(guint64));
}

void rs_trace_engine_set_register_async(RsTraceEngine *engine, guint number, guint64 value,
					GCancellable *cancellable, GAsyncReadyCallback callback,
					gpointer data)
{
	RsTraceEngineOp *op;
	g_autoptr(GTask) task = rs_trace_engine_begin(engine, cancellable, callback, data, &op);
	guint64 values[RS_REGISTERS_MAX] = {0};
	GVariant *rest[2];

	g_return_if_fail(number < RS_REGISTERS_MAX);
	values[number] = value;
	rest[0] = numbers(values, number + 1);
	rest[1] = g_variant_new_uint64(1ull << number);
	op->take = rs_trace_engine_take_done;
	rs_trace_engine_call(task, "EngineSetRegisters", rest, 2);
}

void rs_trace_engine_set_call_async(RsTraceEngine *engine, guint64 number, const guint64 *arguments,
				    guint count, GCancellable *cancellable,
				    GAsyncReadyCallback callback, gpointer data)
{
	RsTraceEngineOp *op;
	g_autoptr(GTask) task = rs_trace_engine_begin(engine, cancellable, callback, data, &op);
	GVariant *rest[] = {g_variant_new_uint64(number), numbers(arguments, count)};

	op->take = rs_trace_engine_take_done;
	rs_trace_engine_call(task, "EngineSetSyscall", rest, 2);
}

static void take_written(GTask *task, RsTraceEngineOp *op, GVariant *reply)
{
	g_autoptr(GVariant) written = g_variant_get_child_value(reply, 0);

	g_task_return_int(task, (gssize)g_variant_get_uint32(written));
}

void rs_trace_engine_write_async(RsTraceEngine *engine, guint64 address, GBytes *bytes,
				 GCancellable *cancellable, GAsyncReadyCallback callback,
				 gpointer data)
{
	RsTraceEngineOp *op;
	g_autoptr(GTask) task = rs_trace_engine_begin(engine, cancellable, callback, data, &op);
	GVariant *rest[] = {g_variant_new_uint64(address),
			    g_variant_new_from_bytes(G_VARIANT_TYPE_BYTESTRING, bytes, TRUE)};

	op->take = take_written;
	rs_trace_engine_call(task, "EngineWriteMemory", rest, 2);
}

gssize rs_trace_engine_write_finish(RsTraceEngine *engine, GAsyncResult *result, GError **error)
{
	g_return_val_if_fail(g_task_is_valid(result, engine), -1);
	return g_task_propagate_int(G_TASK(result), error);
}

void rs_trace_engine_set_signal_async(RsTraceEngine *engine, RsTraceEngineFate fate, guint number,
				      GCancellable *cancellable, GAsyncReadyCallback callback,
				      gpointer data)
{
	static const char *const fates[] = {
		[RS_TRACE_ENGINE_DELIVER] = "deliver", [RS_TRACE_ENGINE_IGNORE] = "ignore",
		[RS_TRACE_ENGINE_SUSPEND] = "stop",    [RS_TRACE_ENGINE_TERMINATE] = "terminate",
		[RS_TRACE_ENGINE_CORE] = "core",
	};
	RsTraceEngineOp *op;
	g_autoptr(GTask) task = rs_trace_engine_begin(engine, cancellable, callback, data, &op);
	GVariant *rest[] = {g_variant_new_string(fates[fate]), g_variant_new_uint32(number)};

	op->take = rs_trace_engine_take_done;
	rs_trace_engine_call(task, "EngineSetSignal", rest, 2);
}

void rs_trace_engine_set_exit_code_async(RsTraceEngine *engine, gint64 code,
					 GCancellable *cancellable, GAsyncReadyCallback callback,
					 gpointer data)
{
	RsTraceEngineOp *op;
	g_autoptr(GTask) task = rs_trace_engine_begin(engine, cancellable, callback, data, &op);
	GVariant *rest[] = {g_variant_new_int64(code)};

	op->take = rs_trace_engine_take_done;
	rs_trace_engine_call(task, "EngineSetExitCode", rest, 1);
}

static void take_events(GTask *task, RsTraceEngineOp *op, GVariant *reply)
{
	RsTraceEngine *engine = g_task_get_source_object(task);

	engine->events = op->events;
	engine->follow = op->follow;
	g_task_return_boolean(task, TRUE);
}

void rs_trace_engine_set_events_async(RsTraceEngine *engine, guint32 events, gboolean follow,
				      GCancellable *cancellable, GAsyncReadyCallback callback,
				      gpointer data)
{
	RsTraceEngineOp *op;
	g_autoptr(GTask) task = rs_trace_engine_begin(engine, cancellable, callback, data, &op);
	GVariant *rest[] = {g_variant_new_uint32(events)};

	op->take = take_events;
	op->events = events;
	op->follow = follow;
	rs_trace_engine_call(task, "EngineSetEvents", rest, 1);
}
