/* SPDX-License-Identifier: MIT */
/* The ruler, and what lies over the lanes: markers, the selection, the moment and the pointer. */
#include "app/rs-viewer-canvas-private.h"
#include "app/rs-viewer-time.h"
#include "timeline/rs-trace-ticks.h"

#define TICK_PIXELS 130 /* at least, between two labels */
#define TICKS_MAX 2000u

/* The step of time that a pixel has: no more digits are of use. */
static guint64 pixel_step(RsViewerCanvas *canvas)
{
	guint64 from, until;

	rs_viewer_view_range(canvas->view, &from, &until);
	return rs_trace_ticks_of(until - from, (guint)rs_viewer_canvas_time_width(canvas)).step;
}

static RsTraceTicks ticks_of(RsViewerCanvas *canvas, guint64 *from, guint64 *until)
{
	const guint most = (guint)MAX(1, rs_viewer_canvas_time_width(canvas) / TICK_PIXELS);

	rs_viewer_view_range(canvas->view, from, until);
	return rs_trace_ticks_of(*until - *from, most);
}

void rs_viewer_canvas_draw_grid(RsViewerCanvas *canvas, GtkSnapshot *snapshot)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	const int height = gtk_widget_get_height(GTK_WIDGET(canvas));
	guint64 from, until;
	const RsTraceTicks ticks = ticks_of(canvas, &from, &until);
	guint64 ns = rs_trace_ticks_first(ticks.step, from);

	for (guint i = 0; ns < until && i < TICKS_MAX; i++) {
		rs_viewer_canvas_draw_line(snapshot, rs_viewer_canvas_place_of(canvas, ns),
					   RULER_HEIGHT, height - RULER_HEIGHT, &look->grid);
		ns = ns > G_MAXUINT64 - ticks.step ? G_MAXUINT64 : ns + ticks.step;
	}
}

/* How much is shown, in the corner. */
static void draw_length(RsViewerCanvas *canvas, GtkSnapshot *snapshot, guint64 length)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	g_autofree char *text = rs_viewer_time_duration(length);

	rs_viewer_canvas_draw_text(snapshot, rs_viewer_canvas_layout(canvas, text), 10,
				   RULER_HEIGHT / 2.0, &look->dim);
}

void rs_viewer_canvas_draw_ruler(RsViewerCanvas *canvas, GtkSnapshot *snapshot)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	const int width = gtk_widget_get_width(GTK_WIDGET(canvas));
	const int left = rs_viewer_canvas_left(canvas);
	guint64 from, until;
	const RsTraceTicks ticks = ticks_of(canvas, &from, &until);
	guint64 ns = rs_trace_ticks_first(ticks.minor, from);

	gtk_snapshot_append_color(snapshot, &look->header,
				  &GRAPHENE_RECT_INIT(0, 0, (float)width, RULER_HEIGHT));
	gtk_snapshot_append_color(snapshot, &look->border,
				  &GRAPHENE_RECT_INIT(0, RULER_HEIGHT - 1, (float)width, 1));
	draw_length(canvas, snapshot, until - from);
	gtk_snapshot_push_clip(
		snapshot, &GRAPHENE_RECT_INIT((float)left, 0, (float)(width - left), RULER_HEIGHT));
	for (guint i = 0; ns < until && i < TICKS_MAX; i++) {
		const gboolean is_major = ns % ticks.step == 0;
		const double x = rs_viewer_canvas_place_of(canvas, ns);

		rs_viewer_canvas_draw_line(snapshot, x, is_major ? 14 : RULER_HEIGHT - 6,
					   RULER_HEIGHT, is_major ? &look->dim : &look->border);
		if (is_major) {
			g_autofree char *label = rs_trace_ticks_label(ns, ticks.step);

			rs_viewer_canvas_draw_text(snapshot, rs_viewer_canvas_layout(canvas, label),
						   (int)x + 4, RULER_HEIGHT / 2.0 - 1, &look->dim);
		}
		ns = ns > G_MAXUINT64 - ticks.minor ? G_MAXUINT64 : ns + ticks.minor;
	}
	gtk_snapshot_pop(snapshot);
}

/* A text on a patch of colour, so that it is read over anything. */
static void draw_flag(RsViewerCanvas *canvas, GtkSnapshot *snapshot, const char *text, double x,
		      double y, const GdkRGBA *colour)
{
	static const GdkRGBA white = {1, 1, 1, 1}, black = {0, 0, 0, 1};
	const double light = 0.3 * colour->red + 0.59 * colour->green + 0.11 * colour->blue;
	const int right = gtk_widget_get_width(GTK_WIDGET(canvas));
	PangoLayout *layout = rs_viewer_canvas_layout(canvas, text);
	GskRoundedRect outline;
	int width, height;

	pango_layout_get_pixel_size(layout, &width, &height);
	x = CLAMP(x, rs_viewer_canvas_left(canvas), MAX(0, right - width - 10));
	gsk_rounded_rect_init_from_rect(
		&outline,
		&GRAPHENE_RECT_INIT((float)(int)x, (float)(int)(y - height / 2.0 - 1),
				    (float)(width + 10), (float)(height + 2)),
		4);
	gtk_snapshot_push_rounded_clip(snapshot, &outline);
	gtk_snapshot_append_color(snapshot, colour, &outline.bounds);
	gtk_snapshot_pop(snapshot);
	rs_viewer_canvas_draw_text(snapshot, layout, (int)x + 5, y, light > 0.6 ? &black : &white);
}

