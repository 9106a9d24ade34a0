/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-figures.h"

#include "app/rs-viewer-event-row.h"
#include "app/rs-viewer-flame.h"
#include "app/rs-viewer-histogram.h"
#include "app/rs-viewer-time.h"
#include "document/rs-trace-measure.h"

#include <glib/gi18n.h>
#include <rs-trace-escape.h>

#define ROWS_MOST 15u /* of a table */

struct _RsViewerFigures {
	AdwBin parent;
	RsViewerView *view;
	GCancellable *cancellable; /* of what is being measured; NULL: nothing is */
	GtkLabel *what, *error;
	GtkButton *measure;
	GtkProgressBar *progress;
	GtkEditable *pair;
	GtkBox *results;
	GtkGrid *tasks, *events, *losses;
	GtkLabel *latency, *broken;
	RsViewerHistogram *histogram;
	RsViewerFlame *slices, *stacks;
	GtkWidget *latency_part, *slices_part, *stacks_part;
};

G_DEFINE_FINAL_TYPE(RsViewerFigures, rs_viewer_figures, ADW_TYPE_BIN)

/* ---- tables ---- */

static void clear(GtkGrid *grid)
{
	GtkWidget *child;

	while ((child = gtk_widget_get_first_child(GTK_WIDGET(grid))))
		gtk_grid_remove(grid, child);
}

static void put(GtkGrid *grid, int column, guint row, const char *text)
{
	g_autofree char *plain = rs_trace_escape(text, -1, NULL);
	g_autofree char *valid = g_utf8_make_valid(plain, -1);
	GtkWidget *label = gtk_label_new(valid);

	gtk_label_set_xalign(GTK_LABEL(label), column ? 1 : 0);
	gtk_label_set_ellipsize(GTK_LABEL(label),
				column ? PANGO_ELLIPSIZE_NONE : PANGO_ELLIPSIZE_END);
	gtk_label_set_selectable(GTK_LABEL(label), TRUE);
	gtk_widget_set_hexpand(label, !column);
	if (column)
		gtk_widget_add_css_class(label, "numeric");
	gtk_grid_attach(grid, label, column, (int)row, 1, 1);
}

static void put_number(GtkGrid *grid, int column, guint row, guint64 number)
{
	g_autofree char *text = rs_viewer_number(number);

	put(grid, column, row, text);
}

static void put_more(GtkGrid *grid, guint row, guint n)
{
	g_autofree char *text = NULL;

	if (n <= ROWS_MOST)
		return;
	/* Translators: so many more rows of a table */
	text = g_strdup_printf(_("and %u more"), n - ROWS_MOST);
	put(grid, 0, row, text);
}

/* ---- results ---- */

static void show_tasks(RsViewerFigures *figures, const RsTraceMeasure *got)
{
	guint64 known = 0;
	guint n = MIN(got->tasks->len, ROWS_MOST);

	clear(figures->tasks);
	rs_trace_timeline_lock(got->timeline);
	for (guint i = 0; i < got->tasks->len; i++) {
		const RsTraceMeasureTask *row = &g_array_index(got->tasks, RsTraceMeasureTask, i);
		g_autofree char *name =
			row->task ? g_strdup_printf("%s-%u", row->task->comm, row->task->pid)
				  : g_strdup(_("nobody knows who"));
		g_autofree char *time = rs_viewer_time_duration(row->ns);
		g_autofree char *share = g_strdup_printf(
			"%.1f %%", 100 * (double)row->ns / (double)MAX(got->vcpu_ns, 1));

		known += row->ns;
		if (i >= n)
			continue;
		put(figures->tasks, 0, i, name);
		put(figures->tasks, 1, i, time);
		put(figures->tasks, 2, i, share);
	}
	rs_trace_timeline_unlock(got->timeline);
	if (got->vcpu_ns > known) {
		g_autofree char *time = rs_viewer_time_duration(got->vcpu_ns - known);
		g_autofree char *share =
			g_strdup_printf("%.1f %%", 100 * (double)(got->vcpu_ns - known) /
							   (double)MAX(got->vcpu_ns, 1));

		put(figures->tasks, 0, n, _("idle, or before the first record"));
		put(figures->tasks, 1, n, time);
		put(figures->tasks, 2, n, share);
	}
	put_more(figures->tasks, n + 1, got->tasks->len);
}

