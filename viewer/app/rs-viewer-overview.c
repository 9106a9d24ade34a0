/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-overview.h"
#include "timeline/rs-trace-raster.h"
#include "timeline/rs-trace-ticks.h"

#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#define HEIGHT 52
#define TOP 8        /* pixels above the bars, for losses */
#define GRAB 6       /* pixels around an end of the window */
#define LEAST_WIDE 6 /* pixels of the window, so that it can be grabbed */
#define NOTCH 0.8
#define LOSS_COLOUR 0xe01b24
#define BAR_COLOUR 0x3584e4

/* What was counted. */
typedef struct {
	RsTraceTimeline *timeline; /* what is shown of */
	RsTraceTimeline *all;      /* the whole trace, whose time it is */
	guint width;
	guint64 from, until;
	guint64 *counts;
	guint8 *losses;
	gint64 took;
} Counted;

struct _RsViewerOverview {
	GtkWidget parent_instance;
	RsViewerView *view;
	RsTraceDocument *document;
	guint64 first, end; /* what it shows: all of the trace, as far as one knows */
	guint64 counted;    /* until when it was counted */
	GdkTexture *bars, *losses, *haze;
	guint width;       /* in pixels of the device, of what was counted */
	gboolean is_stale; /* the trace or the width is another one by now */
	gboolean is_busy;
	guint wait; /* source that counts again later; 0: none */
	enum { WINDOW_NONE, WINDOW_ALL, WINDOW_FROM, WINDOW_UNTIL, WINDOW_NEW } drag;
	guint64 drag_from, drag_until;
	GCancellable *cancellable;
};

G_DEFINE_FINAL_TYPE(RsViewerOverview, rs_viewer_overview, GTK_TYPE_WIDGET)

/* ---- counting ---- */

static void counted_free(gpointer data)
{
	Counted *counted = data;

	rs_trace_timeline_unref(counted->timeline);
	rs_trace_timeline_unref(counted->all);
	g_free(counted->counts);
	g_free(counted->losses);
	g_free(counted);
}

/* FALSE: there is no such ring. */
static gboolean count_ring(Counted *counted, guint number, const guint64 *edges, guint n,
			   RsTraceShade *shades)
{
	const RsTraceTimelineRing *ring;

	rs_trace_timeline_lock(counted->timeline);
	ring = rs_trace_timeline_ring(counted->timeline, number);
	if (ring) {
		rs_trace_series_columns(ring->events, edges, n, counted->until, shades);
		rs_trace_raster_losses((const RsTraceTimelineLoss *)ring->losses->data,
				       ring->losses->len, edges, n, counted->losses);
	}
	rs_trace_timeline_unlock(counted->timeline);
	for (guint i = 0; ring && i < n; i++)
		counted->counts[i] += shades[i].weight;
	return ring != NULL;
}

static void count(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	Counted *counted = data;
	const gint64 start = g_get_monotonic_time();
	g_autofree guint64 *edges = g_new(guint64, counted->width + 1);
	g_autofree RsTraceShade *shades = g_new(RsTraceShade, counted->width);
	guint n;

	rs_trace_timeline_lock(counted->all);
	rs_trace_timeline_span(counted->all, &counted->from, &counted->until);
	rs_trace_timeline_unlock(counted->all);
	counted->counts = g_new0(guint64, counted->width);
	counted->losses = g_new0(guint8, counted->width);
	n = rs_trace_raster_edges(counted->from, counted->until, counted->width, edges);
	for (guint i = 0; !g_cancellable_is_cancelled(cancellable); i++)
		if (!count_ring(counted, i, edges, n, shades))
			break;
	/* A trace of less than a nanosecond for each pixel has fewer columns. */
	counted->took = g_get_monotonic_time() - start;
	counted->width = n;
	g_task_return_boolean(task, TRUE);
}

static GdkTexture *texture(guint32 *pixels, guint width, guint height)
{
	g_autoptr(GBytes) bytes = g_bytes_new_take(pixels, sizeof(*pixels) * width * height);

	return gdk_memory_texture_new((gint)width, (gint)height, GDK_MEMORY_DEFAULT, bytes,
				      sizeof(*pixels) * width);
}

/* Of a trace that is still being read, where it will end if it goes on like this. */
static guint64 whole_end(RsViewerOverview *overview)
{
	const double done = rs_trace_document_progress(overview->document);
	const guint64 length = overview->counted - overview->first;

	if (rs_trace_document_state(overview->document) != RS_TRACE_DOCUMENT_LOADING ||
	    !(done >= 0.01 && done < 1) || length > G_MAXUINT64 / 200)
		return overview->counted;
	return overview->first +
	       MIN((guint64)((double)length / done), G_MAXUINT64 - overview->first);
}

