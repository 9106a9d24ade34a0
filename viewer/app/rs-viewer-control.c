/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-control.h"

#include "app/rs-viewer-event-filter.h"
#include "app/rs-viewer-event-tree.h"
#include "app/rs-viewer-record-bar.h"
#include "app/rs-viewer-rings.h"
#include "app/rs-viewer-session-stat.h"

#include <glib/gi18n.h>

#define COUNT_S 1
#define FIGURES_HEIGHT 220 /* pixels at most */

struct _RsViewerControl {
	AdwBin parent;
	RsTraceDocument *document; /* NULL: none */
	RsDBusSession1 *session;
	RsTraceTimeline *timeline;
	RsViewerEvents *events;
	GtkInfoBar *info;
	GtkLabel *message;
	RsViewerRecordBar *bar;
	RsViewerEventTree *tree;
	RsViewerEventFilter *filter;
	RsViewerRings *rings;
	RsViewerSessionStat *stat;
	gboolean had_session;
	guint timer;
};

G_DEFINE_FINAL_TYPE(RsViewerControl, rs_viewer_control, ADW_TYPE_BIN)

static guint written_signal;

/* ---- what is said ---- */

static void said(RsViewerControl *control, const char *text, gboolean failed)
{
	gtk_label_set_text(control->message, text);
	gtk_info_bar_set_message_type(control->info,
				      failed ? GTK_MESSAGE_WARNING : GTK_MESSAGE_INFO);
	gtk_info_bar_set_revealed(control->info, TRUE);
}

static void problem(RsViewerControl *control, const char *text)
{
	said(control, text, TRUE);
}

static void written(RsViewerControl *control, const char *path)
{
	g_signal_emit(control, written_signal, 0, path);
}

/* ---- the session ---- */

static void session_ended(RsViewerControl *control)
{
	rs_viewer_control_set_session(control, NULL);
}

void rs_viewer_control_set_session(RsViewerControl *control, RsDBusSession1 *session)
{
	if (session == control->session)
		return;
	if (control->session)
		g_signal_handlers_disconnect_by_func(control->session, session_ended, control);
	g_set_object(&control->session, session);
	/* The connection is of another thread, in which it says that it was closed. */
	if (session)
		g_signal_connect_swapped(session, "ended", G_CALLBACK(session_ended), control);
	rs_viewer_events_set_session(control->events, session);
	rs_viewer_event_tree_set_live(control->tree, session != NULL);
	rs_viewer_event_filter_set_session(control->filter, session);
	rs_viewer_record_bar_set_session(control->bar, session);
	rs_viewer_rings_set_session(control->rings, session);
	rs_viewer_session_stat_set_session(control->stat, session);
	if (!session && control->had_session)
		said(control, _("The session has ended. Its last state is shown."), FALSE);
	control->had_session |= session != NULL;
}

/* ---- counts ---- */

static gboolean count(gpointer data)
{
	RsViewerControl *control = data;

	if (control->timeline)
		rs_viewer_events_count(control->events, control->timeline);
	return G_SOURCE_CONTINUE;
}

void rs_viewer_control_set_timeline(RsViewerControl *control, RsTraceTimeline *timeline)
{
	g_clear_pointer(&control->timeline, rs_trace_timeline_unref);
	control->timeline = timeline ? rs_trace_timeline_ref(timeline) : NULL;
	count(control);
}

static void selected(RsViewerControl *control, RsViewerEvent *event)
{
	rs_viewer_event_filter_set_event(control->filter, event);
}

/* ---- the widget ---- */

static void map(GtkWidget *widget)
{
	RsViewerControl *control = RS_VIEWER_CONTROL(widget);

	GTK_WIDGET_CLASS(rs_viewer_control_parent_class)->map(widget);
	if (!control->timer)
		control->timer = g_timeout_add_seconds(COUNT_S, count, control);
	count(control);
}

static void unmap(GtkWidget *widget)
{
	g_clear_handle_id(&RS_VIEWER_CONTROL(widget)->timer, g_source_remove);
	GTK_WIDGET_CLASS(rs_viewer_control_parent_class)->unmap(widget);
}

static void dispose(GObject *object)
{
	RsViewerControl *control = RS_VIEWER_CONTROL(object);

	g_clear_handle_id(&control->timer, g_source_remove);
	if (control->document)
		g_signal_handlers_disconnect_by_data(control->document, control);
	if (control->session)
		g_signal_handlers_disconnect_by_func(control->session, session_ended, control);
	if (control->events) {
		g_signal_handlers_disconnect_by_data(control->events, control);
		rs_viewer_events_set_session(control->events, NULL);
	}
	g_clear_object(&control->session);
	g_clear_object(&control->document);
	g_clear_object(&control->events);
	g_clear_pointer(&control->timeline, rs_trace_timeline_unref);
	G_OBJECT_CLASS(rs_viewer_control_parent_class)->dispose(object);
}

