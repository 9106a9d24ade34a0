/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-summary.h"

#include "app/rs-viewer-time.h"

#include <glib/gi18n.h>

struct _RsViewerSummary {
	AdwBin parent;
	RsViewerView *view;
	GtkLabel *events, *loss, *filter, *selection, *state;
	GtkProgressBar *progress;
};

G_DEFINE_FINAL_TYPE(RsViewerSummary, rs_viewer_summary, ADW_TYPE_BIN)

/* With groups of three digits, as the locale has them. */
static char *number(guint64 n)
{
	return g_strdup_printf("%'" G_GUINT64_FORMAT, n);
}

static void show(GtkLabel *label, const char *text)
{
	if (g_strcmp0(text, gtk_label_get_text(label)) != 0)
		gtk_label_set_text(label, text ? text : "");
	gtk_widget_set_visible(GTK_WIDGET(label), text && *text);
}

static void show_counts(RsViewerSummary *summary)
{
	RsTraceDocument *document = rs_viewer_view_document(summary->view);
	RsTraceTimeline *all = rs_trace_document_all(document);
	RsTraceTimeline *shown = rs_trace_document_shown(document);
	g_autofree char *events = NULL, *lost = NULL, *left = NULL, *text = NULL;
	guint64 n, n_lost, n_shown;

	rs_trace_timeline_lock(all);
	n = rs_trace_timeline_n_rows(all);
	n_lost = rs_trace_timeline_lost(all);
	rs_trace_timeline_unlock(all);
	rs_trace_timeline_lock(shown);
	n_shown = rs_trace_timeline_n_rows(shown);
	rs_trace_timeline_unlock(shown);
	events = number(n);
	text = g_strdup_printf(ngettext("%s record", "%s records", (gulong)n), events);
	show(summary->events, text);
	g_clear_pointer(&text, g_free);
	lost = number(n_lost);
	if (n_lost)
		text = g_strdup_printf(ngettext("%s event lost", "%s events lost", (gulong)n_lost),
				       lost);
	show(summary->loss, text);
	g_clear_pointer(&text, g_free);
	left = number(n_shown);
	if (shown != all)
		/* Translators: a number of records that a filter leaves */
		text = g_strdup_printf(_("%s shown"), left);
	show(summary->filter, text);
}

static void show_state(RsViewerSummary *summary)
{
	RsTraceDocument *document = rs_viewer_view_document(summary->view);
	double loaded = rs_trace_document_progress(document);
	double filtered = rs_trace_document_filter_progress(document);
	gboolean loading = rs_trace_document_state(document) == RS_TRACE_DOCUMENT_LOADING;
	const char *text = NULL;

	if (rs_trace_document_state(document) == RS_TRACE_DOCUMENT_LIVE)
		text = rs_viewer_view_following(summary->view) ? _("Live, following")
							       : _("Live, held");
	else if (loading)
		text = _("Reading…");
	else if (filtered < 1)
		text = _("Filtering…");
	show(summary->state, text);
	gtk_widget_set_visible(GTK_WIDGET(summary->progress), loading || filtered < 1);
	if (loading && loaded < 0)
		gtk_progress_bar_pulse(summary->progress);
	else
		gtk_progress_bar_set_fraction(summary->progress,
					      CLAMP(loading ? loaded : filtered, 0, 1));
}

static void on_grown(RsViewerSummary *summary)
{
	show_counts(summary);
	show_state(summary);
}

static void show_selection(RsViewerSummary *summary)
{
	guint64 from, until;
	g_autofree char *length = NULL, *text = NULL;

	if (rs_viewer_view_selection(summary->view, &from, &until)) {
		length = rs_viewer_time_duration(until - from);
		/* Translators: the time between markers A and B */
		text = g_strdup_printf(_("A to B: %s"), length);
	}
	show(summary->selection, text);
}

static GtkLabel *add_label(GtkBox *box, const char *class)
{
	GtkWidget *label = gtk_label_new(NULL);

	gtk_widget_add_css_class(label, class);
	gtk_widget_add_css_class(label, "numeric");
	gtk_widget_set_visible(label, FALSE);
	/* A narrow window does not get wider while a trace is read. */
	gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
	gtk_box_append(box, label);
	return GTK_LABEL(label);
}

GtkWidget *rs_viewer_summary_new(RsViewerView *view)
{
	RsViewerSummary *summary = g_object_new(RS_VIEWER_TYPE_SUMMARY, NULL);
	RsTraceDocument *document = rs_viewer_view_document(view);

	summary->view = g_object_ref(view);
	g_signal_connect_object(document, "grown", G_CALLBACK(on_grown), summary,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(document, "changed", G_CALLBACK(on_grown), summary,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(document, "ended", G_CALLBACK(on_grown), summary,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(view, "following", G_CALLBACK(show_state), summary,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(view, "markers", G_CALLBACK(show_selection), summary,
				G_CONNECT_SWAPPED);
	on_grown(summary);
	show_selection(summary);
	return GTK_WIDGET(summary);
}

static void dispose(GObject *object)
{
	g_clear_object(&RS_VIEWER_SUMMARY(object)->view);
	G_OBJECT_CLASS(rs_viewer_summary_parent_class)->dispose(object);
}

static void rs_viewer_summary_class_init(RsViewerSummaryClass *class)
{
	G_OBJECT_CLASS(class)->dispose = dispose;
}

static void rs_viewer_summary_init(RsViewerSummary *summary)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);

	gtk_widget_add_css_class(box, "summary");
	gtk_widget_set_margin_start(box, 12);
	gtk_widget_set_margin_end(box, 12);
	summary->events = add_label(GTK_BOX(box), "dim-label");
	summary->loss = add_label(GTK_BOX(box), "error");
	summary->filter = add_label(GTK_BOX(box), "accent");
	summary->selection = add_label(GTK_BOX(box), "dim-label");
	summary->state = add_label(GTK_BOX(box), "dim-label");
	summary->progress = GTK_PROGRESS_BAR(gtk_progress_bar_new());
	gtk_widget_set_valign(GTK_WIDGET(summary->progress), GTK_ALIGN_CENTER);
	gtk_accessible_update_property(GTK_ACCESSIBLE(summary->progress),
				       GTK_ACCESSIBLE_PROPERTY_LABEL, _("Reading the trace"), -1);
	gtk_box_append(GTK_BOX(box), GTK_WIDGET(summary->progress));
	adw_bin_set_child(ADW_BIN(summary), box);
}