static void show_counted(RsViewerOverview *overview, const Counted *counted)
{
	const guint width = overview->width;
	const guint height =
		(guint)((HEIGHT - TOP) * gtk_widget_get_scale_factor(GTK_WIDGET(overview)));
	guint32 *bars = g_new(guint32, (gsize)width * height);
	guint32 *losses = g_new(guint32, width), *haze = g_new(guint32, width);
	guint64 most = 1;

	for (guint i = 0; i < counted->width; i++)
		most = MAX(most, counted->counts[i]);
	rs_trace_raster_bars(counted->counts, counted->width, most,
			     rs_trace_raster_pixel(BAR_COLOUR, 0.9), bars, width, height);
	rs_trace_raster_marks(counted->losses, counted->width,
			      rs_trace_raster_pixel(LOSS_COLOUR, 1), losses, width);
	rs_trace_raster_marks(counted->losses, counted->width,
			      rs_trace_raster_pixel(LOSS_COLOUR, 0.25), haze, width);
	g_clear_object(&overview->bars);
	g_clear_object(&overview->losses);
	g_clear_object(&overview->haze);
	overview->bars = texture(bars, width, height);
	overview->losses = texture(losses, width, 1);
	overview->haze = texture(haze, width, 1);
	overview->first = counted->from;
	overview->counted = MAX(counted->until, counted->from + 1);
	overview->end = whole_end(overview);
	gtk_widget_queue_draw(GTK_WIDGET(overview));
}

static void begin_count(RsViewerOverview *overview);

static gboolean on_waited(gpointer data)
{
	RsViewerOverview *overview = data;

	overview->wait = 0;
	if (overview->is_stale)
		begin_count(overview);
	return G_SOURCE_REMOVE;
}

static void on_counted(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerOverview) overview = data;
	const Counted *counted = g_task_get_task_data(G_TASK(result));

	overview->is_busy = FALSE;
	if (g_cancellable_is_cancelled(overview->cancellable))
		return;
	show_counted(overview, counted);
	/* Of a trace that grows, no more than a tenth of the time goes into it. */
	overview->wait =
		g_timeout_add((guint)CLAMP(counted->took / 100, 50, 5000), on_waited, overview);
}

static void begin_count(RsViewerOverview *overview)
{
	const int scale = gtk_widget_get_scale_factor(GTK_WIDGET(overview));
	const int width = gtk_widget_get_width(GTK_WIDGET(overview)) * scale;
	g_autoptr(GTask) task = NULL;
	Counted *counted;

	overview->is_stale = TRUE;
	if (overview->is_busy || overview->wait || width <= 0)
		return;
	overview->is_stale = FALSE;
	overview->is_busy = TRUE;
	overview->width = (guint)width;
	counted = g_new0(Counted, 1);
	counted->timeline = rs_trace_timeline_ref(rs_trace_document_shown(overview->document));
	counted->all = rs_trace_timeline_ref(rs_trace_document_all(overview->document));
	counted->width = (guint)width;
	/* No widget is a task's source: a thread may be the last that has the task. */
	task = g_task_new(NULL, overview->cancellable, on_counted, g_object_ref(overview));
	g_task_set_task_data(task, counted, counted_free);
	g_task_run_in_thread(task, count);
}

/* ---- geometry ---- */

static double place_of(RsViewerOverview *overview, guint64 ns)
{
	const int width = gtk_widget_get_width(GTK_WIDGET(overview));

	return CLAMP(
		rs_trace_raster_place(overview->first, overview->end, (guint)MAX(width, 1), ns), 0,
		width);
}

static guint64 time_at(RsViewerOverview *overview, double x)
{
	const int width = gtk_widget_get_width(GTK_WIDGET(overview));

	return rs_trace_raster_time(overview->first, overview->end, (guint)MAX(width, 1), x);
}

/* Of the window: wide enough to be seen. */
static void window_of(RsViewerOverview *overview, double *x, double *end)
{
	guint64 from, until;

	rs_viewer_view_range(overview->view, &from, &until);
	*x = place_of(overview, from);
	*end = place_of(overview, until);
	if (*end - *x < LEAST_WIDE) {
		*x = MAX(0, (*x + *end - LEAST_WIDE) / 2);
		*end = *x + LEAST_WIDE;
	}
}

