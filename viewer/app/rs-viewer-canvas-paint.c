/* SPDX-License-Identifier: MIT */
/* A frame: rows of pixels are made under the trace's lock, and then all is drawn. */
#include "app/rs-viewer-canvas-private.h"
#include "app/rs-viewer-time.h"
#include "timeline/rs-trace-raster.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <math.h>

#define NAME_PAD 4

/* ---- what is in view ---- */

static gboolean on_renamed(gpointer canvas)
{
	rs_viewer_canvas_update_lanes(canvas);
	return G_SOURCE_REMOVE;
}

/* First of all: what is in view depends on the names while one is searched for. */
static void name_tasks(RsViewerCanvas *canvas)
{
	RsTraceTimeline *all = rs_trace_document_all(canvas->document);
	gboolean changed;

	rs_trace_timeline_lock(all);
	changed = rs_viewer_lanes_name_tasks(canvas->lanes, TRUE, 0,
					     rs_viewer_canvas_pinned_height(canvas), all);
	changed |= rs_viewer_lanes_name_tasks(canvas->lanes, FALSE,
					      gtk_adjustment_get_value(canvas->adjustment),
					      gtk_widget_get_height(GTK_WIDGET(canvas)), all);
	rs_trace_timeline_unlock(all);
	/* A scrollbar cannot change while a frame is drawn. */
	if (changed)
		g_idle_add_full(G_PRIORITY_DEFAULT, on_renamed, g_object_ref(canvas),
				g_object_unref);
}

static void look_at(RsViewerCanvas *canvas, gboolean pinned, double top, double height)
{
	guint n, at = rs_viewer_lanes_at(canvas->lanes, pinned, top);
	const RsViewerPlace *places = rs_viewer_lanes_places(canvas->lanes, pinned, &n);

	for (; at < n && places[at].y < top + height; at++) {
		if (rs_viewer_lane_is_heading(places[at].lane))
			continue;
		g_ptr_array_add(canvas->in_view, places[at].lane);
		rs_viewer_strip_of(places[at].lane)->seen = canvas->frames;
	}
}

/* Lanes that have left the view forget their pixels. */
static void find_in_view(RsViewerCanvas *canvas)
{
	GPtrArray *before = canvas->in_view;
	const int pinned = rs_viewer_canvas_pinned_height(canvas);
	const int height = gtk_widget_get_height(GTK_WIDGET(canvas)) - RULER_HEIGHT - pinned;

	canvas->frames++;
	canvas->in_view = g_ptr_array_new();
	look_at(canvas, TRUE, 0, pinned);
	look_at(canvas, FALSE, gtk_adjustment_get_value(canvas->adjustment), height);
	for (guint i = 0; i < before->len; i++) {
		RsViewerStrip *strip = ((RsViewerLane *)before->pdata[i])->strip;

		if (strip->seen != canvas->frames)
			rs_viewer_strip_drop(strip);
	}
	g_ptr_array_unref(before);
}

static void make_room(RsViewerCanvas *canvas, guint width)
{
	RsViewerFrame *frame = &canvas->frame;

	if (canvas->room >= width)
		return;
	canvas->room = width;
	frame->edges = g_renew(guint64, frame->edges, width + 1);
	frame->shades = g_renew(RsTraceShade, frame->shades, width);
	frame->more = g_renew(RsTraceShade, frame->more, width);
	frame->marks = g_renew(guint8, frame->marks, width);
	frame->columns = g_renew(RsTraceValueColumn, frame->columns, width);
}

static void begin_frame(RsViewerCanvas *canvas)
{
	RsViewerFrame *frame = &canvas->frame;
	const double scale = gtk_widget_get_scale_factor(GTK_WIDGET(canvas));
	const guint width = (guint)(rs_viewer_canvas_time_width(canvas) * scale);
	RsTraceTimeline *all = rs_trace_document_all(canvas->document);
	RsTraceTimeline *shown = rs_trace_document_shown(canvas->document);
	guint64 from, until;

	rs_viewer_view_range(canvas->view, &from, &until);
	if (frame->stamp > 0 && !canvas->is_stale && from == frame->from && until == frame->until &&
	    width == frame->width && all == frame->all && shown == frame->shown)
		return;
	make_room(canvas, width);
	canvas->is_stale = FALSE;
	frame->stamp = MAX(frame->stamp + 1, 1);
	frame->from = from;
	frame->until = until;
	frame->width = width;
	frame->scale = scale;
	frame->all = all;
	frame->shown = shown;
	frame->n = rs_trace_raster_edges(from, until, width, frame->edges);
}

