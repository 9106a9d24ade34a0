/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-canvas-private.h"
#include "timeline/rs-trace-raster.h"
#include "timeline/rs-trace-ticks.h"

#include <glib/gi18n.h>

G_DEFINE_FINAL_TYPE(RsViewerCanvas, rs_viewer_canvas, GTK_TYPE_WIDGET)

#define ROW_MOST 16    /* pixels of a row of slices */
#define ROW_EACH 9u    /* as many are given to each */
#define PAIR_MOST 240u /* a lane gets no higher by itself */

enum { LANE_CHOSEN, N_SIGNALS };
static guint signals[N_SIGNALS];

/* ---- geometry ---- */

int rs_viewer_canvas_left(RsViewerCanvas *canvas)
{
	return MIN(HEADER_WIDTH, gtk_widget_get_width(GTK_WIDGET(canvas)) / 3);
}

int rs_viewer_canvas_time_width(RsViewerCanvas *canvas)
{
	return MAX(1, gtk_widget_get_width(GTK_WIDGET(canvas)) - rs_viewer_canvas_left(canvas));
}

guint64 rs_viewer_canvas_time_at(RsViewerCanvas *canvas, double x)
{
	guint64 from, until;

	rs_viewer_view_range(canvas->view, &from, &until);
	return rs_trace_raster_time(from, until, (guint)rs_viewer_canvas_time_width(canvas),
				    x - rs_viewer_canvas_left(canvas));
}

double rs_viewer_canvas_place_of(RsViewerCanvas *canvas, guint64 ns)
{
	guint64 from, until;

	rs_viewer_view_range(canvas->view, &from, &until);
	return rs_viewer_canvas_left(canvas) +
	       rs_trace_raster_place(from, until, (guint)rs_viewer_canvas_time_width(canvas), ns);
}

int rs_viewer_canvas_pinned_height(RsViewerCanvas *canvas)
{
	const int height = gtk_widget_get_height(GTK_WIDGET(canvas)) - RULER_HEIGHT;
	const guint pinned = rs_viewer_lanes_height(canvas->lanes, TRUE);

	return (int)MIN(pinned, (guint)MAX(0, height * 2 / 3));
}

RsViewerLane *rs_viewer_canvas_lane_at(RsViewerCanvas *canvas, double y, double *below)
{
	const int pinned = rs_viewer_canvas_pinned_height(canvas);
	const gboolean is_pinned = y < RULER_HEIGHT + pinned;
	const RsViewerPlace *places;
	guint at, n;

	y -= RULER_HEIGHT;
	if (y < 0)
		return NULL;
	if (!is_pinned)
		y += gtk_adjustment_get_value(canvas->adjustment) - pinned;
	at = rs_viewer_lanes_at(canvas->lanes, is_pinned, y);
	if (at == G_MAXUINT)
		return NULL;
	places = rs_viewer_lanes_places(canvas->lanes, is_pinned, &n);
	*below = y - places[at].y;
	return places[at].lane;
}

gboolean rs_viewer_canvas_lane_top(RsViewerCanvas *canvas, const RsViewerLane *lane, double *y)
{
	const RsViewerPlace *places;
	guint n;

	places = rs_viewer_lanes_places(canvas->lanes, lane->pinned, &n);
	for (guint i = 0; i < n; i++) {
		if (places[i].lane != lane)
			continue;
		*y = RULER_HEIGHT + (double)places[i].y;
		if (!lane->pinned)
			*y += rs_viewer_canvas_pinned_height(canvas) -
			      gtk_adjustment_get_value(canvas->adjustment);
		return TRUE;
	}
	return FALSE;
}

/* With the gap below it: of what there is for it and for spans. Names of tasks still fit. */
static int lasting_height(const RsViewerLane *lane, int room)
{
	const RsViewerStrip *strip = lane->strip;

	return strip && strip->has_lasting ? room * 2 / 5 : 0;
}

