/* SPDX-License-Identifier: MIT */
#include "rs-trace-document-private.h"
#include "rs-trace-fetcher-private.h"
#include "rs-trace-listener-private.h"
#include "rs-trace-loader-private.h"
#include "rs-trace-picker-private.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>

#define CALL_MS 30000 /* a batch of patches may take long */

struct _RsTraceDocument {
	GObject parent_instance;
	RsTraceDocumentState state;
	char *title;
	GStrv paths; /* NULL: of a session */
	RsTraceFiles *files;
	RsTracePulse *pulse;
	RsTraceTimeline *all;
	RsTraceFetcher *fetcher;   /* NULL: closed */
	RsTraceLoader *loader;     /* of files; NULL: closed */
	RsTraceListener *listener; /* of a session; likewise */
	gboolean is_live;
	GCancellable *cancellable;
	GDBusConnection *connection; /* of which `session` is made; NULL: none */
	RsDBusSession1 *session;     /* NULL: not connected */
	char *unreached;             /* why it is not, a sentence; NULL: it may come */
	RsTraceLoaderStatus status;  /* as it was last seen */
	RsTracePicker *filter;       /* NULL: none */
	RsTraceTimeline *shown;      /* of the filter */
	GError *filter_error;        /* NULL: none */
	GPtrArray *picks;            /* RsTracePicker, of timelines that somebody has */
};

enum { GROWN, CHANGED, ENDED, N_SIGNALS };
static guint signals[N_SIGNALS];

G_DEFINE_FINAL_TYPE(RsTraceDocument, rs_trace_document, G_TYPE_OBJECT)

/* ---- what threads tell ---- */

static gboolean is_other(char *const *a, char *const *b)
{
	return !g_strv_equal((const char *const *)a, (const char *const *)b);
}

static void status_clear(RsTraceLoaderStatus *status)
{
	g_clear_error(&status->error);
	g_clear_pointer(&status->remarks, g_strfreev);
}

static guint64 n_rows(RsTraceDocument *document)
{
	guint64 n;

	rs_trace_timeline_lock(document->all);
	n = rs_trace_timeline_n_rows(document->all);
	rs_trace_timeline_unlock(document->all);
	return n;
}

/* A trace that breaks off is shown as far as it could be read. */
static RsTraceDocumentState judge(RsTraceDocument *document)
{
	if (!document->status.has_ended)
		return document->connection ? RS_TRACE_DOCUMENT_LIVE : RS_TRACE_DOCUMENT_LOADING;
	return document->status.error && !n_rows(document) ? RS_TRACE_DOCUMENT_FAILED
							   : RS_TRACE_DOCUMENT_READY;
}

static void add_remark(RsTraceLoaderStatus *status, const char *text)
{
	GStrvBuilder *builder = g_strv_builder_new();

	g_strv_builder_addv(builder, (const char **)status->remarks);
	g_strv_builder_add(builder, text);
	g_strfreev(status->remarks);
	status->remarks = g_strv_builder_end(builder);
	g_strv_builder_unref(builder);
}

/* Returns whether something else is to be said of it. */
static gboolean take_status(RsTraceDocument *document)
{
	RsTraceLoaderStatus old = document->status;
	RsTraceDocumentState state = document->state;
	gboolean changed;

	if (document->loader)
		rs_trace_loader_status(document->loader, &document->status);
	else
		rs_trace_listener_status(document->listener, &document->status);
	document->state = judge(document);
	if (document->status.error && document->state == RS_TRACE_DOCUMENT_READY)
		add_remark(&document->status, document->status.error->message);
	if (document->unreached)
		add_remark(&document->status, document->unreached);
	changed = state != document->state || old.wall_ns != document->status.wall_ns ||
		  is_other(old.remarks, document->status.remarks);
	status_clear(&old);
	return changed;
}

static void on_session(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RsDBusSession1) session = rs_dbus_session1_proxy_new_finish(result, &error);
	g_autoptr(RsTraceDocument) document = data;

	if (!document->connection) /* it has gone meanwhile */
		return;
	if (!session) {
		document->unreached = g_strdup_printf(
			_("The session is shown, and cannot be controlled: %s"), error->message);
		rs_trace_pulse_beat(document->pulse);
		return;
	}
	g_dbus_proxy_set_default_timeout(G_DBUS_PROXY(session), CALL_MS);
	document->session = g_steal_pointer(&session);
	g_signal_emit(document, signals[CHANGED], 0);
}