void rs_viewer_canvas_prepare(RsViewerCanvas *canvas)
{
	RsViewerFrame *frame = &canvas->frame;
	g_autoptr(GPtrArray) stale = g_ptr_array_new();

	name_tasks(canvas);
	find_in_view(canvas);
	begin_frame(canvas);
	for (guint i = 0; i < canvas->in_view->len; i++) {
		RsViewerLane *lane = canvas->in_view->pdata[i];
		RsViewerStrip *strip = lane->strip;

		rs_viewer_canvas_gather(canvas, lane);
		if (strip->stamp == frame->stamp)
			continue;
		rs_viewer_strip_drop(strip);
		strip->stamp = frame->stamp;
		g_ptr_array_add(stale, lane);
	}
	if (stale->len == 0)
		return;
	rs_trace_timeline_lock(frame->all);
	rs_trace_timeline_span(frame->all, &frame->first, &frame->end);
	for (guint i = 0; i < stale->len; i++)
		rs_viewer_strip_draw_spans(stale->pdata[i], frame);
	if (frame->shown != frame->all) {
		rs_trace_timeline_unlock(frame->all);
		rs_trace_timeline_lock(frame->shown);
	}
	for (guint i = 0; i < stale->len; i++)
		rs_viewer_strip_draw_events(stale->pdata[i], frame);
	rs_trace_timeline_unlock(frame->shown);
	for (guint i = 0; i < stale->len; i++)
		if (rs_viewer_lane_is_chosen(stale->pdata[i]))
			rs_viewer_strip_draw_chosen(stale->pdata[i], frame);
}

/* ---- a lane ---- */

static void append_row(GtkSnapshot *snapshot, GdkTexture *texture, double x, double y, double width,
		       double height)
{
	if (texture && height > 0)
		gtk_snapshot_append_texture(
			snapshot, texture,
			&GRAPHENE_RECT_INIT((float)x, (float)y, (float)width, (float)height));
}

static void draw_names(RsViewerCanvas *canvas, GtkSnapshot *snapshot, const RsViewerStrip *strip,
		       double x, double y, const RsViewerBand *band)
{
	static const GdkRGBA black = {0, 0, 0, 0.85f}, white = {1, 1, 1, 0.95f};

	if (!strip->names || band->height < 11)
		return;
	for (guint i = 0; i < strip->names->len; i++) {
		const RsViewerStripName *name = &g_array_index(strip->names, RsViewerStripName, i);
		PangoLayout *layout = rs_viewer_canvas_layout(canvas, name->text);
		int width;

		pango_layout_get_pixel_size(layout, &width, NULL);
		if (width + 2 * NAME_PAD > name->width)
			continue;
		rs_viewer_canvas_draw_text(snapshot, layout, x + name->x + NAME_PAD,
					   y + band->top + band->height / 2.0,
					   name->on_dark ? &white : &black);
	}
}

static void draw_time(RsViewerCanvas *canvas, GtkSnapshot *snapshot, const RsViewerLane *lane,
		      double y)
{
	const RsViewerStrip *strip = lane->strip;
	const double x = rs_viewer_canvas_left(canvas);
	const double width = rs_viewer_canvas_time_width(canvas);
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	RsViewerBand events, spans;

	if (!strip)
		return;
	rs_viewer_canvas_bands(lane, &events, &spans);
	if (lane->kind == RS_VIEWER_LANE_RING)
		gtk_snapshot_append_color(snapshot, &look->grid,
					  &GRAPHENE_RECT_INIT((float)x, (float)(y + spans.top),
							      (float)width, (float)spans.height));
	append_row(snapshot, strip->spans, x, y + spans.top, width, spans.height);
	if (strip->lasting) {
		const RsViewerBand lasting = rs_viewer_canvas_lasting_band(lane);

		append_row(snapshot, strip->lasting, x, y + lasting.top, width, lasting.height);
	}
	if (lane->kind != RS_VIEWER_LANE_COUNTER)
		append_row(snapshot, strip->events, x, y + events.top, width, events.height);
	for (guint i = 0; strip->rows && i < strip->rows->len; i++) {
		const double high = rs_viewer_canvas_slice_height(&spans, strip->rows->len);

		append_row(snapshot, strip->rows->pdata[i], x, y + spans.top + i * high, width,
			   high > 3 ? high - 1 : high);
	}
	draw_names(canvas, snapshot, strip, x, y, &spans);
	append_row(snapshot, strip->haze, x, y, width, lane->height - 1);
	append_row(snapshot, strip->loss, x, y, width, 3);
	append_row(snapshot, strip->loss, x, y + lane->height - 4, width, 3);
	if (strip->error)
		rs_viewer_canvas_draw_text(snapshot, rs_viewer_canvas_layout(canvas, strip->error),
					   x + 6, y + lane->height / 2.0, &look->error);
}

