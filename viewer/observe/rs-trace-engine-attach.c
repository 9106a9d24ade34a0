/* SPDX-License-Identifier: MIT */
/* The threads of guests, and engines that are attached to them. */
#include "rs-trace-engine-private.h"
#include "rs-trace-escape.h"

#include <string.h>

/* ---- threads ---- */

void rs_trace_engine_thread_free(RsTraceEngineThread *thread)
{
	if (!thread)
		return;
	g_free(thread->source);
	g_free(thread->comm);
	g_free(thread);
}

/* Escaped; empty: there is none. */
static char *read_text(GVariant *row, const char *key)
{
	const char *text = "";

	g_variant_lookup(row, key, "&s", &text);
	return rs_trace_escape(text, -1, NULL);
}

RsTraceEngineThread *rs_trace_engine_read_thread(GVariant *row, const char *id)
{
	RsTraceEngineThread *thread = g_new0(RsTraceEngineThread, 1);
	const char *state = "";

	g_variant_lookup(row, "source_number", "u", &thread->source_number);
	g_variant_lookup(row, id, "u", &thread->id);
	g_variant_lookup(row, "process", "u", &thread->process);
	g_variant_lookup(row, "parent", "u", &thread->parent);
	g_variant_lookup(row, "state", "&s", &state);
	thread->dead = !strcmp(state, "dead");
	thread->source = read_text(row, "source");
	thread->comm = read_text(row, "comm");
	return thread;
}

static void on_threads(GObject *proxy, GAsyncResult *result, gpointer data)
{
	g_autoptr(GTask) task = data;
	g_autoptr(GVariant) rows = NULL;
	GPtrArray *threads;
	GError *error = NULL;

	if (!rs_dbus_session1_call_threads_finish(RS_DBUS_SESSION1(proxy), &rows, NULL, result,
						  &error)) {
		rs_trace_client_fix_error(&error);
		g_task_return_error(task, error);
		return;
	}
	threads = g_ptr_array_new_with_free_func((GDestroyNotify)rs_trace_engine_thread_free);
	for (gsize i = 0; i < g_variant_n_children(rows); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);

		g_ptr_array_add(threads, rs_trace_engine_read_thread(row, "id"));
	}
	g_task_return_pointer(task, threads, (GDestroyNotify)g_ptr_array_unref);
}

void rs_trace_engines_threads_async(RsTraceEngines *engines, guint32 source,
				    GCancellable *cancellable, GAsyncReadyCallback callback,
				    gpointer data)
{
	GTask *task = g_task_new(engines, cancellable, callback, data);

	rs_dbus_session1_call_threads(engines->session, rs_trace_client_source(source), cancellable,
				      on_threads, task);
}

GPtrArray *rs_trace_engines_threads_finish(RsTraceEngines *engines, GAsyncResult *result,
					   GError **error)
{
	g_return_val_if_fail(g_task_is_valid(result, engines), NULL);
	return g_task_propagate_pointer(G_TASK(result), error);
}

/* ---- engines ---- */

/* Of the task of an attach. */
#define FOLLOW "follow"
#define EVENTS "events"

GVariant *rs_trace_engine_options(guint32 source, gboolean follow)
{
	GVariantBuilder options;

	g_variant_builder_init(&options, G_VARIANT_TYPE_VARDICT);
	if (source)
		g_variant_builder_add(&options, "{sv}", "source", g_variant_new_uint32(source));
	if (follow)
		g_variant_builder_add(&options, "{sv}", "follow", g_variant_new_boolean(TRUE));
	return g_variant_builder_end(&options);
}

/* What the session says of its thread; one of an older version says nothing of it. */
static void describe(RsTraceEngine *engine, GVariant *more)
{
	g_autoptr(RsTraceEngineThread) thread = rs_trace_engine_read_thread(more, "thread");

	if (thread->id)
		rs_trace_engine_describe(engine, thread);
}

static RsTraceEngineThread *copy_thread(const RsTraceEngineThread *thread)
{
	RsTraceEngineThread *copy = g_memdup2(thread, sizeof(*thread));

	copy->source = g_strdup(thread->source);
	copy->comm = g_strdup(thread->comm);
	return copy;
}

/* The list may have told of it already, even that it is gone. NULL: it is. */
static RsTraceEngine *attached(RsTraceEngines *engines, guint32 number,
			       const RsTraceEngineThread *thread)
{
	RsTraceEngine *engine = rs_trace_engines_by_number(engines, number);

	if (engine || engines->over ||
	    g_hash_table_contains(engines->known, GUINT_TO_POINTER(number)))
		return engine;
	return rs_trace_engines_add(engines, number, 0, thread);
}

static void on_attached(GObject *proxy, GAsyncResult *result, gpointer data)
{
	g_autoptr(GTask) task = data;
	RsTraceEngines *engines = g_task_get_source_object(task);
	g_autoptr(GVariant) more = NULL;
	RsTraceEngine *engine;
	GError *error = NULL;
	guint32 number;

	if (!rs_dbus_session1_call_engine_attach_finish(RS_DBUS_SESSION1(proxy), &number, &more,
							result, &error)) {
		rs_trace_client_fix_error(&error);
		g_task_return_error(task, error);
		return;
	}
	engine = attached(engines, number, g_task_get_task_data(task));
	if (engine) {
		describe(engine, more);
		engine->events = GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(task), EVENTS));
		engine->follow = GPOINTER_TO_INT(g_object_get_data(G_OBJECT(task), FOLLOW));
		g_task_return_pointer(task, g_object_ref(engine), g_object_unref);
	} else {
		g_task_return_new_error(task, RS_TRACE_SESSION_ERROR,
					RS_TRACE_SESSION_ERROR_NO_SUCH_THREAD,
					"the thread has died meanwhile");
	}
}

void rs_trace_engines_attach_async(RsTraceEngines *engines, const RsTraceEngineThread *thread,
				   guint32 events, gboolean follow, GCancellable *cancellable,
				   GAsyncReadyCallback callback, gpointer data)
{
	GTask *task = g_task_new(engines, cancellable, callback, data);

	g_task_set_task_data(task, copy_thread(thread),
			     (GDestroyNotify)rs_trace_engine_thread_free);
	g_object_set_data(G_OBJECT(task), EVENTS, GUINT_TO_POINTER(events));
	g_object_set_data(G_OBJECT(task), FOLLOW, GINT_TO_POINTER(follow));
	rs_dbus_session1_call_engine_attach(engines->session, thread->id, events,
					    rs_trace_engine_options(thread->source_number, follow),
					    cancellable, on_attached, task);
}

RsTraceEngine *rs_trace_engines_attach_finish(RsTraceEngines *engines, GAsyncResult *result,
					      GError **error)
{
	g_return_val_if_fail(g_task_is_valid(result, engines), NULL);
	return g_task_propagate_pointer(G_TASK(result), error);
}