/* Events lie above spans. What has only one of them gives it all. */
void rs_viewer_canvas_bands(const RsViewerLane *lane, RsViewerBand *events, RsViewerBand *spans)
{
	const int room = (int)lane->height - 6;
	const int share = lane->kind == RS_VIEWER_LANE_RING   ? room * 11 / 32
			  : lane->kind == RS_VIEWER_LANE_TASK ? room / 2
			  : lane->kind == RS_VIEWER_LANE_PAIR ? MIN(8, room / 3)
							      : room;

	*events = (RsViewerBand){3, share};
	*spans = (RsViewerBand){3 + share + 1, room - share - 1};
	if (lane->kind == RS_VIEWER_LANE_COUNTER)
		*spans = *events;
	spans->top += lasting_height(lane, spans->height);
	spans->height -= lasting_height(lane, spans->height);
}

RsViewerBand rs_viewer_canvas_lasting_band(const RsViewerLane *lane)
{
	RsViewerBand events, spans;
	int begin;

	rs_viewer_canvas_bands(lane, &events, &spans);
	begin = events.top + events.height + 1;
	return (RsViewerBand){begin, MAX(spans.top - begin - 1, 0)};
}

/* A single row is not as high as the band. */
double rs_viewer_canvas_slice_height(const RsViewerBand *spans, guint n)
{
	return MIN((double)spans->height / MAX(n, 1), ROW_MOST);
}

guint rs_viewer_canvas_pair_height(guint n)
{
	const guint usual = rs_viewer_lane_usual_height(RS_VIEWER_LANE_PAIR);

	/* With what is above and below the rows. */
	return CLAMP(n * ROW_EACH + 15, usual, PAIR_MOST);
}

/* ---- what has changed ---- */

static void update_description(RsViewerCanvas *canvas)
{
	g_autofree char *from_text = NULL, *length = NULL, *chosen = NULL, *text = NULL;
	guint64 from, until, ns, row;

	rs_viewer_view_range(canvas->view, &from, &until);
	from_text = rs_trace_ticks_label(from, MAX(1, (until - from) / 100));
	length = rs_trace_ticks_duration(until - from);
	if (rs_viewer_view_current(canvas->view, &ns, &row)) {
		g_autofree char *at = rs_trace_ticks_label(ns, 1);

		chosen = g_strdup_printf(_("The moment %s is chosen."), at);
	}
	text = g_strdup_printf(_("Shows %s from %s on. %s%s%s"), length, from_text,
			       chosen ? chosen : _("No moment is chosen."), canvas->lane ? " " : "",
			       canvas->lane ? canvas->lane->label : "");
	gtk_accessible_update_property(GTK_ACCESSIBLE(canvas), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
				       text, -1);
}

static void configure_adjustment(RsViewerCanvas *canvas)
{
	const int page = MAX(0, gtk_widget_get_height(GTK_WIDGET(canvas)) - RULER_HEIGHT -
					rs_viewer_canvas_pinned_height(canvas));
	const double upper = rs_viewer_lanes_height(canvas->lanes, FALSE);
	const double value = gtk_adjustment_get_value(canvas->adjustment);

	gtk_adjustment_configure(canvas->adjustment, CLAMP(value, 0, MAX(0, upper - page)), 0,
				 MAX(upper, page), 38, MAX(page * 0.9, 1), page);
}

void rs_viewer_canvas_update_lanes(RsViewerCanvas *canvas)
{
	configure_adjustment(canvas);
	gtk_widget_queue_draw(GTK_WIDGET(canvas));
}

static void on_grown(RsViewerCanvas *canvas)
{
	RsTraceTimeline *all = rs_trace_document_all(canvas->document);
	gboolean changed;

	rs_trace_timeline_lock(all);
	changed = rs_viewer_lanes_sync(canvas->lanes, all);
	rs_trace_timeline_unlock(all);
	canvas->is_stale = TRUE;
	if (changed)
		configure_adjustment(canvas);
	gtk_widget_queue_draw(GTK_WIDGET(canvas));
}

/* What is shown may be what another filter leaves. */
static void on_changed(RsViewerCanvas *canvas)
{
	canvas->n_changes++;
	rs_viewer_canvas_forget_former(canvas);
	on_grown(canvas);
}