/* ---- its name ---- */

static void draw_label(RsViewerCanvas *canvas, GtkSnapshot *snapshot, const char *label, double x,
		       double y, double room, const GdkRGBA *colour)
{
	PangoLayout *layout = rs_viewer_canvas_title(canvas, label);

	if (room < 8)
		return;
	pango_layout_set_width(layout, (int)(room * PANGO_SCALE));
	rs_viewer_canvas_draw_text(snapshot, layout, x, y, colour);
}

static void draw_fold(RsViewerCanvas *canvas, GtkSnapshot *snapshot, const RsViewerLane *lane,
		      double y)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);

	rs_viewer_canvas_draw_text(
		snapshot, rs_viewer_canvas_layout(canvas, lane->folded ? "▸" : "▾"),
		lane->kind == RS_VIEWER_LANE_SOURCE ? 6 : 14, y + lane->height / 2.0, &look->dim);
}

static void draw_pin(RsViewerCanvas *canvas, GtkSnapshot *snapshot, double x, double y)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);

	if (!canvas->pin)
		canvas->pin = gtk_icon_theme_lookup_icon(
			gtk_icon_theme_get_for_display(gtk_widget_get_display(GTK_WIDGET(canvas))),
			"view-pin-symbolic", NULL, 12,
			gtk_widget_get_scale_factor(GTK_WIDGET(canvas)), GTK_TEXT_DIR_NONE,
			GTK_ICON_LOOKUP_FORCE_SYMBOLIC);
	gtk_snapshot_save(snapshot);
	gtk_snapshot_translate(snapshot, &GRAPHENE_POINT_INIT((float)x, (float)(int)y));
	gtk_symbolic_paintable_snapshot_symbolic(GTK_SYMBOLIC_PAINTABLE(canvas->pin), snapshot, 12,
						 12, &look->dim, 1);
	gtk_snapshot_restore(snapshot);
}

/* How far the search for what a chosen lane shows has come. NULL: nobody waits for it. */
static char *progress_of(RsViewerCanvas *canvas, const RsViewerStrip *strip)
{
	const double progress =
		strip->pick && rs_trace_document_state(canvas->document) != RS_TRACE_DOCUMENT_LIVE
			? rs_trace_document_pick_progress(canvas->document, strip->pick, NULL)
			: 1;

	return progress < 1 ? g_strdup_printf(_("%.0f %%"), floor(progress * 100)) : NULL;
}

static void append_note(GString *notes, const char *separator, char *note)
{
	if (note && notes->len > 0)
		g_string_append(notes, separator);
	g_string_append(notes, note ? note : "");
	g_free(note);
}

/*
 * How far it has come, between which values a counter is, how many slices have no row of their own,
 * and how many no end: up to two lines. NULL: nothing is to be said.
 */
static char *note_of(RsViewerCanvas *canvas, const RsViewerStrip *strip)
{
	g_autofree char *shared = rs_viewer_number(strip->shared);
	g_autofree char *given_up = rs_viewer_number(strip->given_up);
	GString *notes = g_string_new(NULL);

	append_note(notes, "", progress_of(canvas, strip));
	if (strip->has_values)
		append_note(notes, " · ",
			    g_strdup_printf("%.6g – %.6g", strip->least, strip->most));
	if (strip->shared)
		append_note(
			notes, " · ",
			g_strdup_printf(ngettext("%s deeper", "%s deeper", (gulong)strip->shared),
					shared));
	if (strip->given_up)
		append_note(notes, "\n",
			    g_strdup_printf(ngettext("%s without an end", "%s without an end",
						     (gulong)strip->given_up),
					    given_up));
	return g_string_free(notes, notes->len == 0);
}

