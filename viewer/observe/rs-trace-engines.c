/* SPDX-License-Identifier: MIT */
#include "rs-trace-engine-private.h"

#include <string.h>

static void list_model_init(GListModelInterface *iface);
G_DEFINE_FINAL_TYPE_WITH_CODE(RsTraceEngines, rs_trace_engines, G_TYPE_OBJECT,
			      G_IMPLEMENT_INTERFACE(G_TYPE_LIST_MODEL, list_model_init))

enum { ATTACHED, STOPPED, GONE, OVER, N_SIGNALS };
static guint signals[N_SIGNALS];

/* ---- the list ---- */

static GType get_item_type(GListModel *model)
{
	return RS_TRACE_TYPE_ENGINE;
}

static guint get_n_items(GListModel *model)
{
	return RS_TRACE_ENGINES(model)->list->len;
}

static gpointer get_item(GListModel *model, guint at)
{
	RsTraceEngines *engines = RS_TRACE_ENGINES(model);

	return at < engines->list->len ? g_object_ref(engines->list->pdata[at]) : NULL;
}

static void list_model_init(GListModelInterface *iface)
{
	iface->get_item_type = get_item_type;
	iface->get_n_items = get_n_items;
	iface->get_item = get_item;
}

RsTraceEngine *rs_trace_engines_by_number(RsTraceEngines *engines, guint32 number)
{
	for (guint i = 0; i < engines->list->len; i++) {
		RsTraceEngine *engine = engines->list->pdata[i];

		if (engine->number == number)
			return engine;
	}
	return NULL;
}

RsTraceEngine *rs_trace_engines_add(RsTraceEngines *engines, guint32 number, guint32 followed,
				    const RsTraceEngineThread *thread)
{
	RsTraceEngine *engine = rs_trace_engine_new(engines, engines->session, number);
	RsTraceEngine *maker = followed ? rs_trace_engines_by_number(engines, followed) : NULL;

	/* Those of one that is gone already are not known. */
	if (followed)
		engine->events = maker ? maker->events : RS_UTRACE_EVENT_ALL;
	engine->since = engines->asked + 1;
	rs_trace_engine_describe(engine, thread);
	engine->followed = followed;
	engine->follow = followed != 0;
	g_hash_table_add(engines->known, GUINT_TO_POINTER(number));
	g_ptr_array_add(engines->list, engine);
	g_list_model_items_changed(G_LIST_MODEL(engines), engines->list->len - 1, 0, 1);
	g_signal_emit(engines, signals[ATTACHED], 0, engine);
	return engine;
}

void rs_trace_engines_drop(RsTraceEngines *engines, RsTraceEngine *engine)
{
	guint at;

	if (!g_ptr_array_find(engines->list, engine, &at))
		return;
	g_ptr_array_remove_index(engines->list, at);
	g_list_model_items_changed(G_LIST_MODEL(engines), at, 1, 0);
}

void rs_trace_engines_tell_stop(RsTraceEngines *engines, RsTraceEngine *engine)
{
	engine->stop.order = ++engines->stops;
	rs_trace_engine_set_state(engine, RS_TRACE_ENGINE_STOPPED);
	g_signal_emit(engines, signals[STOPPED], 0, engine);
}

static void tell_gone(RsTraceEngines *engines, RsTraceEngine *engine)
{
	g_autoptr(RsTraceEngine) held = g_object_ref(engine);

	if (held->state == RS_TRACE_ENGINE_GONE)
		return;
	rs_trace_engine_set_state(held, RS_TRACE_ENGINE_GONE);
	rs_trace_engines_drop(engines, held);
	g_signal_emit(engines, signals[GONE], 0, held);
}

/* ---- what the session says ---- */

/* Handlers may change the list: an engine may be gone from it at any time. */
static void take_row(RsTraceEngines *engines, GVariant *row, GHashTable *seen)
{
	g_autoptr(RsTraceEngine) engine = NULL;
	const char *state = "";
	guint32 number = 0, followed = 0;

	g_variant_lookup(row, "engine", "u", &number);
	g_variant_lookup(row, "state", "&s", &state);
	g_variant_lookup(row, "follows", "u", &followed);
	g_set_object(&engine, rs_trace_engines_by_number(engines, number));
	/* One that is attached right now may be here before its answer is. */
	if (!engine && strcmp(state, "gone") != 0 &&
	    !g_hash_table_contains(engines->known, GUINT_TO_POINTER(number))) {
		g_autoptr(RsTraceEngineThread) thread = rs_trace_engine_read_thread(row, "thread");

		g_set_object(&engine, rs_trace_engines_add(engines, number, followed, thread));
	}
	if (!engine || engine->state == RS_TRACE_ENGINE_GONE)
		return;
	g_hash_table_add(seen, GUINT_TO_POINTER(number));
	g_variant_lookup(row, "refused", "u", &engine->refused);
	if (!strcmp(state, "gone"))
		tell_gone(engines, engine);
	else if (strcmp(state, "stopped") != 0)
		rs_trace_engine_set_state(engine, RS_TRACE_ENGINE_RUNNING);
	else if (rs_trace_engine_take_stop(engine, row))
		rs_trace_engines_tell_stop(engines, engine);
}

