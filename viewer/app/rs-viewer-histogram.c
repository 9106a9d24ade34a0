/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-histogram.h"

#include "app/rs-viewer-time.h"

#include <glib/gi18n.h>

#define OCTAVES 64u
#define HEIGHT 120
#define LABELS 18 /* pixels below the bars */
#define NONE G_MAXUINT

struct _RsViewerHistogram {
	GtkWidget parent;
	guint64 counts[OCTAVES];
	guint first, n; /* bars that are shown; n 0: none */
	guint chosen;   /* of OCTAVES; NONE */
};

G_DEFINE_FINAL_TYPE(RsViewerHistogram, rs_viewer_histogram, GTK_TYPE_WIDGET)

/* ---- what a bar says ---- */

static char *describe(const RsViewerHistogram *histogram, guint octave)
{
	g_autofree char *low =
		rs_viewer_time_duration(octave ? G_GUINT64_CONSTANT(1) << octave : 0);
	g_autofree char *high = rs_viewer_time_duration(
		octave < 63 ? G_GUINT64_CONSTANT(2) << octave : G_MAXUINT64);

	g_autofree char *count = g_strdup_printf("%" G_GUINT64_FORMAT, histogram->counts[octave]);

	/* Translators: how many took between these two times */
	return g_strdup_printf(ngettext("%s to %s: %s pair", "%s to %s: %s pairs",
					(gulong)histogram->counts[octave]),
			       low, high, count);
}

static void choose(RsViewerHistogram *histogram, guint octave)
{
	g_autofree char *text = NULL;

	if (histogram->chosen == octave)
		return;
	histogram->chosen = octave;
	text = octave == NONE ? NULL : describe(histogram, octave);
	gtk_accessible_update_property(GTK_ACCESSIBLE(histogram),
				       GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text ? text : "", -1);
	gtk_widget_queue_draw(GTK_WIDGET(histogram));
}

static guint octave_at(RsViewerHistogram *histogram, double x)
{
	int width = gtk_widget_get_width(GTK_WIDGET(histogram));
	guint bar;

	if (!histogram->n || width <= 0 || x < 0 || x >= width)
		return NONE;
	bar = (guint)(x * histogram->n / width);
	return histogram->first + MIN(bar, histogram->n - 1);
}

static gboolean query_tooltip(GtkWidget *widget, int x, int y, gboolean keyboard,
			      GtkTooltip *tooltip)
{
	RsViewerHistogram *histogram = RS_VIEWER_HISTOGRAM(widget);
	guint octave = keyboard ? histogram->chosen : octave_at(histogram, x);
	g_autofree char *text = NULL;

	if (octave == NONE)
		return FALSE;
	text = describe(histogram, octave);
	gtk_tooltip_set_text(tooltip, text);
	return TRUE;
}

void rs_viewer_histogram_set(RsViewerHistogram *histogram, const RsTraceDistribution *ns)
{
	guint last = 0;

	histogram->first = NONE;
	for (guint i = 0; i < OCTAVES; i++) {
		histogram->counts[i] = ns ? rs_trace_distribution_octave(ns, i) : 0;
		if (!histogram->counts[i])
			continue;
		histogram->first = MIN(histogram->first, i);
		last = i;
	}
	histogram->n = histogram->first == NONE ? 0 : last - histogram->first + 1;
	choose(histogram, NONE);
	gtk_widget_queue_draw(GTK_WIDGET(histogram));
}

/* ---- drawing ---- */

static void draw_label(RsViewerHistogram *histogram, GtkSnapshot *snapshot, guint octave, float x,
		       float room, const GdkRGBA *colour)
{
	g_autofree char *text =
		rs_viewer_time_duration(octave ? G_GUINT64_CONSTANT(1) << octave : 0);
	g_autoptr(PangoLayout) layout = gtk_widget_create_pango_layout(GTK_WIDGET(histogram), text);
	int width;

	pango_layout_get_pixel_size(layout, &width, NULL);
	if (width + 4 > room)
		return;
	gtk_snapshot_save(snapshot);
	gtk_snapshot_translate(snapshot, &GRAPHENE_POINT_INIT(x, HEIGHT));
	gtk_snapshot_append_layout(snapshot, layout, colour);
	gtk_snapshot_restore(snapshot);
}