/* Lines that end at `right`. Those that the lane is too low for are not drawn. */
static void draw_notes(RsViewerCanvas *canvas, GtkSnapshot *snapshot, const RsViewerLane *lane,
		       double y, double right)
{
	g_autofree char *text = lane->strip ? note_of(canvas, lane->strip) : NULL;
	g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
	double at = MIN(lane->height - 10.0, 32);

	for (char **line = lines; *line && at <= lane->height - 10.0; line++, at += 16) {
		PangoLayout *layout = rs_viewer_canvas_layout(canvas, *line);
		int width;

		pango_layout_get_pixel_size(layout, &width, NULL);
		rs_viewer_canvas_draw_text(snapshot, layout, right - width - 6, y + at,
					   &rs_viewer_canvas_look(canvas)->dim);
	}
}

/* How much is lost. Without the word, if only so the lane's name has its room, too. */
static char *loss_of(RsViewerCanvas *canvas, const RsViewerLane *lane, double room)
{
	const RsViewerStrip *strip = lane->strip;
	g_autofree char *number = rs_viewer_number(strip->lost);
	g_autofree char *text = g_strdup_printf(_("%s lost"), number);
	PangoLayout *name = rs_viewer_canvas_title(canvas, lane->label);
	int name_width, width;

	pango_layout_set_width(name, -1);
	pango_layout_get_pixel_size(name, &name_width, NULL);
	pango_layout_get_pixel_size(rs_viewer_canvas_layout(canvas, text), &width, NULL);
	if (name_width + width + 12 <= room)
		return g_steal_pointer(&text);
	return g_steal_pointer(&number);
}

/*
 * How much is lost, or what there is to say of a chosen lane: at the right end. Returns the
 * width that is not the label's. `x` is where the lane's name begins.
 */
static double draw_note(RsViewerCanvas *canvas, GtkSnapshot *snapshot, const RsViewerLane *lane,
			double x, double y, double right)
{
	const RsViewerStrip *strip = lane->strip;
	g_autofree char *text = NULL;
	PangoLayout *layout;
	int width;

	if (!strip || strip->lost == 0) {
		draw_notes(canvas, snapshot, lane, y, right);
		return 0;
	}
	text = loss_of(canvas, lane, right - x);
	layout = rs_viewer_canvas_layout(canvas, text);
	pango_layout_get_pixel_size(layout, &width, NULL);
	rs_viewer_canvas_draw_text(snapshot, layout, right - width - 6, y + lane->height / 2.0,
				   &rs_viewer_canvas_look(canvas)->error);
	return width + 8;
}

static void draw_header(RsViewerCanvas *canvas, GtkSnapshot *snapshot, const RsViewerLane *lane,
			double y)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	const int width = rs_viewer_canvas_left(canvas);
	const gboolean is_heading = rs_viewer_lane_is_heading(lane);
	const gboolean has_note =
		lane->kind == RS_VIEWER_LANE_COUNTER || lane->kind == RS_VIEWER_LANE_PAIR;
	double x = lane->kind == RS_VIEWER_LANE_SOURCE  ? 20
		   : lane->kind == RS_VIEWER_LANE_TASKS ? 28
		   : rs_viewer_lane_is_chosen(lane)     ? 10
							: 28;
	double right = width;

	if (lane == canvas->lane) {
		GdkRGBA tint = look->accent;

		tint.alpha = 0.22f;
		gtk_snapshot_append_color(
			snapshot, &tint,
			&GRAPHENE_RECT_INIT(0, (float)y, (float)width, (float)lane->height));
		gtk_snapshot_append_color(snapshot, &look->accent,
					  &GRAPHENE_RECT_INIT(0, (float)y, 3, (float)lane->height));
	}
	if (is_heading)
		draw_fold(canvas, snapshot, lane, y);
	if (lane->pinned) {
		draw_pin(canvas, snapshot, 10, y + lane->height / 2.0 - 6);
		x = 28;
	}
	right -= draw_note(canvas, snapshot, lane, x, y, right);
	draw_label(canvas, snapshot, lane->label, x, has_note ? y + 12 : y + lane->height / 2.0,
		   right - x - 4, is_heading ? &look->dim : &look->text);
}

