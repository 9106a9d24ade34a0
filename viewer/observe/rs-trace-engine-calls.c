/* SPDX-License-Identifier: MIT */
/* What engines are asked, as calls of the session: each is a task, of one call or several. */
#include "rs-trace-engine-private.h"

#include <string.h>

#define READ_MAX 3968u /* bytes of one EngineReadMemory */

typedef struct op Op;
struct op {
	/* Ends the task, or makes the next call of it. */
	void (*take)(GTask *task, Op *op, GVariant *reply);
	/* NULL: the error is the task's. Frees `error`. */
	void (*failed)(GTask *task, Op *op, GError *error);
	/* What its session was asked for; those that are the task's. */
	RsTraceEngineState after; /* control and steps */
	guint64 stop;             /* the stop that was meant */
	guint64 steps;
	gboolean to_branch, follow;
	guint64 address;
	gsize size;
	GByteArray *bytes;
	RsTraceEngineView *view;
};

void rs_trace_engine_view_free(RsTraceEngineView *view)
{
	if (!view)
		return;
	g_clear_pointer(&view->code, g_bytes_unref);
	g_free(view);
}

static void free_op(gpointer data)
{
	Op *op = data;

	g_clear_pointer(&op->bytes, g_byte_array_unref);
	g_clear_pointer(&op->view, rs_trace_engine_view_free);
	g_free(op);
}

/* ---- a task and its calls ---- */

static GTask *begin(RsTraceEngine *engine, GCancellable *cancellable, GAsyncReadyCallback callback,
		    gpointer data, Op **op)
{
	GTask *task = g_task_new(engine, cancellable, callback, data);

	*op = g_new0(Op, 1);
	(*op)->stop = engine->stop.number;
	g_task_set_task_data(task, *op, free_op);
	return task;
}

static void on_reply(GObject *proxy, GAsyncResult *result, gpointer data)
{
	g_autoptr(GVariant) reply = NULL;
	g_autoptr(GTask) task = data;
	Op *op = g_task_get_task_data(task);
	GError *error = NULL;

	reply = g_dbus_proxy_call_finish(G_DBUS_PROXY(proxy), result, &error);
	if (reply) {
		op->take(task, op, reply);
		return;
	}
	rs_trace_client_fix_error(&error);
	if (op->failed)
		op->failed(task, op, error);
	else
		g_task_return_error(task, error);
}

static Op *op_of(GTask *task)
{
	return g_task_get_task_data(task);
}

/* `rest`: its arguments between the engine's number and the options; floating, or NULL. */
static void call(GTask *task, const char *method, GVariant **rest, gsize count)
{
	RsTraceEngine *engine = g_task_get_source_object(task);
	GVariant *args[5] = {g_variant_new_uint32(engine->number)};

	for (gsize i = 0; i < count; i++)
		args[1 + i] = rest[i];
	args[1 + count] = rs_trace_engine_options(0, op_of(task)->follow);
	g_dbus_proxy_call(G_DBUS_PROXY(engine->session), method,
			  g_variant_new_tuple(args, count + 2), G_DBUS_CALL_FLAGS_NONE, -1,
			  g_task_get_cancellable(task), on_reply, g_object_ref(task));
}

static void take_done(GTask *task, Op *op, GVariant *reply)
{
	g_task_return_boolean(task, TRUE);
}

gboolean rs_trace_engine_finish(RsTraceEngine *engine, GAsyncResult *result, GError **error)
{
	g_return_val_if_fail(g_task_is_valid(result, engine), FALSE);
	return g_task_propagate_boolean(G_TASK(result), error);
}

/* ---- control and steps ---- */

static void take_control(GTask *task, Op *op, GVariant *reply)
{
	RsTraceEngine *engine = g_task_get_source_object(task);

	/* It may be gone by now, or have stopped once more. */
	if (engine->state != RS_TRACE_ENGINE_GONE && op->stop == engine->stop.number) {
		engine->steps = op->steps;
		engine->to_branch = op->to_branch;
		rs_trace_engine_set_state(engine, op->after);
	}
	if (op->after == RS_TRACE_ENGINE_GONE) {
		rs_trace_engine_set_state(engine, op->after);
		if (engine->owner)
			rs_trace_engines_drop(engine->owner, engine);
	}
	g_task_return_boolean(task, TRUE);
}