static void snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
	RsViewerHistogram *histogram = RS_VIEWER_HISTOGRAM(widget);
	float width = (float)gtk_widget_get_width(widget) / (float)MAX(histogram->n, 1);
	guint every = MAX(1, (guint)(72 / MAX(width, 1)));
	guint64 most = 1;
	GtkStyleContext *context = gtk_widget_get_style_context(widget);
	GdkRGBA text, bar, accent;

	gtk_style_context_get_color(context, &text);
	if (!gtk_style_context_lookup_color(context, "accent_bg_color", &accent))
		accent = text;
	for (guint i = 0; i < histogram->n; i++)
		most = MAX(most, histogram->counts[histogram->first + i]);
	for (guint i = 0; i < histogram->n; i++) {
		guint octave = histogram->first + i;
		double share = (double)histogram->counts[octave] / (double)most;
		float height = histogram->counts[octave] ? (float)MAX(1, share * (HEIGHT - 4)) : 0;

		bar = octave == histogram->chosen ? text : accent;
		gtk_snapshot_append_color(snapshot, &bar,
					  &GRAPHENE_RECT_INIT((float)i * width + 1,
							      (float)HEIGHT - 2 - height,
							      MAX(width - 2, 1), height));
		if (i % every == 0)
			draw_label(histogram, snapshot, octave, (float)i * width,
				   width * (float)every, &text);
	}
	bar = text;
	bar.alpha = 0.4f;
	gtk_snapshot_append_color(
		snapshot, &bar,
		&GRAPHENE_RECT_INIT(0, HEIGHT - 2, (float)gtk_widget_get_width(widget), 1));
	if (gtk_widget_has_visible_focus(widget))
		gtk_snapshot_render_focus(snapshot, gtk_widget_get_style_context(widget), 0, 0,
					  gtk_widget_get_width(widget),
					  gtk_widget_get_height(widget));
}

static void measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
		    int *natural, int *minimum_baseline, int *natural_baseline)
{
	*minimum = orientation == GTK_ORIENTATION_VERTICAL ? HEIGHT + LABELS : 120;
	*natural = orientation == GTK_ORIENTATION_VERTICAL ? HEIGHT + LABELS : 320;
}

/* ---- input ---- */

static gboolean on_key(RsViewerHistogram *histogram, guint key)
{
	int step = key == GDK_KEY_Left ? -1 : key == GDK_KEY_Right ? 1 : 0;
	int bar;

	if (!step || !histogram->n)
		return GDK_EVENT_PROPAGATE;
	bar = histogram->chosen == NONE ? (step > 0 ? 0 : (int)histogram->n - 1)
					: (int)(histogram->chosen - histogram->first) + step;
	choose(histogram, histogram->first + (guint)CLAMP(bar, 0, (int)histogram->n - 1));
	return GDK_EVENT_STOP;
}

static void on_motion(RsViewerHistogram *histogram, double x)
{
	choose(histogram, octave_at(histogram, x));
}

/* ---- the widget ---- */

static void rs_viewer_histogram_class_init(RsViewerHistogramClass *class)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	widget_class->snapshot = snapshot;
	widget_class->measure = measure;
	widget_class->query_tooltip = query_tooltip;
	gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_IMG);
}

static void rs_viewer_histogram_init(RsViewerHistogram *histogram)
{
	GtkEventController *motion = gtk_event_controller_motion_new();
	GtkEventController *keys = gtk_event_controller_key_new();

	histogram->chosen = NONE;
	gtk_widget_set_focusable(GTK_WIDGET(histogram), TRUE);
	gtk_widget_set_has_tooltip(GTK_WIDGET(histogram), TRUE);
	gtk_accessible_update_property(GTK_ACCESSIBLE(histogram), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Latency histogram"), -1);
	g_signal_connect_swapped(motion, "motion", G_CALLBACK(on_motion), histogram);
	g_signal_connect_swapped(keys, "key-pressed", G_CALLBACK(on_key), histogram);
	gtk_widget_add_controller(GTK_WIDGET(histogram), motion);
	gtk_widget_add_controller(GTK_WIDGET(histogram), keys);
}

GtkWidget *rs_viewer_histogram_new(void)
{
	return g_object_new(RS_VIEWER_TYPE_HISTOGRAM, NULL);
}
