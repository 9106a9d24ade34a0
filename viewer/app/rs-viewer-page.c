/* SPDX-License-Identifier: MIT */
#include "rs-viewer-page-private.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>

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

/*
 * What benchmarks wait for: run with G_MESSAGES_DEBUG=ringside-viewer. The second tick comes when
 * the first frame was painted.
 */
static gboolean on_tick(GtkWidget *widget, GdkFrameClock *clock, gpointer data)
{
	RsViewerPage *page = RS_VIEWER_PAGE(widget);

	if (page->ticks++ == 0)
		return G_SOURCE_CONTINUE;
	g_debug("the first records are on the screen");
	return G_SOURCE_REMOVE;
}

static void show_content(RsViewerPage *page)
{
	if (gtk_widget_get_visible(GTK_WIDGET(page->content)))
		return;
	show_child(page, GTK_WIDGET(page->content));
	gtk_widget_add_tick_callback(GTK_WIDGET(page), on_tick, NULL, NULL);
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
		show_content(page);
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

static void on_ended(RsViewerPage *page)
{
	on_changed(page);
	g_debug("all records were read");
}

static GtkWidget *page_new(RsTraceDocument *document)
{
	RsViewerPage *page = g_object_new(RS_VIEWER_TYPE_PAGE, NULL);

	page->document = document;
	page->view = rs_viewer_view_new(document);
	rs_viewer_page_fill(page);
	g_signal_connect_object(document, "changed", G_CALLBACK(on_changed), page,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(document, "grown", G_CALLBACK(on_changed), page, G_CONNECT_SWAPPED);
	g_signal_connect_object(document, "ended", G_CALLBACK(on_ended), page, G_CONNECT_SWAPPED);
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

/* There is less room for each part. */
static void make_low(RsViewerPage *page)
{
	GtkWidget *parts = gtk_widget_get_ancestor(GTK_WIDGET(page->timeline), GTK_TYPE_PANED);

	gtk_paned_set_position(GTK_PANED(parts), 240);
}

void rs_viewer_page_compare(RsViewerPage *page, RsViewerPage *other)
{
	make_low(page);
	make_low(other);
	rs_viewer_view_link(page->view, other->view);
}

RsTraceDocument *rs_viewer_page_document(RsViewerPage *page)
{
	return page->document;
}

gboolean rs_viewer_page_set_filter(RsViewerPage *page, const char *text)
{
	rs_viewer_filter_entry_set_text(page->filter, text);
	return rs_viewer_page_apply_filter(page, text);
}

void rs_viewer_page_close(RsViewerPage *page)
{
	rs_trace_document_close(page->document);
}

GActionGroup *rs_viewer_page_actions(RsViewerPage *page)
{
	return G_ACTION_GROUP(page->actions);
}

void rs_viewer_page_tell(RsViewerPage *page, const char *text)
{
	g_autofree char *markup = g_markup_escape_text(text, -1);

	adw_toast_overlay_add_toast(page->toasts, adw_toast_new(markup));
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
	G_OBJECT_CLASS(rs_viewer_page_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	g_free(RS_VIEWER_PAGE(object)->title);
	g_free(RS_VIEWER_PAGE(object)->former_filter);
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
	gtk_widget_class_bind_template_child(widget_class, RsViewerPage, toasts);
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
