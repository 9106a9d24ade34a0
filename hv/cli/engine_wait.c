/* SPDX-License-Identifier: MIT */
#include "cli/engine_wait.h"

/* A context of its own, in which only the answer arrives. */
struct wait {
	GMainContext *context;
	GAsyncResult *result;
};

static void begin(struct wait *wait)
{
	*wait = (struct wait){.context = g_main_context_new()};
	g_main_context_push_thread_default(wait->context);
}

static void on_answer(GObject *object, GAsyncResult *result, gpointer data)
{
	struct wait *wait = data;

	wait->result = g_object_ref(result);
}

/* Returns the answer, which end() unrefs. */
static GAsyncResult *answer(struct wait *wait)
{
	while (!wait->result)
		g_main_context_iteration(wait->context, TRUE);
	return wait->result;
}

static void end(struct wait *wait)
{
	g_main_context_pop_thread_default(wait->context);
	g_main_context_unref(wait->context);
	g_object_unref(wait->result);
}

static gboolean finish(struct wait *wait, RsTraceEngine *engine, GError **error)
{
	gboolean done = rs_trace_engine_finish(engine, answer(wait), error);

	end(wait);
	return done;
}

GPtrArray *rs_cli_engine_threads(RsTraceEngines *engines, guint32 source, GError **error)
{
	struct wait wait;
	GPtrArray *threads;

	begin(&wait);
	rs_trace_engines_threads_async(engines, source, NULL, on_answer, &wait);
	threads = rs_trace_engines_threads_finish(engines, answer(&wait), error);
	end(&wait);
	return threads;
}

gboolean rs_cli_engine_attach(RsTraceEngines *engines, const RsTraceEngineThread *thread,
			      guint32 events, gboolean follow, GError **error)
{
	g_autoptr(RsTraceEngine) engine = NULL;
	struct wait wait;

	begin(&wait);
	rs_trace_engines_attach_async(engines, thread, events, follow, NULL, on_answer, &wait);
	engine = rs_trace_engines_attach_finish(engines, answer(&wait), error);
	end(&wait);
	return engine != NULL;
}

gboolean rs_cli_engine_refresh(RsTraceEngines *engines, GError **error)
{
	struct wait wait;
	gboolean done;

	begin(&wait);
	rs_trace_engines_refresh_async(engines, NULL, on_answer, &wait);
	done = rs_trace_engines_refresh_finish(engines, answer(&wait), error);
	end(&wait);
	return done;
}

gboolean rs_cli_engine_control(RsTraceEngine *engine, RsTraceEngineAction action, GError **error)
{
	struct wait wait;

	begin(&wait);
	rs_trace_engine_control_async(engine, action, NULL, on_answer, &wait);
	return finish(&wait, engine, error);
}

gboolean rs_cli_engine_step(RsTraceEngine *engine, guint64 steps, gboolean to_branch,
			    GError **error)
{
	struct wait wait;

	begin(&wait);
	rs_trace_engine_step_async(engine, steps, to_branch, NULL, on_answer, &wait);
	return finish(&wait, engine, error);
}

RsTraceEngineView *rs_cli_engine_look(RsTraceEngine *engine, gsize code, GError **error)
{
	RsTraceEngineView *view;
	struct wait wait;

	begin(&wait);
	rs_trace_engine_look_async(engine, code, NULL, on_answer, &wait);
	view = rs_trace_engine_look_finish(engine, answer(&wait), error);
	end(&wait);
	return view;
}

GBytes *rs_cli_engine_read(RsTraceEngine *engine, guint64 address, gsize size, GError **error)
{
	struct wait wait;
	GBytes *bytes;

	begin(&wait);
	rs_trace_engine_read_async(engine, address, size, NULL, on_answer, &wait);
	bytes = rs_trace_engine_read_finish(engine, answer(&wait), error);
	end(&wait);
	return bytes;
}

gboolean rs_cli_engine_set(RsTraceEngine *engine, guint reg, guint64 value, GError **error)
{
	struct wait wait;

	begin(&wait);
	rs_trace_engine_set_register_async(engine, reg, value, NULL, on_answer, &wait);
	return finish(&wait, engine, error);
}

gboolean rs_cli_engine_set_call(RsTraceEngine *engine, guint64 number, const guint64 *arguments,
				guint count, GError **error)
{
	struct wait wait;

	begin(&wait);
	rs_trace_engine_set_call_async(engine, number, arguments, count, NULL, on_answer, &wait);
	return finish(&wait, engine, error);
}

gssize rs_cli_engine_write(RsTraceEngine *engine, guint64 address, GBytes *bytes, GError **error)
{
	struct wait wait;
	gssize written;

	begin(&wait);
	rs_trace_engine_write_async(engine, address, bytes, NULL, on_answer, &wait);
	written = rs_trace_engine_write_finish(engine, answer(&wait), error);
	end(&wait);
	return written;
}

gboolean rs_cli_engine_set_signal(RsTraceEngine *engine, RsTraceEngineFate fate, guint number,
				  GError **error)
{
	struct wait wait;

	begin(&wait);
	rs_trace_engine_set_signal_async(engine, fate, number, NULL, on_answer, &wait);
	return finish(&wait, engine, error);
}

gboolean rs_cli_engine_set_exit_code(RsTraceEngine *engine, gint64 code, GError **error)
{
	struct wait wait;

	begin(&wait);
	rs_trace_engine_set_exit_code_async(engine, code, NULL, on_answer, &wait);
	return finish(&wait, engine, error);
}

/* It goes on following, or not to. */
gboolean rs_cli_engine_set_events(RsTraceEngine *engine, guint32 events, GError **error)
{
	struct wait wait;

	begin(&wait);
	rs_trace_engine_set_events_async(engine, events, rs_trace_engine_get_follow(engine), NULL,
					 on_answer, &wait);
	return finish(&wait, engine, error);
}