static void draw_lane(RsViewerCanvas *canvas, GtkSnapshot *snapshot, const RsViewerLane *lane,
		      double y)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	const double width = gtk_widget_get_width(GTK_WIDGET(canvas));

	if (rs_viewer_lane_is_heading(lane))
		gtk_snapshot_append_color(
			snapshot, &look->grid,
			&GRAPHENE_RECT_INIT(0, (float)y, (float)width, (float)lane->height));
	else
		draw_time(canvas, snapshot, lane, y);
	gtk_snapshot_append_color(
		snapshot, &look->grid,
		&GRAPHENE_RECT_INIT(0, (float)(y + lane->height - 1), (float)width, 1));
	draw_header(canvas, snapshot, lane, y);
}

static void draw_lanes(RsViewerCanvas *canvas, GtkSnapshot *snapshot, gboolean pinned, double top,
		       double height, double scrolled)
{
	const int width = gtk_widget_get_width(GTK_WIDGET(canvas));
	guint n, at = rs_viewer_lanes_at(canvas->lanes, pinned, scrolled);
	const RsViewerPlace *places = rs_viewer_lanes_places(canvas->lanes, pinned, &n);

	if (height <= 0)
		return;
	gtk_snapshot_push_clip(snapshot,
			       &GRAPHENE_RECT_INIT(0, (float)top, (float)width, (float)height));
	for (; at < n && places[at].y < scrolled + height; at++)
		draw_lane(canvas, snapshot, places[at].lane, top + places[at].y - (int)scrolled);
	gtk_snapshot_pop(snapshot);
}

/* ---- all of it ---- */

/* What is behind the end of a trace that is still being read: nobody knows yet. */
static void draw_unknown(RsViewerCanvas *canvas, GtkSnapshot *snapshot)
{
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	const int height = gtk_widget_get_height(GTK_WIDGET(canvas));
	const int width = gtk_widget_get_width(GTK_WIDGET(canvas));
	const double x = MAX(rs_viewer_canvas_left(canvas),
			     rs_viewer_canvas_place_of(canvas, canvas->frame.end));
	const GdkRGBA none = {0};
	const GskColorStop stops[] = {
		{0, look->border}, {0.5f, look->border}, {0.5f, none}, {1, none}};

	if (rs_trace_document_state(canvas->document) != RS_TRACE_DOCUMENT_LOADING || x >= width)
		return;
	gtk_snapshot_append_repeating_linear_gradient(
		snapshot,
		&GRAPHENE_RECT_INIT((float)x, RULER_HEIGHT, (float)(width - x),
				    (float)(height - RULER_HEIGHT)),
		&GRAPHENE_POINT_INIT(0, 0), &GRAPHENE_POINT_INIT(7, 7), stops, G_N_ELEMENTS(stops));
}

void rs_viewer_canvas_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
	RsViewerCanvas *canvas = RS_VIEWER_CANVAS(widget);
	const RsViewerLook *look = rs_viewer_canvas_look(canvas);
	const int width = gtk_widget_get_width(widget), height = gtk_widget_get_height(widget);
	const int left = rs_viewer_canvas_left(canvas);
	const int pinned = rs_viewer_canvas_pinned_height(canvas);
	const int top = RULER_HEIGHT + pinned;

	rs_viewer_canvas_prepare(canvas);
	gtk_snapshot_append_color(snapshot, &look->view,
				  &GRAPHENE_RECT_INIT(0, 0, (float)width, (float)height));
	gtk_snapshot_append_color(snapshot, &look->header,
				  &GRAPHENE_RECT_INIT(0, 0, (float)left, (float)height));
	rs_viewer_canvas_draw_grid(canvas, snapshot);
	draw_lanes(canvas, snapshot, TRUE, RULER_HEIGHT, pinned, 0);
	draw_lanes(canvas, snapshot, FALSE, top, height - top,
		   gtk_adjustment_get_value(canvas->adjustment));
	if (pinned > 0)
		gtk_snapshot_append_color(
			snapshot, &look->border,
			&GRAPHENE_RECT_INIT(0, (float)(top - 2), (float)width, 2));
	draw_unknown(canvas, snapshot);
	rs_viewer_canvas_draw_ruler(canvas, snapshot);
	rs_viewer_canvas_draw_marks(canvas, snapshot);
	rs_viewer_canvas_draw_line(snapshot, left - 1, 0, height, &look->border);
}