/* The window's proxy is of the main thread, and shares the connection with the listener's. */
static gboolean take_connection(RsTraceDocument *document)
{
	g_autoptr(GDBusConnection) connection =
		document->listener ? rs_trace_listener_connection(document->listener) : NULL;

	if (!g_set_object(&document->connection, connection))
		return FALSE;
	g_clear_object(&document->session);
	g_clear_pointer(&document->unreached, g_free);
	if (connection)
		rs_dbus_session1_proxy_new(connection, G_DBUS_PROXY_FLAGS_NONE, NULL,
					   "/org/ringside/Session", document->cancellable,
					   on_session, g_object_ref(document));
	return TRUE;
}

/* Returns whether there is another one, or none any more. */
static gboolean take_filter_error(RsTraceDocument *document)
{
	g_autoptr(GError) old = g_steal_pointer(&document->filter_error);

	if (document->filter)
		document->filter_error = rs_trace_picker_error(document->filter);
	return g_strcmp0(old ? old->message : NULL,
			 document->filter_error ? document->filter_error->message : NULL) != 0;
}

/* Searches whose timeline nobody has any more. */
static void drop_picks(RsTraceDocument *document)
{
	for (guint i = document->picks->len; i-- > 0;)
		if (rs_trace_picker_is_alone(document->picks->pdata[i]))
			g_ptr_array_remove_index_fast(document->picks, i);
}

static void on_pulse(gpointer data)
{
	g_autoptr(RsTraceDocument) document = g_object_ref(data);
	const RsTraceDocumentState before = document->state;
	gboolean changed = take_connection(document);

	changed |= take_status(document);
	changed |= take_filter_error(document);
	drop_picks(document);
	g_signal_emit(document, signals[GROWN], 0);
	if (changed)
		g_signal_emit(document, signals[CHANGED], 0);
	if (before < RS_TRACE_DOCUMENT_READY && document->state >= RS_TRACE_DOCUMENT_READY)
		g_signal_emit(document, signals[ENDED], 0);
}

/* ---- what it is ---- */

RsTraceDocumentState rs_trace_document_state(RsTraceDocument *document)
{
	return document->state;
}

gboolean rs_trace_document_is_live(RsTraceDocument *document)
{
	return document->is_live;
}

RsDBusSession1 *rs_trace_document_session(RsTraceDocument *document)
{
	return document->session;
}

const char *const *rs_trace_document_paths(RsTraceDocument *document)
{
	return (const char *const *)document->paths;
}

const char *rs_trace_document_title(RsTraceDocument *document)
{
	return document->title;
}

double rs_trace_document_progress(RsTraceDocument *document)
{
	return document->status.progress;
}

const GError *rs_trace_document_error(RsTraceDocument *document)
{
	return document->state == RS_TRACE_DOCUMENT_FAILED ? document->status.error : NULL;
}

const char *const *rs_trace_document_remarks(RsTraceDocument *document)
{
	return (const char *const *)document->status.remarks;
}

guint64 rs_trace_document_wall_time(RsTraceDocument *document)
{
	return document->status.wall_ns;
}

RsTraceFiles *rs_trace_document_files(RsTraceDocument *document)
{
	return document->files;
}

RsTraceTimeline *rs_trace_document_all(RsTraceDocument *document)
{
	return document->all;
}

RsTraceTimeline *rs_trace_document_shown(RsTraceDocument *document)
{
	return document->shown ? document->shown : document->all;
}

/* ---- filters ---- */

/* Somebody may still have the timeline that was shown. Else its search ends. */
static void drop_filter(RsTraceDocument *document)
{
	if (!document->filter)
		return;
	g_ptr_array_add(document->picks, g_steal_pointer(&document->filter));
	g_clear_pointer(&document->shown, rs_trace_timeline_unref);
	g_clear_error(&document->filter_error);
	drop_picks(document);
}

gboolean rs_trace_document_set_filter(RsTraceDocument *document, const char *const *filters,
				      GError **error)
{
	RsTracePicker *picker = NULL;

	if (filters && *filters && document->fetcher) {
		picker = rs_trace_picker_new(filters, document->files, document->pulse, error);
		if (!picker)
			return FALSE;
	}
	drop_filter(document);
	document->filter = picker;
	document->shown = picker ? rs_trace_picker_begin(picker) : NULL;
	g_signal_emit(document, signals[CHANGED], 0);
	return TRUE;
}

