/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-event-filter.h"

#include "app/rs-viewer-filter-entry.h"

#include <glib/gi18n.h>

struct _RsViewerEventFilter {
	AdwBin parent;
	RsViewerEvents *events;
	RsDBusSession1 *session;
	RsViewerEvent *event;
	GCancellable *cancellable; /* of the question for the event's fields */
	GtkLabel *title;
	RsViewerFilterEntry *entry;
	GtkWidget *apply;
	gboolean setting, edited; /* edited: the text is not what the session has */
};

G_DEFINE_FINAL_TYPE(RsViewerEventFilter, rs_viewer_event_filter, ADW_TYPE_BIN)

/* ---- fields ---- */

static void told_format(GObject *session, GAsyncResult *result, gpointer data)
{
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) fields = NULL;
	RsViewerEventFilter *filter = data;

	rs_dbus_session1_call_format_finish(RS_DBUS_SESSION1(session), &text, NULL, result, &error);
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED))
		return;
	fields = rs_viewer_fields_parse(text ? text : "");
	rs_viewer_filter_entry_set_fields(filter->entry, fields);
}

/* Of a system with very many events the first part of the answer is enough to begin with. */
static void ask_fields(RsViewerEventFilter *filter)
{
	g_autofree char *glob = NULL;

	g_cancellable_cancel(filter->cancellable);
	g_clear_object(&filter->cancellable);
	rs_viewer_filter_entry_set_fields(filter->entry, NULL);
	if (!filter->session || !filter->event)
		return;
	glob = rs_viewer_events_glob(filter->events, filter->event);
	filter->cancellable = g_cancellable_new();
	rs_dbus_session1_call_format(filter->session, glob, rs_trace_client_no_options(),
				     filter->cancellable, told_format, filter);
}

/* ---- the text ---- */

static void set_text(RsViewerEventFilter *filter, const char *text)
{
	filter->setting = TRUE;
	rs_viewer_filter_entry_set_text(filter->entry, text);
	filter->setting = FALSE;
	filter->edited = FALSE;
}

static void show_state(RsViewerEventFilter *filter)
{
	const gboolean can = filter->session && filter->event;

	/* Not insensitive: it may have the focus, and its text is to be read. */
	rs_viewer_filter_entry_set_editable(filter->entry, can);
	gtk_widget_set_sensitive(filter->apply, can && filter->edited);
}

/* Others may have changed it. What is being written here stays. */
static void event_changed(RsViewerEventFilter *filter)
{
	const char *now = rs_viewer_event_own_filter(filter->event);

	if (!filter->edited && g_strcmp0(now, rs_viewer_filter_entry_text(filter->entry)) != 0)
		set_text(filter, now);
}

static void text_changed(RsViewerEventFilter *filter)
{
	if (!filter->setting)
		filter->edited = TRUE;
	show_state(filter);
}

void rs_viewer_event_filter_set_event(RsViewerEventFilter *filter, RsViewerEvent *event)
{
	g_autofree char *title = NULL;

	if (event == filter->event)
		return;
	if (filter->event)
		g_signal_handlers_disconnect_by_data(filter->event, filter);
	g_set_object(&filter->event, event);
	if (event)
		g_signal_connect_swapped(event, "changed", G_CALLBACK(event_changed), filter);
	title = event ? g_strdup_printf(_("Filter of %s"), rs_viewer_event_label(event))
		      : g_strdup(_("Choose an event to filter it"));
	gtk_label_set_text(filter->title, title);
	rs_viewer_filter_entry_set_label(filter->entry, title);
	set_text(filter, event ? rs_viewer_event_own_filter(event) : "");
	ask_fields(filter);
	show_state(filter);
}

void rs_viewer_event_filter_set_session(RsViewerEventFilter *filter, RsDBusSession1 *session)
{
	g_set_object(&filter->session, session);
	ask_fields(filter);
	show_state(filter);
}

/* ---- applying ---- */

static void applied(GObject *events, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerEventFilter) filter = data;
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;

	if (rs_viewer_events_filter_finish(RS_VIEWER_EVENTS(events), result, &error)) {
		filter->edited = FALSE;
		show_state(filter);
		return;
	}
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED) || !filter->events)
		return;
	text = rs_viewer_events_explain(error);
	rs_viewer_filter_entry_set_session_error(filter->entry, text);
}

static void apply(RsViewerEventFilter *filter, const char *text)
{
	if (filter->event && filter->session)
		rs_viewer_events_filter_async(filter->events, filter->event, text, applied,
					      g_object_ref(filter));
}

static void apply_clicked(RsViewerEventFilter *filter)
{
	rs_viewer_filter_entry_apply(filter->entry);
}

/* ---- the widget ---- */

static void dispose(GObject *object)
{
	RsViewerEventFilter *filter = RS_VIEWER_EVENT_FILTER(object);

	g_cancellable_cancel(filter->cancellable);
	g_clear_object(&filter->cancellable);
	if (filter->event)
		g_signal_handlers_disconnect_by_data(filter->event, filter);
	g_clear_object(&filter->event);
	g_clear_object(&filter->session);
	g_clear_object(&filter->events);
	G_OBJECT_CLASS(rs_viewer_event_filter_parent_class)->dispose(object);
}

static void rs_viewer_event_filter_class_init(RsViewerEventFilterClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
}

static void rs_viewer_event_filter_init(RsViewerEventFilter *filter)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 4);
	GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);

	filter->title = GTK_LABEL(gtk_label_new(_("Choose an event to filter it")));
	gtk_label_set_xalign(filter->title, 0);
	gtk_label_set_ellipsize(filter->title, PANGO_ELLIPSIZE_END);
	gtk_widget_add_css_class(GTK_WIDGET(filter->title), "caption-heading");
	filter->entry = RS_VIEWER_FILTER_ENTRY(rs_viewer_filter_entry_new(FALSE));
	rs_viewer_filter_entry_set_placeholder(filter->entry, _("prev_pid > 3 && COMM ~ \"a*\""));
	gtk_widget_set_hexpand(GTK_WIDGET(filter->entry), TRUE);
	filter->apply = gtk_button_new_with_mnemonic(_("_Apply"));
	gtk_widget_set_valign(filter->apply, GTK_ALIGN_START);
	g_signal_connect_swapped(filter->entry, "apply", G_CALLBACK(apply), filter);
	g_signal_connect_swapped(filter->entry, "changed", G_CALLBACK(text_changed), filter);
	g_signal_connect_swapped(filter->apply, "clicked", G_CALLBACK(apply_clicked), filter);
	gtk_box_append(GTK_BOX(row), GTK_WIDGET(filter->entry));
	gtk_box_append(GTK_BOX(row), filter->apply);
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(filter->title));
	gtk_box_append(GTK_BOX(box), row);
	adw_bin_set_child(ADW_BIN(filter), box);
	show_state(filter);
}

GtkWidget *rs_viewer_event_filter_new(RsViewerEvents *events)
{
	RsViewerEventFilter *filter = g_object_new(RS_VIEWER_TYPE_EVENT_FILTER, NULL);

	filter->events = g_object_ref(events);
	return GTK_WIDGET(filter);
}
