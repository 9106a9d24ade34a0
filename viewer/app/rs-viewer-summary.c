/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-summary.h"

#include "app/rs-viewer-describe.h"
#include "app/rs-viewer-time.h"

#include <glib/gi18n.h>
#include <string.h>

struct _RsViewerSummary {
	AdwBin parent;
	RsViewerView *view;
	GtkLabel *events, *loss, *filter, *selection, *state;
	GtkProgressBar *progress;
	RsDBusSession1 *session; /* NULL: none */
	gboolean paused;
};

G_DEFINE_FINAL_TYPE(RsViewerSummary, rs_viewer_summary, ADW_TYPE_BIN)

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
	events = rs_viewer_number(n);
	text = g_strdup_printf(ngettext("%s record", "%s records", (gulong)n), events);
	show(summary->events, text);
	g_clear_pointer(&text, g_free);
	lost = rs_viewer_number(n_lost);
	if (n_lost)
		text = g_strdup_printf(ngettext("%s event lost", "%s events lost", (gulong)n_lost),
				       lost);
	show(summary->loss, text);
	g_clear_pointer(&text, g_free);
	left = rs_viewer_number(n_shown);
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

	if (rs_trace_document_state(document) == RS_TRACE_DOCUMENT_LIVE && summary->paused)
		text = _("Guest paused");
	else if (rs_trace_document_state(document) == RS_TRACE_DOCUMENT_LIVE)
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

static void session_changed(RsViewerSummary *summary, guint generation, GVariant *more)
{
	const char *state;

	if (!g_variant_lookup(more, "state", "&s", &state))
		return;
	summary->paused = strcmp(state, "paused") == 0;
	show_state(summary);
}

static void take_session(RsViewerSummary *summary, RsDBusSession1 *session)
{
	if (session == summary->session)
		return;
	if (summary->session)
		g_signal_handlers_disconnect_by_data(summary->session, summary);
	g_set_object(&summary->session, session);
	summary->paused = session && g_strcmp0(rs_dbus_session1_get_state(session), "paused") == 0;
	if (session)
		g_signal_connect_swapped(session, "changed", G_CALLBACK(session_changed), summary);
}

/* ---- between the markers ---- */

/* NULL: nothing. */
static char *say_lost(RsViewerSummary *summary, guint64 from, guint64 until)
{
	RsTraceTimeline *all = rs_trace_document_all(rs_viewer_view_document(summary->view));
	const RsTraceTimelineRing *ring;
	RsViewerLost lost = {.room = RS_VIEWER_LOSSES_MAX};
	g_autofree char *number = NULL;

	rs_trace_timeline_lock(all);
	for (guint n = 0; (ring = rs_trace_timeline_ring(all, n)); n++)
		rs_viewer_lost_add(&lost, ring, from, until);
	rs_trace_timeline_unlock(all);
	if (!lost.n)
		return NULL;
	number = rs_viewer_number(lost.n);
	/* Translators: a number of events. A gap may reach beyond the stretch that is meant. */
	return g_strdup_printf(!lost.room    ? _("%s lost, or more")
			       : lost.beyond ? _("up to %s lost")
					     : _("%s lost"),
			       number);
}

static void show_selection(RsViewerSummary *summary)
{
	g_autofree char *length = NULL, *lost = NULL, *text = NULL;
	guint64 from, until;

	if (rs_viewer_view_selection(summary->view, &from, &until)) {
		length = rs_viewer_time_duration(until - from);
		lost = say_lost(summary, from, until);
		/* Translators: the time between markers A and B; what was lost in it */
		text = lost ? g_strdup_printf(_("A to B: %s, %s"), length, lost)
			    : g_strdup_printf(_("A to B: %s"), length);
	}
	show(summary->selection, text);
}

static void on_grown(RsViewerSummary *summary)
{
	take_session(summary, rs_trace_document_session(rs_viewer_view_document(summary->view)));
	show_counts(summary);
	show_state(summary);
	show_selection(summary);
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
	return GTK_WIDGET(summary);
}

static void dispose(GObject *object)
{
	take_session(RS_VIEWER_SUMMARY(object), NULL);
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
