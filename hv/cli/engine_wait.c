/* SPDX-License-Identifier: MIT */
#include "cli/engine_wait.h"

#include <glib-unix.h>
#include <signal.h>

#define DETACH_MS 1000

static gboolean on_signal(gpointer data)
{
	g_cancellable_cancel(data);
	return G_SOURCE_CONTINUE;
}

void rs_cli_wait_init(struct rs_cli_wait *wait)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	wait->context = g_main_context_new();
	wait->cancellable = g_cancellable_new();
	for (size_t i = 0; i < G_N_ELEMENTS(signals); i++) {
		wait->signals[i] = g_unix_signal_source_new(signals[i]);
		g_source_set_callback(wait->signals[i], on_signal, wait->cancellable, NULL);
		g_source_attach(wait->signals[i], wait->context);
	}
}

void rs_cli_wait_deinit(struct rs_cli_wait *wait)
{
	for (size_t i = 0; i < G_N_ELEMENTS(wait->signals); i++) {
		g_source_destroy(wait->signals[i]);
		g_source_unref(wait->signals[i]);
	}
	g_object_unref(wait->cancellable);
	g_main_context_unref(wait->context);
}

gboolean rs_cli_wait_is_over(struct rs_cli_wait *wait)
{
	while (g_main_context_iteration(wait->context, FALSE))
		;
	return g_cancellable_is_cancelled(wait->cancellable);
}

/* ---- one call ---- */

struct call {
	GAsyncResult *result;
};

static void begin(struct rs_cli_wait *wait, struct call *call)
{
	*call = (struct call){0};
	g_main_context_push_thread_default(wait->context);
}

static void on_answer(GObject *object, GAsyncResult *result, gpointer data)
{
	struct call *call = data;

	call->result = g_object_ref(result);
}

/* Returns the answer, which end() unrefs. */
static GAsyncResult *answer(struct rs_cli_wait *wait, struct call *call)
{
	while (!call->result)
		g_main_context_iteration(wait->context, TRUE);
	return call->result;
}

static void end(struct rs_cli_wait *wait, struct call *call)
{
	g_main_context_pop_thread_default(wait->context);
	g_object_unref(call->result);
}

static gboolean finish(struct rs_cli_wait *wait, struct call *call, RsTraceEngine *engine,
		       GError **error)
{
	gboolean done = rs_trace_engine_finish(engine, answer(wait, call), error);

	end(wait, call);
	return done;
}

/* ---- all at once ---- */

struct detaching {
	guint refs, left;
	gboolean late;
};

static void put_detaching(struct detaching *detaching)
{
	if (!--detaching->refs)
		g_free(detaching);
}

static void on_detached(GObject *object, GAsyncResult *result, gpointer data)
{
	struct detaching *detaching = data;

	rs_trace_engine_finish(RS_TRACE_ENGINE(object), result, NULL);
	detaching->left--;
	put_detaching(detaching);
}

static gboolean on_late(gpointer data)
{
	*(gboolean *)data = TRUE;
	return G_SOURCE_CONTINUE;
}

void rs_cli_engine_detach_all(struct rs_cli_wait *wait, RsTraceEngines *engines)
{
	struct detaching *detaching = g_new0(struct detaching, 1);
	GSource *limit = g_timeout_source_new(DETACH_MS);

	detaching->refs = 1;
	g_source_set_callback(limit, on_late, &detaching->late, NULL);
	g_source_attach(limit, wait->context);
	g_main_context_push_thread_default(wait->context);
	for (guint i = 0; i < g_list_model_get_n_items(G_LIST_MODEL(engines)); i++) {
		g_autoptr(RsTraceEngine) engine = g_list_model_get_item(G_LIST_MODEL(engines), i);

		detaching->refs++;
		detaching->left++;
		rs_trace_engine_control_async(engine, RS_TRACE_ENGINE_DETACH, NULL, on_detached,
					      detaching);
	}
	g_main_context_pop_thread_default(wait->context);
	while (detaching->left && !detaching->late)
		g_main_context_iteration(wait->context, TRUE);
	g_source_destroy(limit);
	g_source_unref(limit);
	put_detaching(detaching);
}

/* ---- calls ---- */

GPtrArray *rs_cli_engine_threads(struct rs_cli_wait *wait, RsTraceEngines *engines, guint32 source,
				 GError **error)
{
	struct call call;
	GPtrArray *threads;

	begin(wait, &call);
	rs_trace_engines_threads_async(engines, source, wait->cancellable, on_answer, &call);
	threads = rs_trace_engines_threads_finish(engines, answer(wait, &call), error);
	end(wait, &call);
	return threads;
}