static void on_view(RsViewerCanvas *canvas)
{
	update_description(canvas);
	gtk_widget_queue_draw(GTK_WIDGET(canvas));
}

/* ---- lanes ---- */

GtkAdjustment *rs_viewer_canvas_adjustment(RsViewerCanvas *canvas)
{
	return canvas->adjustment;
}

RsViewerLanes *rs_viewer_canvas_lanes(RsViewerCanvas *canvas)
{
	return canvas->lanes;
}

RsViewerLane *rs_viewer_canvas_lane(RsViewerCanvas *canvas)
{
	return canvas->lane;
}

/* Scrolls until all of the lane is seen. */
static void reveal(RsViewerCanvas *canvas, const RsViewerLane *lane)
{
	const double value = gtk_adjustment_get_value(canvas->adjustment);
	const int top = RULER_HEIGHT + rs_viewer_canvas_pinned_height(canvas);
	const int bottom = gtk_widget_get_height(GTK_WIDGET(canvas));
	double y;

	if (lane->pinned || !rs_viewer_canvas_lane_top(canvas, lane, &y))
		return;
	if (y < top)
		gtk_adjustment_set_value(canvas->adjustment, value - (top - y));
	else if (y + lane->height > bottom)
		gtk_adjustment_set_value(canvas->adjustment, value + y + lane->height - bottom);
}

void rs_viewer_canvas_set_lane(RsViewerCanvas *canvas, RsViewerLane *lane)
{
	if (canvas->lane == lane)
		return;
	canvas->lane = lane;
	if (lane)
		reveal(canvas, lane);
	update_description(canvas);
	gtk_widget_queue_draw(GTK_WIDGET(canvas));
	g_signal_emit(canvas, signals[LANE_CHOSEN], 0);
}

gboolean rs_viewer_canvas_add(RsViewerCanvas *canvas, RsViewerLaneKind kind, const char *text,
			      GError **error)
{
	RsViewerLane *lane = rs_viewer_lanes_choose(canvas->lanes, kind, text);

	if (!lane && rs_viewer_lanes_chosen(canvas->lanes)->len < RS_VIEWER_LANES_CHOSEN) {
		g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
				    _("It is too long for a lane, or not UTF-8."));
		return FALSE;
	}
	if (!lane) {
		g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
			    _("No more than %u lanes can be added."), RS_VIEWER_LANES_CHOSEN);
		return FALSE;
	}
	if (!rs_viewer_strip_of(lane)->pick &&
	    !rs_viewer_canvas_begin_chosen(canvas, lane, error)) {
		rs_viewer_canvas_remove(canvas, lane);
		return FALSE;
	}
	rs_viewer_canvas_set_lane(canvas, lane);
	rs_viewer_canvas_update_lanes(canvas);
	return TRUE;
}

void rs_viewer_canvas_remove(RsViewerCanvas *canvas, RsViewerLane *lane)
{
	if (canvas->lane == lane)
		rs_viewer_canvas_set_lane(canvas, NULL);
	if (rs_viewer_lane_is_chosen(lane)) {
		g_ptr_array_remove(canvas->in_view, lane);
		g_ptr_array_remove(canvas->gathered, lane);
		if (canvas->hit_lane == lane)
			canvas->hit_lane = NULL;
		if (canvas->drag_lane == lane)
			canvas->drag_lane = NULL;
		rs_viewer_lanes_remove(canvas->lanes, lane);
	} else {
		rs_viewer_lanes_hide(canvas->lanes, lane, TRUE);
	}
	rs_viewer_canvas_update_lanes(canvas);
}

void rs_viewer_canvas_redraw_lane(RsViewerCanvas *canvas, RsViewerLane *lane)
{
	if (lane->strip)
		rs_viewer_strip_drop(lane->strip);
	gtk_widget_queue_draw(GTK_WIDGET(canvas));
}

void rs_viewer_canvas_popup_lane(RsViewerCanvas *canvas)
{
	double y;

	if (canvas->lane && rs_viewer_canvas_lane_top(canvas, canvas->lane, &y))
		rs_viewer_canvas_popup(canvas, canvas->lane, rs_viewer_canvas_left(canvas) / 2.0,
				       y + canvas->lane->height / 2.0);
}