static void show_events(RsViewerFigures *figures, const RsTraceMeasure *got)
{
	g_autoptr(GPtrArray) rows = rs_trace_stat_events(got->stat);
	guint64 span = rs_trace_stat_span(got->stat);

	clear(figures->events);
	for (guint i = 0; i < MIN(rows->len, ROWS_MOST); i++) {
		const RsTraceStatRow *row = g_ptr_array_index(rows, i);
		g_autofree char *rate =
			rs_viewer_event_row_rate(rs_trace_stat_rate(row->counts.events, span));

		put(figures->events, 0, i, row->label);
		put_number(figures->events, 1, i, row->counts.events);
		put(figures->events, 2, i, rate);
	}
	put_more(figures->events, ROWS_MOST, rows->len);
}

static void show_losses(RsViewerFigures *figures, const RsTraceMeasure *got)
{
	g_autoptr(GPtrArray) rows = rs_trace_stat_cpus(got->stat);
	guint n = 0;

	clear(figures->losses);
	for (guint i = 0; i < rows->len && n < ROWS_MOST; i++) {
		const RsTraceStatRow *row = g_ptr_array_index(rows, i);
		g_autofree char *name = NULL;

		if (!row->counts.lost)
			continue;
		name = g_strdup_printf("%s CPU %u", row->label, row->cpu);
		put(figures->losses, 0, n, name);
		put_number(figures->losses, 1, n++, row->counts.lost);
	}
	if (!n)
		put(figures->losses, 0, 0, _("nothing was lost"));
}

static void show_latency(RsViewerFigures *figures, const RsTraceMeasure *got)
{
	static const double percents[] = {50, 90, 99, 99.9};
	g_autoptr(GString) text = g_string_new(NULL);
	RsTraceLatencyResult result;

	gtk_widget_set_visible(figures->latency_part, got->latency != NULL);
	if (!got->latency)
		return;
	rs_trace_latency_result(got->latency, &result);
	g_string_append_printf(text, "%s %" G_GUINT64_FORMAT, _("Pairs:"),
			       rs_trace_distribution_count(result.ns));
	for (guint i = 0; i < G_N_ELEMENTS(percents); i++) {
		g_autofree char *time = rs_viewer_time_duration(
			rs_trace_distribution_percentile(result.ns, percents[i]));

		g_string_append_printf(text, "\n%g %%: %s", percents[i], time);
	}
	if (result.spanning)
		g_string_append_printf(text, "\n%s %" G_GUINT64_FORMAT,
				       _("Not counted, for events were lost in between:"),
				       result.spanning);
	if (result.begins || result.ends)
		g_string_append_printf(text, "\n%s %" G_GUINT64_FORMAT, _("Without a partner:"),
				       result.begins + result.ends);
	gtk_label_set_text(figures->latency, text->str);
	rs_viewer_histogram_set(figures->histogram, result.ns);
}

static void box_clear(gpointer data)
{
	g_free(((RsViewerFlameBox *)data)->name);
}

/* Returns whether there is anything. */
static gboolean show_flame(RsViewerFlame *widget, RsTraceFlame *flame, gboolean times)
{
	g_autoptr(GArray) from = rs_trace_flame_boxes(flame);
	GArray *to = g_array_new(FALSE, FALSE, sizeof(RsViewerFlameBox));

	g_array_set_clear_func(to, box_clear);
	for (guint i = 0; i < from->len; i++) {
		const RsTraceFlameBox *box = &g_array_index(from, RsTraceFlameBox, i);
		RsViewerFlameBox copy = {g_utf8_make_valid(box->name, -1),
					 box->depth,
					 box->at,
					 box->total,
					 box->self,
					 box->count};

		g_array_append_val(to, copy);
	}
	rs_viewer_flame_set(widget, to, times);
	return from->len > 0;
}

static void show_slices(RsViewerFigures *figures, const RsTraceMeasure *got)
{
	const guint64 n = rs_trace_flame_broken(got->slices);
	const gboolean any = show_flame(figures->slices, got->slices, TRUE);
	g_autofree char *number = rs_viewer_number(n), *text = NULL;

	text = g_strdup_printf(ngettext("%s slice is not counted, for events were lost in it.",
					"%s slices are not counted, for events were lost in them.",
					(gulong)n),
			       number);
	gtk_label_set_text(figures->broken, text);
	gtk_widget_set_visible(GTK_WIDGET(figures->broken), n > 0);
	gtk_widget_set_visible(figures->slices_part, any || n > 0);
}

static void show(RsViewerFigures *figures, RsTraceMeasure *got)
{
	g_autofree char *length = rs_viewer_time_duration(got->until - got->from);
	g_autofree char *events = rs_viewer_number(rs_trace_stat_total(got->stat)->events);
	g_autofree char *text = g_strdup_printf("%s %s, %s", events, _("events"), length);

	gtk_label_set_text(figures->what, text);
	show_tasks(figures, got);
	show_events(figures, got);
	show_losses(figures, got);
	show_latency(figures, got);
	show_slices(figures, got);
	gtk_widget_set_visible(figures->stacks_part,
			       show_flame(figures->stacks, got->stacks, FALSE));
	gtk_widget_set_visible(GTK_WIDGET(figures->results), TRUE);
}