RsTraceEngine *rs_cli_engine_attach(struct rs_cli_wait *wait, RsTraceEngines *engines,
				    const RsTraceEngineThread *thread, guint32 events,
				    gboolean follow, GError **error)
{
	RsTraceEngine *engine;
	struct call call;

	begin(wait, &call);
	rs_trace_engines_attach_async(engines, thread, events, follow, wait->cancellable, on_answer,
				      &call);
	engine = rs_trace_engines_attach_finish(engines, answer(wait, &call), error);
	end(wait, &call);
	return engine;
}

gboolean rs_cli_engine_refresh(struct rs_cli_wait *wait, RsTraceEngines *engines, GError **error)
{
	struct call call;
	gboolean done;

	begin(wait, &call);
	rs_trace_engines_refresh_async(engines, wait->cancellable, on_answer, &call);
	done = rs_trace_engines_refresh_finish(engines, answer(wait, &call), error);
	end(wait, &call);
	return done;
}

gboolean rs_cli_engine_control(struct rs_cli_wait *wait, RsTraceEngine *engine,
			       RsTraceEngineAction action, GError **error)
{
	struct call call;

	begin(wait, &call);
	rs_trace_engine_control_async(engine, action, wait->cancellable, on_answer, &call);
	return finish(wait, &call, engine, error);
}

gboolean rs_cli_engine_step(struct rs_cli_wait *wait, RsTraceEngine *engine, guint64 steps,
			    gboolean to_branch, GError **error)
{
	struct call call;

	begin(wait, &call);
	rs_trace_engine_step_async(engine, steps, to_branch, wait->cancellable, on_answer, &call);
	return finish(wait, &call, engine, error);
}

RsTraceEngineView *rs_cli_engine_look(struct rs_cli_wait *wait, RsTraceEngine *engine, gsize code,
				      GError **error)
{
	RsTraceEngineView *view;
	struct call call;

	begin(wait, &call);
	rs_trace_engine_look_async(engine, code, wait->cancellable, on_answer, &call);
	view = rs_trace_engine_look_finish(engine, answer(wait, &call), error);
	end(wait, &call);
	return view;
}

GBytes *rs_cli_engine_read(struct rs_cli_wait *wait, RsTraceEngine *engine, guint64 address,
			   gsize size, GError **error)
{
	struct call call;
	GBytes *bytes;

	begin(wait, &call);
	rs_trace_engine_read_async(engine, address, size, wait->cancellable, on_answer, &call);
	bytes = rs_trace_engine_read_finish(engine, answer(wait, &call), error);
	end(wait, &call);
	return bytes;
}

gboolean rs_cli_engine_set(struct rs_cli_wait *wait, RsTraceEngine *engine, guint reg,
			   guint64 value, GError **error)
{
	struct call call;

	begin(wait, &call);
	rs_trace_engine_set_register_async(engine, reg, value, wait->cancellable, on_answer, &call);
	return finish(wait, &call, engine, error);
}

gboolean rs_cli_engine_set_call(struct rs_cli_wait *wait, RsTraceEngine *engine, guint64 number,
				const guint64 *arguments, guint count, GError **error)
{
	struct call call;

	begin(wait, &call);
	rs_trace_engine_set_call_async(engine, number, arguments, count, wait->cancellable,
				       on_answer, &call);
	return finish(wait, &call, engine, error);
}

gssize rs_cli_engine_write(struct rs_cli_wait *wait, RsTraceEngine *engine, guint64 address,
			   GBytes *bytes, GError **error)
{
	struct call call;
	gssize written;

	begin(wait, &call);
	rs_trace_engine_write_async(engine, address, bytes, wait->cancellable, on_answer, &call);
	written = rs_trace_engine_write_finish(engine, answer(wait, &call), error);
	end(wait, &call);
	return written;
}

gboolean rs_cli_engine_set_signal(struct rs_cli_wait *wait, RsTraceEngine *engine,
				  RsTraceEngineFate fate, guint number, GError **error)
{
	struct call call;

	begin(wait, &call);
	rs_trace_engine_set_signal_async(engine, fate, number, wait->cancellable, on_answer, &call);
	return finish(wait, &call, engine, error);
}

gboolean rs_cli_engine_set_exit_code(struct rs_cli_wait *wait, RsTraceEngine *engine, gint64 code,
				     GError **error)
{
	struct call call;

	begin(wait, &call);
	rs_trace_engine_set_exit_code_async(engine, code, wait->cancellable, on_answer, &call);
	return finish(wait, &call, engine, error);
}

/* It goes on following, or not to. */
gboolean rs_cli_engine_set_events(struct rs_cli_wait *wait, RsTraceEngine *engine, guint32 events,
				  GError **error)
{
	struct call call;

	begin(wait, &call);
	rs_trace_engine_set_events_async(engine, events, rs_trace_engine_get_follow(engine),
					 wait->cancellable, on_answer, &call);
	return finish(wait, &call, engine, error);
}