/* ---- drawing ---- */

static GdkRGBA colour_of(GtkWidget *widget, const char *name, const char *otherwise, float alpha)
{
	GdkRGBA colour;

	if (!gtk_style_context_lookup_color(gtk_widget_get_style_context(widget), name, &colour))
		gdk_rgba_parse(&colour, otherwise);
	colour.alpha *= alpha;
	return colour;
}

static void rectangle(GtkSnapshot *snapshot, const GdkRGBA *colour, double x, double y,
		      double width, double height)
{
	if (width > 0 && height > 0)
		gtk_snapshot_append_color(
			snapshot, colour,
			&GRAPHENE_RECT_INIT((float)x, (float)y, (float)width, (float)height));
}

static void draw_marker(RsViewerOverview *overview, GtkSnapshot *snapshot, RsViewerMarker which,
			const char *name, const char *otherwise)
{
	const GdkRGBA rgba = colour_of(GTK_WIDGET(overview), name, otherwise, 1);
	guint64 ns;

	if (!rs_viewer_view_marker(overview->view, which, &ns))
		return;
	rectangle(snapshot, &rgba, (int)place_of(overview, ns), 0, 2, HEIGHT);
}

static void draw_window(RsViewerOverview *overview, GtkSnapshot *snapshot)
{
	GtkWidget *widget = GTK_WIDGET(overview);
	const GdkRGBA shade = colour_of(widget, "window_bg_color", "#fafafa", 0.65f);
	const GdkRGBA edge = colour_of(widget, "accent_bg_color", "#3584e4", 1);
	const int width = gtk_widget_get_width(widget);
	double x, end;

	window_of(overview, &x, &end);
	rectangle(snapshot, &shade, 0, 0, x, HEIGHT);
	rectangle(snapshot, &shade, end, 0, width - end, HEIGHT);
	rectangle(snapshot, &edge, x, 0, end - x, 2);
	rectangle(snapshot, &edge, x, HEIGHT - 2, end - x, 2);
	rectangle(snapshot, &edge, x, 0, 2, HEIGHT);
	rectangle(snapshot, &edge, end - 2, 0, 2, HEIGHT);
	rectangle(snapshot, &edge, x - 1, HEIGHT / 2 - 9, 4, 18);
	rectangle(snapshot, &edge, end - 3, HEIGHT / 2 - 9, 4, 18);
}

static void append(GtkSnapshot *snapshot, GdkTexture *what, double y, double width, double height)
{
	if (what)
		gtk_snapshot_append_texture(
			snapshot, what,
			&GRAPHENE_RECT_INIT(0, (float)y, (float)width, (float)height));
}

/* The bars, losses over them, and stripes where nobody knows yet. */
static void draw_counted(RsViewerOverview *overview, GtkSnapshot *snapshot)
{
	const GdkRGBA text = colour_of(GTK_WIDGET(overview), "view_fg_color", "#2e3436", 0.18f);
	const GdkRGBA none = {0};
	const GskColorStop stops[] = {{0, text}, {0.5f, text}, {0.5f, none}, {1, none}};
	const double width = gtk_widget_get_width(GTK_WIDGET(overview));
	const double known = place_of(overview, overview->counted);

	append(snapshot, overview->bars, TOP, known, HEIGHT - TOP);
	append(snapshot, overview->haze, 0, known, HEIGHT);
	append(snapshot, overview->losses, 0, known, TOP - 2);
	if (known < width)
		gtk_snapshot_append_repeating_linear_gradient(
			snapshot,
			&GRAPHENE_RECT_INIT((float)known, 0, (float)(width - known), HEIGHT),
			&GRAPHENE_POINT_INIT(0, 0), &GRAPHENE_POINT_INIT(7, 7), stops,
			G_N_ELEMENTS(stops));
}

static void overview_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
	RsViewerOverview *overview = RS_VIEWER_OVERVIEW(widget);
	const GdkRGBA view = colour_of(widget, "view_bg_color", "#ffffff", 1);
	const int width = gtk_widget_get_width(widget);
	guint64 ns, row;

	rectangle(snapshot, &view, 0, 0, width, HEIGHT);
	draw_counted(overview, snapshot);
	draw_window(overview, snapshot);
	draw_marker(overview, snapshot, RS_VIEWER_MARKER_A, "marker_a_color", "#c64600");
	draw_marker(overview, snapshot, RS_VIEWER_MARKER_B, "marker_b_color", "#813d9c");
	if (rs_viewer_view_current(overview->view, &ns, &row)) {
		const GdkRGBA text = colour_of(widget, "view_fg_color", "#2e3436", 1);

		rectangle(snapshot, &text, (int)place_of(overview, ns), 0, 1, HEIGHT);
	}
}

