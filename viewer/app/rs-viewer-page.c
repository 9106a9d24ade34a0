/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-page.h"

#include "app/rs-viewer-list.h"
#include "app/rs-viewer-settings.h"
#include "app/rs-viewer-summary.h"
#include "app/rs-viewer-view.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>

struct _RsViewerPage {
	AdwBin parent;
	GSimpleActionGroup *actions;
	RsTraceDocument *document;
	RsViewerView *view;
	GtkWidget *waiting; /* one of the three is shown */
	GtkBox *content;
	AdwStatusPage *error;
	RsViewerList *list;
	char *title;
	gboolean loading;
};

G_DEFINE_FINAL_TYPE(RsViewerPage, rs_viewer_page, ADW_TYPE_BIN)

enum { PROP_TITLE = 1, PROP_LOADING, N_PROPERTIES };
static GParamSpec *properties[N_PROPERTIES];

/* ---- what is open ---- */

static void show_child(RsViewerPage *page, GtkWidget *child)
{
	gtk_widget_set_visible(page->waiting, child == page->waiting);
	gtk_widget_set_visible(GTK_WIDGET(page->content), child == GTK_WIDGET(page->content));
	gtk_widget_set_visible(GTK_WIDGET(page->error), child == GTK_WIDGET(page->error));
}

static void show_error(RsViewerPage *page, const GError *error)
{
	g_autofree char *text = rs_trace_escape(error->message, -1, "\n");
	g_autofree char *markup = g_markup_escape_text(text, -1);

	adw_status_page_set_description(page->error, markup);
	show_child(page, GTK_WIDGET(page->error));
}

static gboolean has_rows(RsViewerPage *page)
{
	RsTraceTimeline *timeline = rs_trace_document_all(page->document);
	guint64 n;

	rs_trace_timeline_lock(timeline);
	n = rs_trace_timeline_n_rows(timeline);
	rs_trace_timeline_unlock(timeline);
	return n > 0;
}

static void on_changed(RsViewerPage *page)
{
	RsTraceDocumentState state = rs_trace_document_state(page->document);
	g_autofree char *title = rs_trace_escape(rs_trace_document_title(page->document), -1, NULL);
	gboolean loading = state == RS_TRACE_DOCUMENT_LOADING;

	/* What was read before it failed is shown, and why it failed is a remark. */
	if (state == RS_TRACE_DOCUMENT_FAILED && !has_rows(page))
		show_error(page, rs_trace_document_error(page->document));
	else if (!loading || has_rows(page))
		show_child(page, GTK_WIDGET(page->content));
	if (page->loading != loading) {
		page->loading = loading;
		g_object_notify_by_pspec(G_OBJECT(page), properties[PROP_LOADING]);
	}
	if (g_strcmp0(page->title, title) != 0) {
		g_free(page->title);
		page->title = g_steal_pointer(&title);
		g_object_notify_by_pspec(G_OBJECT(page), properties[PROP_TITLE]);
	}
}

static void apply_time_style(RsViewerPage *page)
{
	const char *style = rs_viewer_settings_text(rs_viewer_settings_get(), "time-format");

	rs_viewer_list_set_time_style(page->list, g_strcmp0(style, RS_VIEWER_FORMAT_WALL)
							  ? RS_VIEWER_TIME_SECONDS
							  : RS_VIEWER_TIME_WALL);
}

static void add_list(RsViewerPage *page, GtkPaned *paned)
{
	GtkWidget *scrolled = gtk_scrolled_window_new();

	page->list = RS_VIEWER_LIST(rs_viewer_list_new(page->view));
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), GTK_WIDGET(page->list));
	gtk_widget_set_vexpand(scrolled, TRUE);
	gtk_paned_set_end_child(paned, scrolled);
	apply_time_style(page);
	g_signal_connect_object(rs_viewer_settings_get(), "notify::time-format",
				G_CALLBACK(apply_time_style), page, G_CONNECT_SWAPPED);
}

static GtkWidget *page_new(RsTraceDocument *document)
{
	RsViewerPage *page = g_object_new(RS_VIEWER_TYPE_PAGE, NULL);
	GtkWidget *paned = gtk_paned_new(GTK_ORIENTATION_VERTICAL);

	page->document = document;
	page->view = rs_viewer_view_new(document);
	gtk_box_append(page->content, rs_viewer_summary_new(page->view));
	gtk_widget_set_vexpand(paned, TRUE);
	gtk_box_append(page->content, paned);
	add_list(page, GTK_PANED(paned));
	g_signal_connect_object(document, "changed", G_CALLBACK(on_changed), page,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(document, "grown", G_CALLBACK(on_changed), page, G_CONNECT_SWAPPED);
	g_signal_connect_object(document, "ended", G_CALLBACK(on_changed), page, G_CONNECT_SWAPPED);
	on_changed(page);
	return GTK_WIDGET(page);
}

GtkWidget *rs_viewer_page_new(const char *const *paths)
{
	return page_new(rs_trace_document_new(paths));
}

GtkWidget *rs_viewer_page_new_live(const char *session)
{
	return page_new(rs_trace_document_new_live(session));
}

void rs_viewer_page_close(RsViewerPage *page)
{
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

	if (page->document)
		rs_trace_document_close(page->document);
	g_clear_object(&page->view);
	g_clear_object(&page->document);
	g_clear_object(&page->actions);
	gtk_widget_dispose_template(GTK_WIDGET(page), RS_VIEWER_TYPE_PAGE);
	G_OBJECT_CLASS(rs_viewer_page_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	g_free(RS_VIEWER_PAGE(object)->title);
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
	page->actions = g_simple_action_group_new();
	gtk_widget_init_template(GTK_WIDGET(page));
}