/* ---- measuring ---- */

static void set_busy(RsViewerFigures *figures, gboolean busy)
{
	gtk_widget_set_visible(GTK_WIDGET(figures->progress), busy);
	gtk_progress_bar_set_fraction(figures->progress, 0);
	gtk_button_set_label(figures->measure, busy ? _("Cancel") : _("Measure"));
}

static void on_progress(double share, gpointer data)
{
	gtk_progress_bar_set_fraction(RS_VIEWER_FIGURES(data)->progress, share);
}

static void on_done(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerFigures) figures = data;
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceMeasure) got = rs_trace_document_measure_finish(result, &error);

	/* Another one has been begun meanwhile, or the pane is gone. */
	if (g_task_get_cancellable(G_TASK(result)) != figures->cancellable)
		return;
	g_clear_object(&figures->cancellable);
	set_busy(figures, FALSE);
	if (got)
		show(figures, got);
	if (error && !g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED)) {
		g_autofree char *text = rs_trace_escape(error->message, -1, "\n");

		gtk_label_set_text(figures->error, text);
		gtk_widget_set_visible(GTK_WIDGET(figures->error), TRUE);
	}
}

void rs_viewer_figures_measure(RsViewerFigures *figures)
{
	RsTraceDocument *document = rs_viewer_view_document(figures->view);
	const char *pair = gtk_editable_get_text(figures->pair);
	RsTraceMeasureConfig config = {.filters = rs_trace_document_filter(document),
				       .pair = *pair ? pair : NULL};

	g_cancellable_cancel(figures->cancellable);
	g_clear_object(&figures->cancellable);
	if (!rs_viewer_view_selection(figures->view, &config.from, &config.until))
		rs_viewer_view_range(figures->view, &config.from, &config.until);
	else
		config.until++; /* what is at marker B counts */
	gtk_widget_set_visible(GTK_WIDGET(figures->error), FALSE);
	set_busy(figures, TRUE);
	figures->cancellable = g_cancellable_new();
	rs_trace_document_measure_async(document, &config, figures->cancellable, on_progress,
					on_done, g_object_ref(figures));
}

static void on_clicked(RsViewerFigures *figures)
{
	if (figures->cancellable) {
		g_cancellable_cancel(figures->cancellable);
		g_clear_object(&figures->cancellable);
		set_busy(figures, FALSE);
		return;
	}
	rs_viewer_figures_measure(figures);
}

/* ---- the widget ---- */

GtkWidget *rs_viewer_figures_new(RsViewerView *view)
{
	RsViewerFigures *figures = g_object_new(RS_VIEWER_TYPE_FIGURES, NULL);

	figures->view = g_object_ref(view);
	return GTK_WIDGET(figures);
}

static void dispose(GObject *object)
{
	RsViewerFigures *figures = RS_VIEWER_FIGURES(object);

	g_cancellable_cancel(figures->cancellable);
	g_clear_object(&figures->cancellable);
	g_clear_object(&figures->view);
	G_OBJECT_CLASS(rs_viewer_figures_parent_class)->dispose(object);
}

static void rs_viewer_figures_class_init(RsViewerFiguresClass *class)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	g_type_ensure(RS_VIEWER_TYPE_HISTOGRAM);
	g_type_ensure(RS_VIEWER_TYPE_FLAME);
	G_OBJECT_CLASS(class)->dispose = dispose;
	gtk_widget_class_set_template_from_resource(widget_class,
						    "/org/ringside/Viewer/ui/figures.ui");
#define BIND(name) gtk_widget_class_bind_template_child(widget_class, RsViewerFigures, name)
	BIND(what);
	BIND(error);
	BIND(measure);
	BIND(progress);
	BIND(pair);
	BIND(results);
	BIND(tasks);
	BIND(events);
	BIND(losses);
	BIND(latency);
	BIND(histogram);
	BIND(slices);
	BIND(broken);
	BIND(stacks);
	BIND(latency_part);
	BIND(slices_part);
	BIND(stacks_part);
	gtk_widget_class_bind_template_callback(widget_class, on_clicked);
	gtk_widget_class_bind_template_callback(widget_class, rs_viewer_figures_measure);
}

static void rs_viewer_figures_init(RsViewerFigures *figures)
{
	gtk_widget_init_template(GTK_WIDGET(figures));
}