/* ---- input ---- */

static void on_drag_begin(GtkGestureDrag *gesture, double x, double y, RsViewerOverview *overview)
{
	double from, until;

	gtk_widget_grab_focus(GTK_WIDGET(overview));
	window_of(overview, &from, &until);
	rs_viewer_view_range(overview->view, &overview->drag_from, &overview->drag_until);
	if (fabs(x - from) <= GRAB && until - from > 2 * GRAB)
		overview->drag = WINDOW_FROM;
	else if (fabs(x - until) <= GRAB && until - from > 2 * GRAB)
		overview->drag = WINDOW_UNTIL;
	else if (x > from - GRAB && x < until + GRAB)
		overview->drag = WINDOW_ALL;
	else
		overview->drag = WINDOW_NEW;
	if (overview->drag == WINDOW_NEW)
		overview->drag_from = time_at(overview, x);
}

static void move_window(RsViewerOverview *overview, double dx)
{
	const guint64 range = overview->drag_until - overview->drag_from;
	const double share = fabs(dx) / MAX(1, gtk_widget_get_width(GTK_WIDGET(overview)));
	const guint64 by = (guint64)((double)(overview->end - overview->first) * share);
	guint64 from = overview->drag_from;

	from = dx < 0 ? from - MIN(by, from) : from + MIN(by, G_MAXUINT64 - range - from);
	rs_viewer_view_set_range(overview->view, from, from + range);
}

static void on_drag_update(GtkGestureDrag *gesture, double dx, double dy,
			   RsViewerOverview *overview)
{
	double x, y;
	guint64 ns;

	if (fabs(dx) < 3 && overview->drag == WINDOW_NEW)
		return;
	gtk_gesture_drag_get_start_point(gesture, &x, &y);
	ns = time_at(overview, x + dx);
	if (overview->drag == WINDOW_ALL)
		move_window(overview, dx);
	else if (overview->drag == WINDOW_FROM)
		rs_viewer_view_set_range(overview->view, MIN(ns, overview->drag_until - 1),
					 overview->drag_until);
	else if (overview->drag == WINDOW_UNTIL)
		rs_viewer_view_set_range(overview->view, overview->drag_from,
					 MAX(ns, overview->drag_from + 1));
	else
		rs_viewer_view_set_range(
			overview->view, MIN(ns, overview->drag_from),
			MAX(MAX(ns, overview->drag_from), MIN(ns, overview->drag_from) + 1));
}

/* A click beside the window takes it there. */
static void on_drag_end(GtkGestureDrag *gesture, double dx, double dy, RsViewerOverview *overview)
{
	guint64 from, until, ns;
	double x, y;

	if (overview->drag == WINDOW_NEW && fabs(dx) < 3) {
		gtk_gesture_drag_get_start_point(gesture, &x, &y);
		ns = time_at(overview, x);
		rs_viewer_view_range(overview->view, &from, &until);
		ns -= MIN(ns, (until - from) / 2);
		rs_viewer_view_set_range(overview->view, ns, ns + (until - from));
	}
	overview->drag = WINDOW_NONE;
}

static gboolean on_scroll(GtkEventControllerScroll *scroll, double dx, double dy,
			  RsViewerOverview *overview)
{
	guint64 from, until;

	rs_viewer_view_range(overview->view, &from, &until);
	rs_viewer_view_zoom(overview->view, pow(NOTCH, -(dx + dy)), from + (until - from) / 2);
	return TRUE;
}

static void on_motion(GtkEventControllerMotion *motion, double x, double y,
		      RsViewerOverview *overview)
{
	double from, until;

	window_of(overview, &from, &until);
	gtk_widget_set_cursor_from_name(
		GTK_WIDGET(overview),
		until - from > 2 * GRAB && (fabs(x - from) <= GRAB || fabs(x - until) <= GRAB)
			? "ew-resize"
		: x > from && x < until ? "grab"
					: NULL);
}

/* ---- object ---- */

