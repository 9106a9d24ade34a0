/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-page.h"

#include <glib/gi18n.h>
#include <rs-trace-client.h>
#include <rs-trace-escape.h>

struct _RsViewerPage {
	AdwBin parent;
	GSimpleActionGroup *actions;
	GCancellable *cancellable;
	RsTraceDocument *document; /* NULL: a session */
	GtkWidget *waiting;        /* one of the three is shown */
	AdwStatusPage *content, *error;
	char *title;
	gboolean loading;
};

G_DEFINE_FINAL_TYPE(RsViewerPage, rs_viewer_page, ADW_TYPE_BIN)

enum { PROP_TITLE = 1, PROP_LOADING, N_PROPERTIES };
static GParamSpec *properties[N_PROPERTIES];

/* ---- what is open ---- */

static void set_loading(RsViewerPage *page, gboolean loading)
{
	if (page->loading == loading)
		return;
	page->loading = loading;
	g_object_notify_by_pspec(G_OBJECT(page), properties[PROP_LOADING]);
}

static void set_title(RsViewerPage *page, const char *title)
{
	g_autofree char *plain = rs_trace_escape(title, -1, NULL);

	if (g_strcmp0(page->title, plain) == 0)
		return;
	g_free(page->title);
	page->title = g_steal_pointer(&plain);
	adw_status_page_set_title(page->content, page->title);
	g_object_notify_by_pspec(G_OBJECT(page), properties[PROP_TITLE]);
}

static void show_error(RsViewerPage *page, const GError *error)
{
	g_autofree char *text = rs_trace_escape(error->message, -1, "\n");
	g_autofree char *markup = g_markup_escape_text(text, -1);

	adw_status_page_set_description(page->error, markup);
}

static void show_state(RsViewerPage *page, gboolean waiting, const GError *error)
{
	if (error)
		show_error(page, error);
	gtk_widget_set_visible(page->waiting, waiting);
	gtk_widget_set_visible(GTK_WIDGET(page->error), error != NULL);
	gtk_widget_set_visible(GTK_WIDGET(page->content), !waiting && !error);
}

/* ---- files ---- */

static void document_grown(RsViewerPage *page)
{
	RsTraceTimeline *timeline = rs_trace_document_all(page->document);
	g_autofree char *text = NULL;
	guint64 n;

	rs_trace_timeline_lock(timeline);
	n = rs_trace_timeline_n_rows(timeline);
	rs_trace_timeline_unlock(timeline);
	text = g_strdup_printf(
		ngettext("%" G_GUINT64_FORMAT " event", "%" G_GUINT64_FORMAT " events", (gulong)n),
		n);
	adw_status_page_set_description(page->content, text);
}

static void document_changed(RsViewerPage *page)
{
	RsTraceDocumentState state = rs_trace_document_state(page->document);

	set_title(page, rs_trace_document_title(page->document));
	set_loading(page, state == RS_TRACE_DOCUMENT_LOADING);
	show_state(page, FALSE, rs_trace_document_error(page->document));
	document_grown(page);
}

GtkWidget *rs_viewer_page_new(const char *const *paths)
{
	RsViewerPage *page = g_object_new(RS_VIEWER_TYPE_PAGE, NULL);

	page->document = rs_trace_document_new(paths);
	g_signal_connect_object(page->document, "changed", G_CALLBACK(document_changed), page,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(page->document, "ended", G_CALLBACK(document_changed), page,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(page->document, "grown", G_CALLBACK(document_grown), page,
				G_CONNECT_SWAPPED);
	document_changed(page);
	return GTK_WIDGET(page);
}

RsTraceDocument *rs_viewer_page_document(RsViewerPage *page)
{
	return page->document;
}

/* ---- sessions ---- */

static void connect_session(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	GError *error = NULL;
	g_autoptr(RsDBusSession1) session = rs_trace_client_connect(data, &error);

	if (session)
		g_task_return_boolean(task, TRUE);
	else
		g_task_return_error(task, error);
}

static void connected(GObject *object, GAsyncResult *result, gpointer data)
{
	RsViewerPage *page = RS_VIEWER_PAGE(object);
	g_autoptr(GError) error = NULL;

	g_task_propagate_boolean(G_TASK(result), &error);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return;
	set_loading(page, FALSE);
	show_state(page, FALSE, error);
}

GtkWidget *rs_viewer_page_new_live(const char *session)
{
	RsViewerPage *page = g_object_new(RS_VIEWER_TYPE_PAGE, NULL);
	g_autoptr(GTask) task = g_task_new(page, page->cancellable, connected, NULL);

	set_title(page, session);
	g_task_set_task_data(task, g_strdup(session), g_free);
	g_task_run_in_thread(task, connect_session);
	return GTK_WIDGET(page);
}

void rs_viewer_page_close(RsViewerPage *page)
{
	g_cancellable_cancel(page->cancellable);
	if (page->document)
		rs_trace_document_close(page->document);
}

GActionGroup *rs_viewer_page_actions(RsViewerPage *page)
{
	return G_ACTION_GROUP(page->actions);
}

/* ---- the object ---- */

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *pspec)
{
	RsViewerPage *page = RS_VIEWER_PAGE(object);

	if (id == PROP_TITLE)
		g_value_set_string(value, page->title);
	else
		g_value_set_boolean(value, page->loading);
}

static void dispose(GObject *object)
{
	RsViewerPage *page = RS_VIEWER_PAGE(object);

	rs_viewer_page_close(page);
	g_clear_object(&page->document);
	g_clear_object(&page->actions);
	G_OBJECT_CLASS(rs_viewer_page_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	RsViewerPage *page = RS_VIEWER_PAGE(object);

	g_clear_object(&page->cancellable);
	g_free(page->title);
	G_OBJECT_CLASS(rs_viewer_page_parent_class)->finalize(object);
}

static void rs_viewer_page_class_init(RsViewerPageClass *class)
{
	GObjectClass *object_class = G_OBJECT_CLASS(class);
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	object_class->get_property = get_property;
	object_class->dispose = dispose;
	object_class->finalize = finalize;
	properties[PROP_TITLE] = g_param_spec_string("title", NULL, NULL, NULL,
						     G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
	properties[PROP_LOADING] = g_param_spec_boolean("loading", NULL, NULL, TRUE,
							G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);
	g_object_class_install_properties(object_class, N_PROPERTIES, properties);
	gtk_widget_class_set_template_from_resource(widget_class,
						    "/org/ringside/Viewer/ui/page.ui");
	gtk_widget_class_bind_template_child(widget_class, RsViewerPage, waiting);
	gtk_widget_class_bind_template_child(widget_class, RsViewerPage, content);
	gtk_widget_class_bind_template_child(widget_class, RsViewerPage, error);
}

static void rs_viewer_page_init(RsViewerPage *page)
{
	page->loading = TRUE;
	page->cancellable = g_cancellable_new();
	page->actions = g_simple_action_group_new();
	gtk_widget_init_template(GTK_WIDGET(page));
}