static gpointer hold(gconstpointer engine, gpointer data)
{
	return g_object_ref((gpointer)engine);
}

/* One that is gone is told once only, and may have been so to an answer that came too late. */
static void drop_unseen(RsTraceEngines *engines, GHashTable *seen, guint64 asked)
{
	g_autoptr(GPtrArray) all = g_ptr_array_copy(engines->list, hold, NULL);

	g_ptr_array_set_free_func(all, g_object_unref);
	for (guint i = 0; i < all->len; i++) {
		RsTraceEngine *engine = all->pdata[i];

		if (engine->since <= asked &&
		    !g_hash_table_contains(seen, GUINT_TO_POINTER(engine->number)))
			tell_gone(engines, engine);
	}
}

/* `asked`: its number. An answer that a newer one has overtaken says nothing any more. */
static void take_list(RsTraceEngines *engines, GVariant *rows, guint64 asked)
{
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

	if (asked < engines->taken || engines->over)
		return;
	engines->taken = asked;
	for (gsize i = 0; i < g_variant_n_children(rows); i++) {
		g_autoptr(GVariant) row = g_variant_get_child_value(rows, i);

		take_row(engines, row, seen);
	}
	drop_unseen(engines, seen, asked);
}

static void on_list(GObject *proxy, GAsyncResult *result, gpointer data)
{
	g_autoptr(GTask) task = data;
	RsTraceEngines *engines = g_task_get_source_object(task);
	const guint64 *asked = g_task_get_task_data(task);
	g_autoptr(GVariant) rows = NULL;
	GError *error = NULL;

	if (!rs_dbus_session1_call_engine_list_finish(RS_DBUS_SESSION1(proxy), &rows, NULL, result,
						      &error)) {
		rs_trace_client_fix_error(&error);
		g_task_return_error(task, error);
		return;
	}
	take_list(engines, rows, *asked);
	g_task_return_boolean(task, TRUE);
}

void rs_trace_engines_refresh_async(RsTraceEngines *engines, GCancellable *cancellable,
				    GAsyncReadyCallback callback, gpointer data)
{
	GTask *task = g_task_new(engines, cancellable, callback, data);

	engines->asked++;
	g_task_set_task_data(task, g_memdup2(&engines->asked, sizeof(engines->asked)), g_free);
	rs_dbus_session1_call_engine_list(engines->session, rs_trace_client_no_options(),
					  cancellable, on_list, task);
}

gboolean rs_trace_engines_refresh_finish(RsTraceEngines *engines, GAsyncResult *result,
					 GError **error)
{
	g_return_val_if_fail(g_task_is_valid(result, engines), FALSE);
	return g_task_propagate_boolean(G_TASK(result), error);
}

/* ---- signals of the session ---- */

static void follow(RsTraceEngines *engines);

/* A session that does not answer now says later that something has changed, or is over. */
static void on_refreshed(GObject *object, GAsyncResult *result, gpointer data)
{
	RsTraceEngines *engines = RS_TRACE_ENGINES(object);

	rs_trace_engines_refresh_finish(engines, result, NULL);
	engines->refreshing = FALSE;
	if (engines->again)
		follow(engines);
}

static void follow(RsTraceEngines *engines)
{
	engines->again = engines->refreshing;
	if (engines->refreshing || engines->over)
		return;
	engines->refreshing = TRUE;
	rs_trace_engines_refresh_async(engines, NULL, on_refreshed, NULL);
}

static void on_changed(RsDBusSession1 *session, guint generation, GVariant *more, gpointer data)
{
	follow(data);
}

static void tell_over(RsTraceEngines *engines, const char *reason, int code, const char *text)
{
	g_autoptr(RsTraceEngines) held = g_object_ref(engines);
	g_autoptr(GPtrArray) list = NULL;

	if (held->over)
		return;
	held->over = TRUE;
	list = g_steal_pointer(&held->list);
	held->list = g_ptr_array_new_with_free_func(g_object_unref);
	for (guint i = 0; i < list->len; i++)
		rs_trace_engine_set_state(list->pdata[i], RS_TRACE_ENGINE_GONE);
	g_list_model_items_changed(G_LIST_MODEL(held), 0, list->len, 0);
	g_signal_emit(held, signals[OVER], 0, reason, code, text);
}