static void draw_selection(RsViewerCanvas *canvas, GtkSnapshot *snapshot)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	const int height = gtk_widget_get_height(GTK_WIDGET(canvas));
	guint64 from, until;
	GdkRGBA tint = look->accent;
	double x, end;

	if (!rs_viewer_view_selection(canvas->view, &from, &until))
		return;
	x = MAX(rs_viewer_canvas_left(canvas), rs_viewer_canvas_place_of(canvas, from));
	end = MIN(gtk_widget_get_width(GTK_WIDGET(canvas)),
		  rs_viewer_canvas_place_of(canvas, until));
	if (end <= x)
		return;
	tint.alpha = 0.14f;
	gtk_snapshot_append_color(
		snapshot, &tint, &GRAPHENE_RECT_INIT((float)x, 0, (float)(end - x), (float)height));
}

/* Between the markers stands how far apart they are. */
static void draw_delta(RsViewerCanvas *canvas, GtkSnapshot *snapshot)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	g_autofree char *duration = NULL, *text = NULL;
	guint64 from, until;
	double x, end;
	int width;

	if (!rs_viewer_view_selection(canvas->view, &from, &until))
		return;
	x = MAX(rs_viewer_canvas_left(canvas), rs_viewer_canvas_place_of(canvas, from));
	end = MIN(gtk_widget_get_width(GTK_WIDGET(canvas)),
		  rs_viewer_canvas_place_of(canvas, until));
	if (end < x)
		return;
	duration = rs_trace_ticks_duration(until - from);
	text = g_strdup_printf("Δ %s", duration);
	pango_layout_get_pixel_size(rs_viewer_canvas_layout(canvas, text), &width, NULL);
	/* Behind the flag of the first, or behind both if there is no room. */
	x = (end - x > width + 60 ? x : end) + 24;
	draw_flag(canvas, snapshot, text, x, RULER_HEIGHT / 2.0, &look->accent);
}

static void draw_marker(RsViewerCanvas *canvas, GtkSnapshot *snapshot, RsViewerMarker which)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	const GdkRGBA *colour = which == RS_VIEWER_MARKER_A ? &look->marker_a : &look->marker_b;
	guint64 ns;
	double x;

	if (!rs_viewer_view_marker(canvas->view, which, &ns))
		return;
	x = rs_viewer_canvas_place_of(canvas, ns);
	if (x < rs_viewer_canvas_left(canvas) || x > gtk_widget_get_width(GTK_WIDGET(canvas)))
		return;
	rs_viewer_canvas_draw_line(snapshot, x, 0, gtk_widget_get_height(GTK_WIDGET(canvas)),
				   colour);
	draw_flag(canvas, snapshot, which == RS_VIEWER_MARKER_A ? "A" : "B", x, RULER_HEIGHT / 2.0,
		  colour);
}

static void draw_current(RsViewerCanvas *canvas, GtkSnapshot *snapshot)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	const int height = gtk_widget_get_height(GTK_WIDGET(canvas));
	guint64 ns, row;
	double x;

	if (!rs_viewer_view_current(canvas->view, &ns, &row))
		return;
	x = rs_viewer_canvas_place_of(canvas, ns);
	if (x < rs_viewer_canvas_left(canvas) || x > gtk_widget_get_width(GTK_WIDGET(canvas)))
		return;
	rs_viewer_canvas_draw_line(snapshot, x, RULER_HEIGHT - 8, height, &look->text);
	gtk_snapshot_append_color(snapshot, &look->text,
				  &GRAPHENE_RECT_INIT((float)(int)x - 3, RULER_HEIGHT - 8, 7, 4));
}

static void draw_pointer(RsViewerCanvas *canvas, GtkSnapshot *snapshot)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	g_autofree char *text = NULL;
	GdkRGBA patch = look->text;

	if (!canvas->hovers || canvas->x < rs_viewer_canvas_left(canvas))
		return;
	rs_viewer_canvas_draw_line(snapshot, canvas->x, RULER_HEIGHT,
				   gtk_widget_get_height(GTK_WIDGET(canvas)), &look->dim);
	text = rs_trace_ticks_label(rs_viewer_canvas_time_at(canvas, canvas->x),
				    pixel_step(canvas));
	patch.alpha = 1;
	patch.red = 0.25f + 0.5f * patch.red;
	patch.green = 0.25f + 0.5f * patch.green;
	patch.blue = 0.25f + 0.5f * patch.blue;
	draw_flag(canvas, snapshot, text, canvas->x + 4, RULER_HEIGHT / 2.0, &patch);
}

void rs_viewer_canvas_draw_marks(RsViewerCanvas *canvas, GtkSnapshot *snapshot)
{
	draw_selection(canvas, snapshot);
	draw_current(canvas, snapshot);
	draw_marker(canvas, snapshot, RS_VIEWER_MARKER_A);
	draw_marker(canvas, snapshot, RS_VIEWER_MARKER_B);
	draw_delta(canvas, snapshot);
	draw_pointer(canvas, snapshot);
}