const char *const *rs_trace_document_filter(RsTraceDocument *document)
{
	static const char *const none[] = {NULL};

	return document->filter ? rs_trace_picker_filters(document->filter) : none;
}

double rs_trace_document_filter_progress(RsTraceDocument *document)
{
	return document->filter ? rs_trace_picker_progress(document->filter) : 1;
}

const GError *rs_trace_document_filter_error(RsTraceDocument *document)
{
	return document->filter_error;
}

/* NULL: an error, or the document was closed: a search would have nobody who ends it. */
static RsTracePicker *new_pick(RsTraceDocument *document, const char *const *filters,
			       GError **error)
{
	RsTracePicker *picker;

	if (!document->fetcher) {
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_CLOSED, "the trace was closed");
		return NULL;
	}
	/* Values of a lane that is gone have the room that another one needs. */
	drop_picks(document);
	picker = rs_trace_picker_new(filters, document->files, document->pulse, error);
	if (picker)
		g_ptr_array_add(document->picks, picker);
	return picker;
}

RsTraceTimeline *rs_trace_document_pick(RsTraceDocument *document, const char *const *filters,
					GError **error)
{
	RsTracePicker *picker = new_pick(document, filters, error);

	if (!picker)
		return NULL;
	rs_trace_picker_wait_turn(picker);
	return rs_trace_picker_begin(picker);
}

RsTraceTimeline *rs_trace_document_pick_values(RsTraceDocument *document,
					       const char *const *filters, const char *field,
					       RsTraceValues **values, GError **error)
{
	RsTracePicker *picker = new_pick(document, filters, error);

	*values = NULL;
	if (!picker)
		return NULL;
	rs_trace_picker_wait_turn(picker);
	*values = rs_trace_values_new();
	rs_trace_picker_read_values(picker, field, *values);
	return rs_trace_picker_begin(picker);
}

RsTraceTimeline *rs_trace_document_search(RsTraceDocument *document, const char *filter,
					  const char *text, GError **error)
{
	const char *const filters[] = {filter, NULL};
	RsTracePicker *picker = new_pick(document, filters, error);

	if (!picker)
		return NULL;
	rs_trace_picker_narrow(picker, rs_trace_document_filter(document), text);
	return rs_trace_picker_begin(picker);
}

guint64 rs_trace_document_search_nth(RsTraceDocument *document, const RsTraceTimeline *timeline,
				     guint source, guint ring, guint64 index)
{
	for (guint i = 0; i < document->picks->len; i++)
		if (timeline == rs_trace_picker_timeline(document->picks->pdata[i]))
			return rs_trace_picker_nth(document->picks->pdata[i], source, ring, index);
	return 0;
}

double rs_trace_document_pick_progress(RsTraceDocument *document, const RsTraceTimeline *timeline,
				       GError **error)
{
	for (guint i = 0; i < document->picks->len; i++) {
		RsTracePicker *picker = document->picks->pdata[i];
		GError *why;

		if (timeline != rs_trace_picker_timeline(picker))
			continue;
		why = rs_trace_picker_error(picker);
		if (why)
			g_propagate_error(error, why);
		return rs_trace_picker_progress(picker);
	}
	return 1;
}

/* ---- rows ---- */

/* FALSE: it is not of this document. */
static gboolean find_selection(RsTraceDocument *document, const RsTraceTimeline *timeline,
			       RsTraceSelection **selection)
{
	*selection = NULL;
	if (timeline == document->all)
		return TRUE;
	if (timeline == document->shown)
		*selection = rs_trace_picker_select(document->filter);
	for (guint i = 0; i < document->picks->len && !*selection; i++)
		if (timeline == rs_trace_picker_timeline(document->picks->pdata[i]))
			*selection = rs_trace_picker_select(document->picks->pdata[i]);
	return !!*selection;
}