void rs_viewer_canvas_load(RsViewerCanvas *canvas, GKeyFile *file, const char *group)
{
	rs_viewer_canvas_set_lane(canvas, NULL);
	canvas->hit_lane = canvas->drag_lane = NULL;
	/* Chosen lanes go. Others may have another height. */
	for (guint i = 0; i < canvas->in_view->len; i++)
		rs_viewer_strip_drop(((RsViewerLane *)canvas->in_view->pdata[i])->strip);
	g_ptr_array_set_size(canvas->in_view, 0);
	rs_viewer_lanes_load(canvas->lanes, file, group);
	rs_viewer_canvas_update_lanes(canvas);
}

void rs_viewer_canvas_step_lane(RsViewerCanvas *canvas, gboolean down)
{
	guint n[2], at = G_MAXUINT;
	const RsViewerPlace *places[2];
	guint to;

	places[0] = rs_viewer_lanes_places(canvas->lanes, TRUE, &n[0]);
	places[1] = rs_viewer_lanes_places(canvas->lanes, FALSE, &n[1]);
	for (guint i = 0; i < n[0] + n[1] && canvas->lane; i++)
		if ((i < n[0] ? places[0][i] : places[1][i - n[0]]).lane == canvas->lane)
			at = i;
	if (at == G_MAXUINT)
		to = down ? 0 : n[0] + n[1] - 1;
	else
		to = down ? at + 1 : at - 1;
	if (to < n[0] + n[1])
		rs_viewer_canvas_set_lane(canvas,
					  (to < n[0] ? places[0][to] : places[1][to - n[0]]).lane);
}

/* ---- range ---- */

void rs_viewer_canvas_pan(RsViewerCanvas *canvas, double share)
{
	guint64 from, until, by;

	rs_viewer_view_range(canvas->view, &from, &until);
	by = (guint64)MAX(1, (double)(until - from) * ABS(share));
	if (share < 0)
		rs_viewer_view_set_range(canvas->view, from - MIN(from, by),
					 from < by ? until - from : until - by);
	else
		rs_viewer_view_set_range(canvas->view, from + MIN(by, G_MAXUINT64 - until),
					 until + MIN(by, G_MAXUINT64 - until));
}

void rs_viewer_canvas_zoom(RsViewerCanvas *canvas, double factor)
{
	guint64 from, until, ns, row, at;

	rs_viewer_view_range(canvas->view, &from, &until);
	at = from + (until - from) / 2;
	if (canvas->hovers && canvas->x >= rs_viewer_canvas_left(canvas))
		at = rs_viewer_canvas_time_at(canvas, canvas->x);
	else if (rs_viewer_view_current(canvas->view, &ns, &row) && ns >= from && ns < until)
		at = ns;
	rs_viewer_view_zoom(canvas->view, factor, at);
}

/* ---- object ---- */

static void size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
	RsViewerCanvas *canvas = RS_VIEWER_CANVAS(widget);

	configure_adjustment(canvas);
	if (canvas->menu)
		gtk_popover_present(GTK_POPOVER(canvas->menu));
}

static void measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
		    int *natural, int *minimum_baseline, int *natural_baseline)
{
	*minimum = orientation == GTK_ORIENTATION_HORIZONTAL ? 160 : 90;
	*natural = orientation == GTK_ORIENTATION_HORIZONTAL ? 800 : 300;
}

static void css_changed(GtkWidget *widget, GtkCssStyleChange *change)
{
	GTK_WIDGET_CLASS(rs_viewer_canvas_parent_class)->css_changed(widget, change);
	rs_viewer_canvas_forget_look(RS_VIEWER_CANVAS(widget));
	gtk_widget_queue_draw(widget);
}

static void dispose(GObject *object)
{
	RsViewerCanvas *canvas = RS_VIEWER_CANVAS(object);

	g_clear_pointer(&canvas->menu, gtk_widget_unparent);
	g_clear_handle_id(&canvas->wait, g_source_remove);
	rs_viewer_canvas_forget_look(canvas);
	g_clear_object(&canvas->pin);
	g_clear_object(&canvas->view);
	g_clear_object(&canvas->document);
	G_OBJECT_CLASS(rs_viewer_canvas_parent_class)->dispose(object);
}