static void on_ended(RsDBusSession1 *session, const char *reason, int code, const char *text,
		     GVariant *more, gpointer data)
{
	tell_over(data, reason, code, text);
}

static void on_closed(GDBusConnection *connection, gboolean by_peer, GError *error, gpointer data)
{
	tell_over(data, NULL, 0, "");
}

static gboolean on_late(gpointer data)
{
	RsTraceEngines *engines = data;

	g_clear_pointer(&engines->late, g_source_unref);
	tell_over(engines, NULL, 0, "");
	return G_SOURCE_REMOVE;
}

static void listen(RsTraceEngines *engines)
{
	GDBusConnection *connection = g_dbus_proxy_get_connection(G_DBUS_PROXY(engines->session));

	g_signal_connect(engines->session, "changed", G_CALLBACK(on_changed), engines);
	g_signal_connect(engines->session, "ended", G_CALLBACK(on_ended), engines);
	engines->closed = g_signal_connect(connection, "closed", G_CALLBACK(on_closed), engines);
	if (!g_dbus_connection_is_closed(connection))
		return;
	engines->late = g_idle_source_new();
	g_source_set_callback(engines->late, on_late, engines, NULL);
	g_source_attach(engines->late, engines->context);
}

/* ---- the object ---- */

static void dispose(GObject *object)
{
	RsTraceEngines *engines = RS_TRACE_ENGINES(object);

	if (engines->late) {
		g_source_destroy(engines->late);
		g_clear_pointer(&engines->late, g_source_unref);
	}
	if (engines->session) {
		g_signal_handlers_disconnect_by_data(engines->session, engines);
		g_clear_signal_handler(&engines->closed,
				       g_dbus_proxy_get_connection(G_DBUS_PROXY(engines->session)));
	}
	for (guint i = 0; i < engines->list->len; i++)
		rs_trace_engine_control_async(engines->list->pdata[i], RS_TRACE_ENGINE_DETACH, NULL,
					      NULL, NULL);
	g_ptr_array_set_size(engines->list, 0);
	g_clear_object(&engines->session);
	G_OBJECT_CLASS(rs_trace_engines_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	RsTraceEngines *engines = RS_TRACE_ENGINES(object);

	g_ptr_array_unref(engines->list);
	g_hash_table_unref(engines->known);
	g_clear_pointer(&engines->context, g_main_context_unref);
	G_OBJECT_CLASS(rs_trace_engines_parent_class)->finalize(object);
}

static guint new_signal(const char *name)
{
	return g_signal_new(name, RS_TRACE_TYPE_ENGINES, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
			    G_TYPE_NONE, 1, RS_TRACE_TYPE_ENGINE);
}

static void rs_trace_engines_class_init(RsTraceEnginesClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
	signals[ATTACHED] = new_signal("attached");
	signals[STOPPED] = new_signal("stopped");
	signals[GONE] = new_signal("gone");
	signals[OVER] =
		g_signal_new("over", RS_TRACE_TYPE_ENGINES, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
			     G_TYPE_NONE, 3, G_TYPE_STRING, G_TYPE_INT, G_TYPE_STRING);
}

static void rs_trace_engines_init(RsTraceEngines *engines)
{
	engines->list = g_ptr_array_new_with_free_func(g_object_unref);
	engines->known = g_hash_table_new(NULL, NULL);
}

RsTraceEngines *rs_trace_engines_new(RsDBusSession1 *session)
{
	RsTraceEngines *engines = g_object_new(RS_TRACE_TYPE_ENGINES, NULL);

	engines->context = g_main_context_ref_thread_default();
	engines->session = g_object_ref(session);
	rs_trace_session_error_quark();
	listen(engines);
	return engines;
}

/* ---- which of them ---- */

RsTraceEngine *rs_trace_engines_find(RsTraceEngines *engines, guint32 source, guint32 thread)
{
	for (guint i = 0; i < engines->list->len; i++) {
		RsTraceEngine *engine = engines->list->pdata[i];

		if (engine->thread == thread && (!source || engine->source_number == source))
			return engine;
	}
	return NULL;
}

RsTraceEngine *rs_trace_engines_first_stopped(RsTraceEngines *engines)
{
	RsTraceEngine *first = NULL;

	for (guint i = 0; i < engines->list->len; i++) {
		RsTraceEngine *engine = engines->list->pdata[i];

		if (engine->state == RS_TRACE_ENGINE_STOPPED &&
		    (!first || engine->stop.order < first->stop.order))
			first = engine;
	}
	return first;
}