static void control(GTask *task, Op *op, const char *action)
{
	GVariant *rest[] = {g_variant_new_string(action)};

	if (!op->take)
		op->take = take_control;
	call(task, "EngineControl", rest, 1);
}

void rs_trace_engine_control_async(RsTraceEngine *engine, RsTraceEngineAction action,
				   GCancellable *cancellable, GAsyncReadyCallback callback,
				   gpointer data)
{
	static const char *const actions[] = {
		[RS_TRACE_ENGINE_RESUME] = "resume",
		[RS_TRACE_ENGINE_STOP] = "stop",
		[RS_TRACE_ENGINE_INTERRUPT] = "interrupt",
		[RS_TRACE_ENGINE_DETACH] = "detach",
	};
	Op *op;
	g_autoptr(GTask) task = begin(engine, cancellable, callback, data, &op);

	rs_trace_engine_end_steps(engine);
	if (action == RS_TRACE_ENGINE_STOP || action == RS_TRACE_ENGINE_INTERRUPT)
		op->take = take_done;
	else
		op->after = action == RS_TRACE_ENGINE_DETACH ? RS_TRACE_ENGINE_GONE
							     : RS_TRACE_ENGINE_RUNNING;
	control(task, op, actions[action]);
}

static void step(RsTraceEngine *engine, guint64 steps, gboolean to_branch, GTask *task, Op *op)
{
	op->after = RS_TRACE_ENGINE_RUNNING;
	op->steps = steps;
	op->to_branch = to_branch;
	control(task, op, to_branch ? "block-step" : "step");
}

void rs_trace_engine_step_async(RsTraceEngine *engine, guint64 steps, gboolean to_branch,
				GCancellable *cancellable, GAsyncReadyCallback callback,
				gpointer data)
{
	Op *op;
	g_autoptr(GTask) task = begin(engine, cancellable, callback, data, &op);

	step(engine, steps, to_branch, task, op);
}

/* The thread stays where it is, and shows it. */
static void failed_step_on(GTask *task, Op *op, GError *error)
{
	RsTraceEngine *engine = g_task_get_source_object(task);

	engine->steps = 0;
	if (engine->owner && engine->state != RS_TRACE_ENGINE_GONE &&
	    engine->stop.number == op->stop)
		rs_trace_engines_tell_stop(engine->owner, engine);
	g_task_return_error(task, error);
}

/* Its answer arrives where the signals do, whoever waits for something else just now. */
void rs_trace_engine_step_on(RsTraceEngine *engine)
{
	GMainContext *context = engine->owner->context;
	GTask *task;
	Op *op;

	g_main_context_push_thread_default(context);
	task = begin(engine, NULL, NULL, NULL, &op);
	op->take = take_done;
	op->failed = failed_step_on;
	step(engine, engine->steps, engine->to_branch, task, op);
	g_object_unref(task);
	g_main_context_pop_thread_default(context);
}

/* ---- memory ---- */

static void read_on(GTask *task, Op *op);

/* TRUE: there is more to read. */
static gboolean add_bytes(Op *op, GVariant *reply)
{
	gsize wanted = MIN(op->size - op->bytes->len, READ_MAX), got = 0;
	g_autoptr(GVariant) bytes = g_variant_get_child_value(reply, 0);
	const guint8 *data = g_variant_get_fixed_array(bytes, &got, 1);

	if (got)
		g_byte_array_append(op->bytes, data, (guint)MIN(got, wanted));
	return got >= wanted && op->bytes->len < op->size;
}

static void take_bytes(GTask *task, Op *op, GVariant *reply)
{
	if (add_bytes(op, reply))
		read_on(task, op);
	else
		g_task_return_pointer(task, g_byte_array_free_to_bytes(g_steal_pointer(&op->bytes)),
				      (GDestroyNotify)g_bytes_unref);
}

static void read_on(GTask *task, Op *op)
{
	gsize wanted = MIN(op->size - op->bytes->len, READ_MAX);
	GVariant *rest[] = {g_variant_new_uint64(op->address + op->bytes->len),
			    g_variant_new_uint32((guint32)wanted)};

	call(task, "EngineReadMemory", rest, 2);
}

