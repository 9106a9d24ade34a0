/* SPDX-License-Identifier: MIT */
/* What engines are asked, as calls of the session: each is a task, of one call or several. */
#include "rs-trace-engine-op-private.h"

void rs_trace_engine_view_free(RsTraceEngineView *view)
{
	if (!view)
		return;
	g_clear_pointer(&view->code, g_bytes_unref);
	g_free(view);
}

static void free_op(gpointer data)
{
	RsTraceEngineOp *op = data;

	g_clear_pointer(&op->bytes, g_byte_array_unref);
	g_clear_pointer(&op->view, rs_trace_engine_view_free);
	g_free(op);
}

/* ---- a task and its calls ---- */

GTask *rs_trace_engine_begin(RsTraceEngine *engine, GCancellable *cancellable,
			     GAsyncReadyCallback callback, gpointer data, RsTraceEngineOp **op)
{
	GTask *task = g_task_new(engine, cancellable, callback, data);

	*op = g_new0(RsTraceEngineOp, 1);
	(*op)->stop = engine->stop.number;
	g_task_set_task_data(task, *op, free_op);
	return task;
}

static void on_reply(GObject *proxy, GAsyncResult *result, gpointer data)
{
	g_autoptr(GVariant) reply = NULL;
	g_autoptr(GTask) task = data;
	RsTraceEngineOp *op = g_task_get_task_data(task);
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

static RsTraceEngineOp *op_of(GTask *task)
{
	return g_task_get_task_data(task);
}

void rs_trace_engine_call(GTask *task, const char *method, GVariant **rest, gsize count)
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

void rs_trace_engine_take_done(GTask *task, RsTraceEngineOp *op, GVariant *reply)
{
	g_task_return_boolean(task, TRUE);
}

gboolean rs_trace_engine_finish(RsTraceEngine *engine, GAsyncResult *result, GError **error)
{
	g_return_val_if_fail(g_task_is_valid(result, engine), FALSE);
	return g_task_propagate_boolean(G_TASK(result), error);
}

/* ---- control and steps ---- */

static void take_control(GTask *task, RsTraceEngineOp *op, GVariant *reply)
{
	RsTraceEngine *engine = g_task_get_source_object(task);

	/* It may be gone by now, or have stopped once more. */
	if (engine->state != RS_TRACE_ENGINE_GONE && op->stop == engine->stop.number) {
		engine->steps = op->steps;
		engine->to_branch = op->to_branch;
		engine->stopping = FALSE;
		rs_trace_engine_set_state(engine, op->after);
	}
	if (op->after == RS_TRACE_ENGINE_GONE) {
		rs_trace_engine_set_state(engine, op->after);
		if (engine->owner)
			rs_trace_engines_drop(engine->owner, engine);
	}
	g_task_return_boolean(task, TRUE);
}

static void control(GTask *task, RsTraceEngineOp *op, const char *action)
{
	GVariant *rest[] = {g_variant_new_string(action)};

	if (!op->take)
		op->take = take_control;
	rs_trace_engine_call(task, "EngineControl", rest, 1);
}

/* The end of a thread that has died is still to be told. */
static void failed_stop(GTask *task, RsTraceEngineOp *op, GError *error)
{
	RsTraceEngine *engine = g_task_get_source_object(task);

	if (!g_error_matches(error, RS_TRACE_SESSION_ERROR, RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD))
		engine->stopping = FALSE;
	g_task_return_error(task, error);
}

static void ask_stop(RsTraceEngine *engine, RsTraceEngineOp *op)
{
	engine->stopping = engine->state == RS_TRACE_ENGINE_RUNNING;
	op->take = rs_trace_engine_take_done;
	op->failed = failed_stop;
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
	RsTraceEngineOp *op;
	g_autoptr(GTask) task = rs_trace_engine_begin(engine, cancellable, callback, data, &op);

	rs_trace_engine_end_steps(engine);
	if (action == RS_TRACE_ENGINE_STOP || action == RS_TRACE_ENGINE_INTERRUPT)
		ask_stop(engine, op);
	else
		op->after = action == RS_TRACE_ENGINE_DETACH ? RS_TRACE_ENGINE_GONE
							     : RS_TRACE_ENGINE_RUNNING;
	control(task, op, actions[action]);
}

static void step(RsTraceEngine *engine, guint64 steps, gboolean to_branch, GTask *task,
		 RsTraceEngineOp *op)
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
	RsTraceEngineOp *op;
	g_autoptr(GTask) task = rs_trace_engine_begin(engine, cancellable, callback, data, &op);

	step(engine, steps, to_branch, task, op);
}

/* The thread stays where it is, and shows it. */
static void failed_step_on(GTask *task, RsTraceEngineOp *op, GError *error)
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
	RsTraceEngineOp *op;

	g_main_context_push_thread_default(context);
	task = rs_trace_engine_begin(engine, NULL, NULL, NULL, &op);
	op->take = rs_trace_engine_take_done;
	op->failed = failed_step_on;
	step(engine, engine->steps, engine->to_branch, task, op);
	g_object_unref(task);
	g_main_context_pop_thread_default(context);
}