static void finalize(GObject *object)
{
	RsViewerCanvas *canvas = RS_VIEWER_CANVAS(object);

	rs_viewer_lanes_free(canvas->lanes);
	g_object_unref(canvas->adjustment);
	g_ptr_array_unref(canvas->in_view);
	g_ptr_array_unref(canvas->gathered);
	g_hash_table_unref(canvas->layouts);
	g_hash_table_unref(canvas->titles);
	g_free(canvas->frame.edges);
	g_free(canvas->frame.shades);
	g_free(canvas->frame.more);
	g_free(canvas->frame.marks);
	g_free(canvas->frame.columns);
	G_OBJECT_CLASS(rs_viewer_canvas_parent_class)->finalize(object);
}

static void rs_viewer_canvas_class_init(RsViewerCanvasClass *class)
{
	GtkWidgetClass *widget_class = GTK_WIDGET_CLASS(class);

	G_OBJECT_CLASS(class)->dispose = dispose;
	G_OBJECT_CLASS(class)->finalize = finalize;
	widget_class->snapshot = rs_viewer_canvas_snapshot;
	widget_class->size_allocate = size_allocate;
	widget_class->measure = measure;
	widget_class->css_changed = css_changed;
	gtk_widget_class_set_css_name(widget_class, "timeline");
	gtk_widget_class_set_accessible_role(widget_class, GTK_ACCESSIBLE_ROLE_GROUP);
	signals[LANE_CHOSEN] = g_signal_new("lane-chosen", G_TYPE_FROM_CLASS(class),
					    G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void rs_viewer_canvas_init(RsViewerCanvas *canvas)
{
	canvas->lanes = rs_viewer_lanes_new(rs_viewer_strip_free);
	canvas->adjustment = g_object_ref_sink(gtk_adjustment_new(0, 0, 0, 0, 0, 0));
	canvas->in_view = g_ptr_array_new();
	canvas->gathered = g_ptr_array_new();
	canvas->layouts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
	canvas->titles = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_object_unref);
	canvas->is_stale = TRUE;
	canvas->n_changes = 1;
	g_signal_connect_object(canvas->adjustment, "value-changed",
				G_CALLBACK(gtk_widget_queue_draw), canvas, G_CONNECT_SWAPPED);
	gtk_widget_set_focusable(GTK_WIDGET(canvas), TRUE);
	gtk_widget_set_overflow(GTK_WIDGET(canvas), GTK_OVERFLOW_HIDDEN);
	gtk_widget_set_hexpand(GTK_WIDGET(canvas), TRUE);
	gtk_widget_set_vexpand(GTK_WIDGET(canvas), TRUE);
	rs_viewer_canvas_add_input(canvas);
}

GtkWidget *rs_viewer_canvas_new(RsViewerView *view)
{
	RsViewerCanvas *canvas = g_object_new(RS_VIEWER_TYPE_CANVAS, NULL);

	canvas->view = g_object_ref(view);
	canvas->document = g_object_ref(rs_viewer_view_document(view));
	g_signal_connect_object(canvas->document, "grown", G_CALLBACK(on_grown), canvas,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(canvas->document, "changed", G_CALLBACK(on_changed), canvas,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(canvas->document, "ended", G_CALLBACK(on_grown), canvas,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(view, "range", G_CALLBACK(on_view), canvas, G_CONNECT_SWAPPED);
	g_signal_connect_object(view, "markers", G_CALLBACK(on_view), canvas, G_CONNECT_SWAPPED);
	g_signal_connect_object(view, "current", G_CALLBACK(on_view), canvas, G_CONNECT_SWAPPED);
	gtk_accessible_update_property(GTK_ACCESSIBLE(canvas), GTK_ACCESSIBLE_PROPERTY_LABEL,
				       _("Timeline"), -1);
	on_grown(canvas);
	update_description(canvas);
	return GTK_WIDGET(canvas);
}