void rs_trace_engine_read_async(RsTraceEngine *engine, guint64 address, gsize size,
				GCancellable *cancellable, GAsyncReadyCallback callback,
				gpointer data)
{
	Op *op;
	g_autoptr(GTask) task = begin(engine, cancellable, callback, data, &op);

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

static void return_view(GTask *task, Op *op)
{
	g_task_return_pointer(task, g_steal_pointer(&op->view),
			      (GDestroyNotify)rs_trace_engine_view_free);
}

static void take_code(GTask *task, Op *op, GVariant *reply)
{
	if (add_bytes(op, reply)) {
		read_on(task, op);
		return;
	}
	op->view->code = g_byte_array_free_to_bytes(g_steal_pointer(&op->bytes));
	return_view(task, op);
}

static void failed_code(GTask *task, Op *op, GError *error)
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

static void take_registers(GTask *task, Op *op, GVariant *reply)
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
	Op *op;
	g_autoptr(GTask) task = begin(engine, cancellable, callback, data, &op);

	op->take = take_registers;
	op->size = code;
	call(task, "EngineRegisters", NULL, 0);
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
	Op *op;
	g_autoptr(GTask) task = begin(engine, cancellable, callback, data, &op);
	guint64 values[RS_REGISTERS_MAX] = {0};
	GVariant *rest[2];

	g_return_if_fail(number < RS_REGISTERS_MAX);
	values[number] = value;
	rest[0] = numbers(values, number + 1);
	rest[1] = g_variant_new_uint64(1ull << number);
	op->take = take_done;
	call(task, "EngineSetRegisters", rest, 2);
}

void rs_trace_engine_set_call_async(RsTraceEngine *engine, guint64 number, const guint64 *arguments,
				    guint count, GCancellable *cancellable,
				    GAsyncReadyCallback callback, gpointer data)
{
	Op *op;
	g_autoptr(GTask) task = begin(engine, cancellable, callback, data, &op);
	GVariant *rest[] = {g_variant_new_uint64(number), numbers(arguments, count)};

	op->take = take_done;
	call(task, "EngineSetSyscall", rest, 2);
}

static void take_written(GTask *task, Op *op, GVariant *reply)
{
	g_autoptr(GVariant) written = g_variant_get_child_value(reply, 0);

	g_task_return_int(task, (gssize)g_variant_get_uint32(written));
}

void rs_trace_engine_write_async(RsTraceEngine *engine, guint64 address, GBytes *bytes,
				 GCancellable *cancellable, GAsyncReadyCallback callback,
				 gpointer data)
{
	Op *op;
	g_autoptr(GTask) task = begin(engine, cancellable, callback, data, &op);
	GVariant *rest[] = {g_variant_new_uint64(address),
			    g_variant_new_from_bytes(G_VARIANT_TYPE_BYTESTRING, bytes, TRUE)};

	op->take = take_written;
	call(task, "EngineWriteMemory", rest, 2);
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
	Op *op;
	g_autoptr(GTask) task = begin(engine, cancellable, callback, data, &op);
	GVariant *rest[] = {g_variant_new_string(fates[fate]), g_variant_new_uint32(number)};

	op->take = take_done;
	call(task, "EngineSetSignal", rest, 2);
}

void rs_trace_engine_set_exit_code_async(RsTraceEngine *engine, gint64 code,
					 GCancellable *cancellable, GAsyncReadyCallback callback,
					 gpointer data)
{
	Op *op;
	g_autoptr(GTask) task = begin(engine, cancellable, callback, data, &op);
	GVariant *rest[] = {g_variant_new_int64(code)};

	op->take = take_done;
	call(task, "EngineSetExitCode", rest, 1);
}

static void take_events(GTask *task, Op *op, GVariant *reply)
{
	RsTraceEngine *engine = g_task_get_source_object(task);

	engine->follow = op->follow;
	g_task_return_boolean(task, TRUE);
}

void rs_trace_engine_set_events_async(RsTraceEngine *engine, guint32 events, gboolean follow,
				      GCancellable *cancellable, GAsyncReadyCallback callback,
				      gpointer data)
{
	Op *op;
	g_autoptr(GTask) task = begin(engine, cancellable, callback, data, &op);
	GVariant *rest[] = {g_variant_new_uint32(events)};

	op->take = take_events;
	op->follow = follow;
	call(task, "EngineSetEvents", rest, 1);
}
