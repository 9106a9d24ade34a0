/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-event-row.h"
#include "app/rs-viewer-time.h"

#include <glib/gi18n.h>

struct _RsViewerEventRow {
	AdwBin parent;
	RsViewerEvent *event;
	GtkCheckButton *check;
	GtkLabel *name, *remark, *rate, *count;
	char *full;
	gboolean updating;
};

G_DEFINE_FINAL_TYPE(RsViewerEventRow, rs_viewer_event_row, ADW_TYPE_BIN)

static guint switched_signal;

char *rs_viewer_event_row_rate(double rate)
{
	g_autofree char *whole = NULL;

	if (rate > 0 && rate < 10)
		return g_strdup_printf(_("%.1f/s"), rate);
	whole = rs_viewer_number((guint64)CLAMP(rate + 0.5, 0, 1e18));
	return g_strdup_printf(_("%s/s"), whole);
}

static void show_state(RsViewerEventRow *row)
{
	const RsViewerEventState state = rs_viewer_event_state(row->event);

	/* Until the session has answered the button shows what the user wants. */
	if (rs_viewer_event_busy(row->event))
		return;
	row->updating = TRUE;
	gtk_check_button_set_inconsistent(row->check, state == RS_VIEWER_EVENT_MIXED);
	gtk_check_button_set_active(row->check, state == RS_VIEWER_EVENT_ON);
	row->updating = FALSE;
}

static void show_count(RsViewerEventRow *row)
{
	g_autofree char *rate_text = NULL, *count_text = NULL;
	guint64 count;
	double rate;

	if (!rs_viewer_event_count(row->event, &count, &rate) || !count) {
		gtk_widget_set_visible(GTK_WIDGET(row->rate), FALSE);
		gtk_label_set_text(row->count, "");
		return;
	}
	rate_text = rs_viewer_event_row_rate(rate);
	count_text = rs_viewer_number(count);
	gtk_label_set_text(row->rate, rate_text);
	gtk_widget_set_visible(GTK_WIDGET(row->rate), rate > 0);
	gtk_label_set_text(row->count, count_text);
}

static void refresh(RsViewerEventRow *row)
{
	const char *remark = rs_viewer_event_remark(row->event);
	g_autofree char *tooltip = NULL;

	gtk_label_set_text(row->remark, remark);
	gtk_widget_set_visible(GTK_WIDGET(row->remark), *remark);
	tooltip = g_strdup_printf("%s%s%s", row->full, *remark ? "\n" : "", remark);
	gtk_widget_set_tooltip_text(GTK_WIDGET(row), tooltip);
	show_state(row);
	show_count(row);
}

/* A click on what is mixed means all of it. */
static void toggled(RsViewerEventRow *row)
{
	gboolean on;

	if (row->updating || !row->event)
		return;
	on = rs_viewer_event_state(row->event) != RS_VIEWER_EVENT_ON;
	row->updating = TRUE;
	gtk_check_button_set_inconsistent(row->check, FALSE);
	gtk_check_button_set_active(row->check, on);
	row->updating = FALSE;
	g_signal_emit(row, switched_signal, 0, row->event, on);
}

void rs_viewer_event_row_set_event(RsViewerEventRow *row, RsViewerEvent *event, const char *label,
				   const char *full)
{
	g_autofree char *action = NULL;

	if (row->event)
		g_signal_handlers_disconnect_by_data(row->event, row);
	g_set_object(&row->event, event);
	g_free(row->full);
	row->full = g_strdup(full);
	if (!event)
		return;
	action = g_strdup_printf(_("Record %s"), full);
	gtk_accessible_update_property(GTK_ACCESSIBLE(row->check), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       action, -1);
	gtk_label_set_text(row->name, label);
	g_signal_connect_swapped(event, "changed", G_CALLBACK(refresh), row);
	refresh(row);
}

void rs_viewer_event_row_set_live(RsViewerEventRow *row, gboolean live)
{
	gtk_widget_set_sensitive(GTK_WIDGET(row->check), live);
}

static void finalize(GObject *object)
{
	g_free(RS_VIEWER_EVENT_ROW(object)->full);
	G_OBJECT_CLASS(rs_viewer_event_row_parent_class)->finalize(object);
}

static void dispose(GObject *object)
{
	rs_viewer_event_row_set_event(RS_VIEWER_EVENT_ROW(object), NULL, NULL, NULL);
	G_OBJECT_CLASS(rs_viewer_event_row_parent_class)->dispose(object);
}

static void rs_viewer_event_row_class_init(RsViewerEventRowClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
	switched_signal =
		g_signal_new("switched", G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0, NULL, NULL,
			     NULL, G_TYPE_NONE, 2, RS_VIEWER_TYPE_EVENT, G_TYPE_BOOLEAN);
}

static GtkLabel *make_label(float xalign, const char *css)
{
	GtkLabel *label = GTK_LABEL(gtk_label_new(NULL));

	gtk_label_set_xalign(label, xalign);
	if (css) {
		gtk_widget_add_css_class(GTK_WIDGET(label), "dim-label");
		gtk_widget_add_css_class(GTK_WIDGET(label), css);
	}
	return label;
}

static void rs_viewer_event_row_init(RsViewerEventRow *row)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
	GtkWidget *texts = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	GtkWidget *figures = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);

	row->check = GTK_CHECK_BUTTON(gtk_check_button_new());
	row->name = make_label(0, NULL);
	row->remark = make_label(0, "caption");
	row->rate = make_label(1, NULL);
	row->count = make_label(1, "caption");
	gtk_label_set_ellipsize(row->name, PANGO_ELLIPSIZE_END);
	gtk_label_set_ellipsize(row->remark, PANGO_ELLIPSIZE_END);
	gtk_widget_add_css_class(GTK_WIDGET(row->rate), "numeric");
	gtk_widget_add_css_class(GTK_WIDGET(row->count), "numeric");
	gtk_widget_set_valign(GTK_WIDGET(row->check), GTK_ALIGN_CENTER);
	gtk_widget_set_valign(texts, GTK_ALIGN_CENTER);
	gtk_widget_set_valign(figures, GTK_ALIGN_CENTER);
	gtk_widget_set_hexpand(texts, TRUE);
	gtk_box_append(GTK_BOX(texts), GTK_WIDGET(row->name));
	gtk_box_append(GTK_BOX(texts), GTK_WIDGET(row->remark));
	gtk_box_append(GTK_BOX(figures), GTK_WIDGET(row->rate));
	gtk_box_append(GTK_BOX(figures), GTK_WIDGET(row->count));
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(row->check));
	gtk_box_append(GTK_BOX(box), texts);
	gtk_box_append(GTK_BOX(box), figures);
	adw_bin_set_child(ADW_BIN(row), box);
	g_signal_connect_swapped(row->check, "toggled", G_CALLBACK(toggled), row);
}

GtkWidget *rs_viewer_event_row_new(void)
{
	return g_object_new(RS_VIEWER_TYPE_EVENT_ROW, NULL);
}