static void rs_viewer_control_class_init(RsViewerControlClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	GTK_WIDGET_CLASS(class)->map = map;
	GTK_WIDGET_CLASS(class)->unmap = unmap;
	written_signal = g_signal_new("written", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0,
				      NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_STRING);
}

static void hide_info(RsViewerControl *control)
{
	gtk_info_bar_set_revealed(control->info, FALSE);
}

static GtkWidget *make_info(RsViewerControl *control)
{
	control->info = GTK_INFO_BAR(gtk_info_bar_new());
	control->message = GTK_LABEL(gtk_label_new(NULL));
	gtk_label_set_wrap(control->message, TRUE);
	gtk_label_set_wrap_mode(control->message, PANGO_WRAP_WORD_CHAR);
	gtk_label_set_xalign(control->message, 0);
	gtk_label_set_selectable(control->message, TRUE);
	gtk_label_set_max_width_chars(control->message, 30);
	gtk_widget_set_hexpand(GTK_WIDGET(control->message), TRUE);
	gtk_info_bar_add_child(control->info, GTK_WIDGET(control->message));
	gtk_info_bar_set_show_close_button(control->info, TRUE);
	gtk_info_bar_set_revealed(control->info, FALSE);
	g_signal_connect_swapped(control->info, "response", G_CALLBACK(hide_info), control);
	return GTK_WIDGET(control->info);
}

/* They leave room for the tree. */
static GtkWidget *make_figures(RsViewerControl *control)
{
	GtkWidget *scrolled = gtk_scrolled_window_new();

	control->stat = RS_VIEWER_SESSION_STAT(rs_viewer_session_stat_new());
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
				       GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(scrolled), TRUE);
	gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(scrolled), FIGURES_HEIGHT);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), GTK_WIDGET(control->stat));
	return scrolled;
}

static void rs_viewer_control_init(RsViewerControl *control)
{
	GtkWidget *all = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12);

	control->events = rs_viewer_events_new();
	control->bar = RS_VIEWER_RECORD_BAR(rs_viewer_record_bar_new());
	control->tree = RS_VIEWER_EVENT_TREE(rs_viewer_event_tree_new(control->events));
	control->filter = RS_VIEWER_EVENT_FILTER(rs_viewer_event_filter_new(control->events));
	control->rings = RS_VIEWER_RINGS(rs_viewer_rings_new());
	g_signal_connect_swapped(control->rings, "said", G_CALLBACK(said), control);
	g_signal_connect_swapped(control->events, "problem", G_CALLBACK(problem), control);
	g_signal_connect_swapped(control->bar, "said", G_CALLBACK(said), control);
	g_signal_connect_swapped(control->bar, "written", G_CALLBACK(written), control);
	g_signal_connect_swapped(control->tree, "selected", G_CALLBACK(selected), control);
	gtk_widget_set_vexpand(GTK_WIDGET(control->tree), TRUE);
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(control->bar));
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(control->tree));
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(control->filter));
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(control->rings));
	gtk_box_append(GTK_BOX(box), make_figures(control));
	gtk_widget_set_margin_start(box, 12);
	gtk_widget_set_margin_end(box, 12);
	gtk_widget_set_margin_top(box, 12);
	gtk_widget_set_margin_bottom(box, 12);
	gtk_box_append(GTK_BOX(all), make_info(control));
	gtk_box_append(GTK_BOX(all), box);
	adw_bin_set_child(ADW_BIN(control), all);
	/* It is as wide as it must be, whatever expands in it. */
	gtk_widget_set_hexpand(GTK_WIDGET(control), FALSE);
	gtk_widget_set_size_request(GTK_WIDGET(control), 300, -1);
	rs_viewer_event_tree_set_live(control->tree, FALSE);
}

GtkWidget *rs_viewer_control_new_empty(void)
{
	return g_object_new(RS_VIEWER_TYPE_CONTROL, NULL);
}

/* ---- of a document ---- */

static void document_changed(RsViewerControl *control)
{
	rs_viewer_control_set_session(control, rs_trace_document_session(control->document));
}

GtkWidget *rs_viewer_control_new(RsTraceDocument *document)
{
	RsViewerControl *control = RS_VIEWER_CONTROL(rs_viewer_control_new_empty());

	control->document = g_object_ref(document);
	g_signal_connect_swapped(document, "changed", G_CALLBACK(document_changed), control);
	g_signal_connect_swapped(document, "ended", G_CALLBACK(document_changed), control);
	rs_viewer_control_set_timeline(control, rs_trace_document_all(document));
	document_changed(control);
	return GTK_WIDGET(control);
}