static void update_value(RsViewerOverview *overview)
{
	g_autofree char *length = NULL, *text = NULL, *from_text = NULL;
	guint64 from, until;
	double at;

	rs_viewer_view_range(overview->view, &from, &until);
	length = rs_trace_ticks_duration(until - from);
	from_text = rs_trace_ticks_label(from, MAX(1, (until - from) / 100));
	text = g_strdup_printf(_("%s from %s on"), length, from_text);
	at = rs_trace_raster_place(overview->first, MAX(overview->end, overview->first + 1), 100,
				   from);
	gtk_accessible_update_property(GTK_ACCESSIBLE(overview), GTK_ACCESSIBLE_PROPERTY_VALUE_MIN,
				       0.0, GTK_ACCESSIBLE_PROPERTY_VALUE_MAX, 100.0,
				       GTK_ACCESSIBLE_PROPERTY_VALUE_NOW, CLAMP(at, 0, 100),
				       GTK_ACCESSIBLE_PROPERTY_VALUE_TEXT, text, -1);
}

static void on_view(RsViewerOverview *overview)
{
	update_value(overview);
	gtk_widget_queue_draw(GTK_WIDGET(overview));
}

static void measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
		    int *natural, int *minimum_baseline, int *natural_baseline)
{
	*minimum = orientation == GTK_ORIENTATION_HORIZONTAL ? 120 : HEIGHT;
	*natural = *minimum;
}

static void size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
	begin_count(RS_VIEWER_OVERVIEW(widget));
}

static void dispose(GObject *object)
{
	RsViewerOverview *overview = RS_VIEWER_OVERVIEW(object);

	if (overview->cancellable)
		g_cancellable_cancel(overview->cancellable);
	g_clear_handle_id(&overview->wait, g_source_remove);
	g_clear_object(&overview->bars);
	g_clear_object(&overview->losses);
	g_clear_object(&overview->haze);
	g_clear_object(&overview->view);
	g_clear_object(&overview->document);
	G_OBJECT_CLASS(rs_viewer_overview_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	g_object_unref(RS_VIEWER_OVERVIEW(object)->cancellable);
	G_OBJECT_CLASS(rs_viewer_overview_parent_class)->finalize(object);
}

static void rs_viewer_overview_class_init(RsViewerOverviewClass *class)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
	widget_class->snapshot = overview_snapshot;
	widget_class->measure = measure;
	widget_class->size_allocate = size_allocate;
	gtk_widget_class_set_css_name(widget_class, "overview");
	gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_SCROLLBAR);
}

static void rs_viewer_overview_init(RsViewerOverview *overview)
{
	GtkWidget *widget = GTK_WIDGET(overview);
	GtkGesture *drag = gtk_gesture_drag_new();
	GtkEventController *motion = gtk_event_controller_motion_new();
	GtkEventController *scroll =
		gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);

	overview->cancellable = g_cancellable_new();
	g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), overview);
	g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), overview);
	g_signal_connect(drag, "drag-end", G_CALLBACK(on_drag_end), overview);
	g_signal_connect(motion, "motion", G_CALLBACK(on_motion), overview);
	g_signal_connect(scroll, "scroll", G_CALLBACK(on_scroll), overview);
	gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(drag));
	gtk_widget_add_controller(widget, motion);
	gtk_widget_add_controller(widget, scroll);
	gtk_widget_set_focusable(widget, TRUE);
	gtk_widget_set_overflow(widget, GTK_OVERFLOW_HIDDEN);
}

GtkWidget *rs_viewer_overview_new(RsViewerView *view)
{
	RsViewerOverview *overview = g_object_new(RS_VIEWER_TYPE_OVERVIEW, NULL);

	overview->view = g_object_ref(view);
	overview->document = g_object_ref(rs_viewer_view_document(view));
	rs_viewer_view_range(view, &overview->first, &overview->end);
	overview->counted = overview->end;
	g_signal_connect_object(overview->document, "grown", G_CALLBACK(begin_count), overview,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(overview->document, "changed", G_CALLBACK(begin_count), overview,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(overview->document, "ended", G_CALLBACK(begin_count), overview,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(view, "range", G_CALLBACK(on_view), overview, G_CONNECT_SWAPPED);
	g_signal_connect_object(view, "markers", G_CALLBACK(on_view), overview, G_CONNECT_SWAPPED);
	g_signal_connect_object(view, "current", G_CALLBACK(on_view), overview, G_CONNECT_SWAPPED);
	gtk_accessible_update_property(GTK_ACCESSIBLE(overview), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("All of the trace"), -1);
	update_value(overview);
	return GTK_WIDGET(overview);
}
