/* SPDX-License-Identifier: MIT */
#include "rs-trace-watch.h"

#include <string.h>

struct _RsTraceWatch {
	RsTraceWatchConfig config;
	RsDBusSession1 *session;
	GHashTable *ends;   /* names of sources whose end was told */
	GHashTable *panics; /* a source's number → how many are known */
	GHashTable *told;   /* a source's number → its number at the callee + 1; 0: it is gone */
	RsTraceFrom from;
	guint32 changes; /* the session's count of changes of sources, as last told */
	gboolean several;
	GSource *late; /* calls over() for a session that had ended before; NULL: none */
};

static void tell_gone(RsTraceWatch *watch, gpointer number)
{
	gint told = GPOINTER_TO_INT(g_hash_table_lookup(watch->told, number));

	if (!told)
		return;
	g_hash_table_insert(watch->told, number, GINT_TO_POINTER(0));
	watch->config.gone(told - 1, watch->config.data);
}

static void tell_come(RsTraceWatch *watch, const RsTraceClientSource *source)
{
	gpointer number = GUINT_TO_POINTER(source->number);
	/* The source may have gone by now. Then there is nothing to show. */
	RsTraceRegion *region = rs_trace_client_open_region(watch->session, source->number, NULL);
	gint told = -1;

	if (region)
		told = watch->config.come(source, region, watch->from, watch->config.data);
	g_hash_table_insert(watch->told, number, GINT_TO_POINTER(told + 1));
}

static gboolean is_listed(const GPtrArray *list, gpointer number)
{
	for (guint i = 0; i < list->len; i++)
		if (((const RsTraceClientSource *)list->pdata[i])->number ==
		    GPOINTER_TO_UINT(number))
			return TRUE;
	return FALSE;
}

/* Sources that are not in the list any more have gone. Their regions may be laid out anew. */
static void drop_gone(RsTraceWatch *watch, const GPtrArray *list)
{
	g_autoptr(GList) numbers = g_hash_table_get_keys(watch->told);

	for (const GList *at = numbers; at; at = at->next) {
		if (is_listed(list, at->data))
			continue;
		tell_gone(watch, at->data);
		g_hash_table_remove(watch->told, at->data);
		g_hash_table_remove(watch->panics, at->data);
	}
}

static void tell_several(RsTraceWatch *watch, const GPtrArray *list)
{
	guint reported = 0;

	for (guint i = 0; i < list->len; i++)
		reported += strcmp(((const RsTraceClientSource *)list->pdata[i])->state,
				   "waiting") != 0;
	if (reported < 2 || watch->several)
		return;
	watch->several = TRUE;
	if (watch->config.several)
		watch->config.several(watch->config.data);
}

static void tell_end(RsTraceWatch *watch, const char *name, const char *reason)
{
	if (*reason && watch->config.ended && g_hash_table_add(watch->ends, g_strdup(name)))
		watch->config.ended(name, reason, watch->config.data);
}

/* Those before we came are no news. */
static void tell_panics(RsTraceWatch *watch, const RsTraceClientSource *source)
{
	gpointer number = GUINT_TO_POINTER(source->number), known;

	if (g_hash_table_lookup_extended(watch->panics, number, NULL, &known) &&
	    GPOINTER_TO_UINT(known) != source->panics && watch->config.panicked)
		watch->config.panicked(source->name, watch->config.data);
	g_hash_table_insert(watch->panics, number, GUINT_TO_POINTER(source->panics));
}

static void look(RsTraceWatch *watch)
{
	g_autoptr(GPtrArray) list = rs_trace_client_sources(watch->session, NULL);

	if (!list)
		return;
	drop_gone(watch, list);
	tell_several(watch, list);
	for (guint i = 0; i < list->len; i++) {
		const RsTraceClientSource *source = list->pdata[i];
		gpointer number = GUINT_TO_POINTER(source->number);

		if (!g_hash_table_contains(watch->told, number))
			tell_come(watch, source);
		tell_panics(watch, source);
		tell_end(watch, source->name, source->end);
		/*
		 * When the last source ends that did not join, so does the session. Then over()
		 * says how, and sources must not be gone before.
		 */
		if (source->joined && strcmp(source->state, "ended") == 0)
			tell_gone(watch, number);
	}
}

static void on_changed(RsDBusSession1 *session, guint generation, GVariant *more, gpointer data)
{
	RsTraceWatch *watch = data;
	guint32 changes = 0;

	g_variant_lookup(more, "sources", "u", &changes);
	if (changes == watch->changes)
		return;
	/* The end is next. To ask now would break the connection before it is read. */
	if (rs_trace_client_is_closing(session))
		return;
	watch->changes = changes;
	look(watch);
}

static void stop_listening(RsTraceWatch *watch)
{
	g_signal_handlers_disconnect_by_data(watch->session, watch);
	g_signal_handlers_disconnect_by_data(
		g_dbus_proxy_get_connection(G_DBUS_PROXY(watch->session)), watch);
	if (!watch->late)
		return;
	g_source_destroy(watch->late);
	g_clear_pointer(&watch->late, g_source_unref);
}

/* Last, as over() may free the watch. */
static void tell_over(RsTraceWatch *watch, const RsTraceWatchEnd *end)
{
	stop_listening(watch);
	watch->config.over(end, watch->config.data);
}

static void on_ended(RsDBusSession1 *session, const char *reason, int code, const char *text,
		     GVariant *more, gpointer data)
{
	RsTraceWatchEnd end = {.reason = reason, .code = code, .text = text, .source = ""};

	g_variant_lookup(more, "source", "&s", &end.source);
	tell_end(data, end.source, reason);
	tell_over(data, &end);
}

static void on_closed(GDBusConnection *connection, gboolean by_peer, GError *error, gpointer data)
{
	tell_over(data, NULL);
}

static gboolean on_late(gpointer data)
{
	tell_over(data, NULL);
	return G_SOURCE_REMOVE;
}

static void listen(RsTraceWatch *watch)
{
	GDBusConnection *connection = g_dbus_proxy_get_connection(G_DBUS_PROXY(watch->session));
	g_autofree char *state = rs_dbus_session1_dup_state(watch->session);

	g_signal_connect(watch->session, "changed", G_CALLBACK(on_changed), watch);
	g_signal_connect(watch->session, "ended", G_CALLBACK(on_ended), watch);
	g_signal_connect(connection, "closed", G_CALLBACK(on_closed), watch);
	if (!g_dbus_connection_is_closed(connection) && g_strcmp0(state, "ended"))
		return;
	watch->late = g_idle_source_new();
	g_source_set_callback(watch->late, on_late, watch, NULL);
	g_source_attach(watch->late, g_main_context_get_thread_default());
}

RsTraceWatch *rs_trace_watch_new(RsDBusSession1 *session, RsTraceFrom from,
				 const RsTraceWatchConfig *config)
{
	RsTraceWatch *watch = g_new0(RsTraceWatch, 1);

	watch->config = *config;
	watch->session = session;
	watch->from = from;
	watch->ends = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	watch->panics = g_hash_table_new(NULL, NULL);
	watch->told = g_hash_table_new(NULL, NULL);
	listen(watch);
	look(watch);
	watch->from = RS_TRACE_FROM_START;
	return watch;
}

void rs_trace_watch_free(RsTraceWatch *watch)
{
	if (!watch)
		return;
	stop_listening(watch);
	g_hash_table_unref(watch->ends);
	g_hash_table_unref(watch->panics);
	g_hash_table_unref(watch->told);
	g_free(watch);
}