void rs_trace_document_read_async(RsTraceDocument *document, RsTraceTimeline *timeline,
				  const RsTraceTimelineRow *rows, guint n, gboolean with_details,
				  GCancellable *cancellable, GAsyncReadyCallback done,
				  gpointer data)
{
	g_autoptr(GTask) task = g_task_new(document, cancellable, done, data);
	RsTraceSelection *selection = NULL;

	g_task_set_source_tag(task, rs_trace_document_read_async);
	if (!document->fetcher)
		g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_CLOSED,
					"the trace was closed");
	else if (!find_selection(document, timeline, &selection))
		g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
					"these rows are not shown any more");
	else
		rs_trace_fetcher_read(document->fetcher, g_steal_pointer(&task), timeline,
				      selection, rows, n, with_details);
}

GPtrArray *rs_trace_document_read_finish(RsTraceDocument *document, GAsyncResult *result,
					 GError **error)
{
	g_return_val_if_fail(g_task_is_valid(result, document), NULL);
	return g_task_propagate_pointer(G_TASK(result), error);
}

/* ---- the document ---- */

void rs_trace_document_close(RsTraceDocument *document)
{
	rs_trace_pulse_stop(document->pulse);
	g_cancellable_cancel(document->cancellable);
	g_clear_pointer(&document->loader, rs_trace_loader_free);
	g_clear_pointer(&document->listener, rs_trace_listener_free);
	g_clear_object(&document->session);
	g_clear_object(&document->connection);
	g_clear_pointer(&document->fetcher, rs_trace_fetcher_free);
	g_ptr_array_set_size(document->picks, 0);
	g_clear_pointer(&document->filter, rs_trace_picker_free);
	g_clear_pointer(&document->shown, rs_trace_timeline_unref);
}

static void finalize(GObject *object)
{
	RsTraceDocument *document = RS_TRACE_DOCUMENT(object);

	rs_trace_document_close(document);
	g_ptr_array_unref(document->picks);
	g_object_unref(document->cancellable);
	rs_trace_files_unref(document->files);
	rs_trace_pulse_unref(document->pulse);
	rs_trace_timeline_unref(document->all);
	status_clear(&document->status);
	g_clear_error(&document->filter_error);
	g_free(document->title);
	g_strfreev(document->paths);
	g_free(document->unreached);
	G_OBJECT_CLASS(rs_trace_document_parent_class)->finalize(object);
}

static void rs_trace_document_class_init(RsTraceDocumentClass *class)
{
	static const char *const names[N_SIGNALS] = {"grown", "changed", "ended"};

	G_OBJECT_CLASS(class)->finalize = finalize;
	for (guint i = 0; i < N_SIGNALS; i++)
		signals[i] = g_signal_new(names[i], RS_TRACE_TYPE_DOCUMENT, G_SIGNAL_RUN_LAST, 0,
					  NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void picker_free(gpointer data)
{
	rs_trace_picker_free(data);
}

static void rs_trace_document_init(RsTraceDocument *document)
{
	document->cancellable = g_cancellable_new();
	document->files = rs_trace_files_new();
	document->pulse = rs_trace_pulse_new(on_pulse, document);
	document->all = rs_trace_timeline_new();
	document->picks = g_ptr_array_new_with_free_func(picker_free);
	document->status = (RsTraceLoaderStatus){.progress = -1, .remarks = g_new0(char *, 1)};
}

static char *make_title(const char *const *paths)
{
	GString *title = g_string_new(NULL);

	for (; *paths; paths++) {
		g_autofree char *name = g_filename_display_basename(*paths);

		g_string_append_printf(title, "%s%s", title->len ? ", " : "", name);
	}
	return g_string_free(title, FALSE);
}

RsTraceDocument *rs_trace_document_new(const char *const *paths)
{
	RsTraceDocument *document = g_object_new(RS_TRACE_TYPE_DOCUMENT, NULL);

	document->title = make_title(paths);
	document->paths = g_strdupv((char **)paths);
	document->loader =
		rs_trace_loader_new(paths, document->files, document->all, document->pulse);
	document->fetcher = rs_trace_fetcher_new(document->files);
	return document;
}

RsTraceDocument *rs_trace_document_new_live(const char *session)
{
	RsTraceDocument *document = g_object_new(RS_TRACE_TYPE_DOCUMENT, NULL);

	document->is_live = TRUE;
	document->title = rs_trace_escape(session, -1, NULL);
	document->listener =
		rs_trace_listener_new(session, document->files, document->all, document->pulse);
	document->fetcher = rs_trace_fetcher_new(document->files);
	return document;
}
