/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-strip.h"
#include "rs-trace-escape.h"
#include "timeline/rs-trace-raster.h"

#include <string.h>

#define NAME_STEP 44  /* pixels: what is narrower has no name */
#define NAME_BYTES 40 /* of a name in a band */
#define LOSS_COLOUR 0xe01b24
#define HAZE_ALPHA 0.45
#define COUNTER_COLOUR 0x3584e4

RsViewerStrip *rs_viewer_strip_of(RsViewerLane *lane)
{
	if (!lane->strip) {
		RsViewerStrip *strip = g_new0(RsViewerStrip, 1);

		strip->cancellable = g_cancellable_new();
		lane->strip = strip;
	}
	return lane->strip;
}

static void name_clear(gpointer data)
{
	g_free(((RsViewerStripName *)data)->text);
}

void rs_viewer_strip_drop(RsViewerStrip *strip)
{
	strip->stamp = 0;
	g_clear_object(&strip->events);
	g_clear_object(&strip->spans);
	g_clear_object(&strip->lasting);
	g_clear_object(&strip->loss);
	g_clear_object(&strip->haze);
	g_clear_pointer(&strip->rows, g_ptr_array_unref);
	g_clear_pointer(&strip->names, g_array_unref);
}

void rs_viewer_strip_free(gpointer data)
{
	RsViewerStrip *strip = data;

	g_cancellable_cancel(strip->cancellable);
	g_object_unref(strip->cancellable);
	rs_viewer_strip_drop(strip);
	rs_trace_series_free(strip->task_events);
	rs_trace_timeline_unref(strip->of);
	rs_viewer_pairs_unref(strip->pairs);
	rs_trace_timeline_unref(strip->pick);
	rs_trace_values_unref(strip->values);
	g_free(strip->error);
	g_free(strip);
}

const RsTraceTimelineRing *rs_viewer_strip_ring(const RsTraceTimeline *timeline,
						const RsViewerLane *lane, guint *number)
{
	const RsTraceTimelineRing *ring = rs_trace_timeline_ring(timeline, lane->number);

	*number = lane->number;
	if (ring && ring->source == lane->source && ring->ring == lane->ring)
		return ring;
	/* Of what is filtered, rings may have come in another order. */
	for (guint i = 0; (ring = rs_trace_timeline_ring(timeline, i)); i++) {
		*number = i;
		if (ring->source == lane->source && ring->ring == lane->ring)
			return ring;
	}
	return NULL;
}

static gboolean is_task(const RsTraceTimelineTask *task, const RsViewerLane *lane)
{
	return task && task->machine == lane->source && task->pid == lane->pid &&
	       task->boot == lane->boot;
}

const RsTraceTimelineTask *rs_viewer_strip_task(const RsTraceTimeline *timeline,
						const RsViewerLane *lane, guint *number)
{
	const RsTraceTimelineTask *task = rs_trace_timeline_task(timeline, lane->number);

	*number = lane->number;
	if (is_task(task, lane))
		return task;
	for (*number = 0; (task = rs_trace_timeline_task(timeline, *number)); ++*number)
		if (is_task(task, lane))
			return task;
	return NULL;
}

/* ---- pixels ---- */

/* Takes `pixels`. NULL if all of them are transparent. */
static GdkTexture *texture(guint32 *pixels, guint width)
{
	const gsize size = sizeof(*pixels) * width;
	GdkTexture *texture = NULL;
	guint i = 0;

	while (i < width && pixels[i] == 0)
		i++;
	if (i < width) {
		g_autoptr(GBytes) bytes = g_bytes_new(pixels, size);

		texture = gdk_memory_texture_new((gint)width, 1, GDK_MEMORY_DEFAULT, bytes, size);
	}
	g_free(pixels);
	return texture;
}

/*
 * From so many events in a column on nothing shines through: a few times what a column has at this
 * zoom if the lane's events were spread over all of the trace.
 */
static double full(const RsViewerFrame *frame, guint64 count)
{
	const double span = (double)MAX(frame->end - frame->first, 1);
	const double column = (double)(frame->until - frame->from) / frame->n;

	return MAX(8, 8 * (double)count * column / span);
}

static GdkTexture *points(const RsViewerFrame *frame, guint64 count)
{
	guint32 *pixels = g_new(guint32, frame->width);

	rs_trace_raster_points(frame->shades, frame->n, full(frame, count), pixels, frame->width);
	return texture(pixels, frame->width);
}

static GdkTexture *spans(const RsViewerFrame *frame, const RsTraceSeries *series)
{
	guint32 *pixels = g_new(guint32, frame->width);

	rs_trace_series_columns(series, frame->edges, frame->n, frame->end, frame->shades);
	rs_trace_raster_spans(frame->shades, frame->edges, frame->n, pixels, frame->width);
	return texture(pixels, frame->width);
}

/* Of frame->marks. */
static void draw_losses(RsViewerStrip *strip, const RsViewerFrame *frame)
{
	guint32 *pixels = g_new(guint32, frame->width), *pale = g_new(guint32, frame->width);

	rs_trace_raster_marks(frame->marks, frame->n, rs_trace_raster_pixel(LOSS_COLOUR, 1), pixels,
			      frame->width);
	rs_trace_raster_marks(frame->marks, frame->n,
			      rs_trace_raster_pixel(LOSS_COLOUR, HAZE_ALPHA), pale, frame->width);
	strip->loss = texture(pixels, frame->width);
	strip->haze = texture(pale, frame->width);
}

static gboolean find_losses(const RsViewerFrame *frame, const RsTraceTimelineRing *ring)
{
	return rs_trace_raster_losses((const RsTraceTimelineLoss *)ring->losses->data,
				      ring->losses->len, frame->edges, frame->n, frame->marks);
}

/* ---- names ---- */

static gboolean is_dark(guint32 colour)
{
	const guint red = (colour >> 16) & 0xff, green = (colour >> 8) & 0xff, blue = colour & 0xff;

	return red * 299 + green * 587 + blue * 114 < 140 * 1000;
}

static double place(const RsViewerFrame *frame, guint64 ns)
{
	return CLAMP(rs_trace_raster_place(frame->from, frame->until, frame->width, ns), 0,
		     (double)frame->width) /
	       frame->scale;
}

static void add_name(RsViewerStrip *strip, const RsViewerFrame *frame, guint64 from, guint64 until,
		     const RsTraceTimelineTask *task)
{
	const double x = place(frame, from), end = place(frame, until);
	RsViewerStripName name = {.x = (float)x, .width = (float)(end - x)};
	GString *text;

	if (!task || end - x < NAME_STEP)
		return;
	text = g_string_new(NULL);
	rs_trace_append_escaped(text, task->comm, MIN(strlen(task->comm), NAME_BYTES), NULL);
	name.text = g_string_free(text, FALSE);
	name.on_dark = is_dark(task->colour);
	g_array_append_val(strip->names, name);
}

/* A span that is wide enough for a name lies under one of the places that are looked at. */
static void find_names(RsViewerStrip *strip, const RsViewerFrame *frame,
		       const RsTraceTimelineRing *ring)
{
	const double width = frame->width / frame->scale;
	guint64 seen = G_MAXUINT64;

	for (double x = 0; x < width; x += NAME_STEP) {
		const guint64 at = rs_trace_raster_time(frame->from, frame->until, frame->width,
							x * frame->scale);
		const guint64 index =
			rs_trace_series_rank(ring->tasks, at == G_MAXUINT64 ? at : at + 1);
		guint64 ns[2];
		guint32 tags[2];
		guint n;

		if (index == 0 || index - 1 == seen)
			continue;
		seen = index - 1;
		n = rs_trace_series_read(ring->tasks, seen, 2, ns, tags);
		if (n == 0)
			continue;
		add_name(strip, frame, ns[0], n > 1 ? ns[1] : frame->end,
			 rs_trace_timeline_task_of_tag(frame->all, tags[0]));
	}
}

/* ---- lanes ---- */

void rs_viewer_strip_draw_spans(RsViewerLane *lane, const RsViewerFrame *frame)
{
	RsViewerStrip *strip = rs_viewer_strip_of(lane);
	guint number;

	if (lane->kind == RS_VIEWER_LANE_RING) {
		const RsTraceTimelineRing *ring = rs_viewer_strip_ring(frame->all, lane, &number);

		if (!ring)
			return;
		strip->spans = spans(frame, ring->tasks);
		strip->has_lasting = rs_trace_series_count(ring->lasting) > 0;
		if (strip->has_lasting)
			strip->lasting = spans(frame, ring->lasting);
		memset(frame->marks, 0, frame->n);
		if (find_losses(frame, ring))
			draw_losses(strip, frame);
		strip->lost = ring->lost;
		strip->names = g_array_new(FALSE, FALSE, sizeof(RsViewerStripName));
		g_array_set_clear_func(strip->names, name_clear);
		find_names(strip, frame, ring);
	} else if (lane->kind == RS_VIEWER_LANE_TASK) {
		const RsTraceTimelineTask *task = rs_viewer_strip_task(frame->all, lane, &number);

		if (task)
			strip->spans = spans(frame, task->states);
	}
}

void rs_viewer_strip_draw_events(RsViewerLane *lane, const RsViewerFrame *frame)
{
	RsViewerStrip *strip = rs_viewer_strip_of(lane);
	const RsTraceSeries *series = NULL;
	guint number;

	if (lane->kind == RS_VIEWER_LANE_RING) {
		const RsTraceTimelineRing *ring = rs_viewer_strip_ring(frame->shown, lane, &number);

		series = ring ? ring->events : NULL;
	} else if (lane->kind == RS_VIEWER_LANE_TASK && strip->of == frame->shown) {
		series = strip->task_events;
	}
	if (!series)
		return;
	rs_trace_series_columns(series, frame->edges, frame->n, frame->end, frame->shades);
	strip->events = points(frame, rs_trace_series_count(series));
}

/* All rings of the pick on one band. */
static void draw_pick(RsViewerStrip *strip, const RsViewerFrame *frame)
{
	const RsTraceTimelineRing *ring;
	gboolean any = FALSE;
	guint64 count = 0;

	memset(frame->shades, 0, sizeof(*frame->shades) * frame->n);
	memset(frame->marks, 0, frame->n);
	rs_trace_timeline_lock(strip->pick);
	for (guint i = 0; (ring = rs_trace_timeline_ring(strip->pick, i)); i++) {
		rs_trace_series_columns(ring->events, frame->edges, frame->n, frame->end,
					frame->more);
		rs_trace_raster_add(frame->shades, frame->more, frame->n);
		count += rs_trace_series_count(ring->events);
		any |= find_losses(frame, ring);
	}
	rs_trace_timeline_unlock(strip->pick);
	strip->events = points(frame, count);
	if (any)
		draw_losses(strip, frame);
}

/* A column of a picture: what the value had in it, and a paler area below. */
static void draw_column(guint32 *pixels, guint width, guint height, guint x, guint top,
			guint bottom)
{
	const guint32 line = rs_trace_raster_pixel(COUNTER_COLOUR, 1);
	const guint32 area = rs_trace_raster_pixel(COUNTER_COLOUR, 0.25);

	for (guint y = top; y < height; y++)
		pixels[(gsize)y * width + x] = y <= bottom ? line : area;
}

static guint level(const RsViewerStrip *strip, double value, guint height)
{
	const double range = strip->most - strip->least;
	const double share = range > 0 ? (value - strip->least) / range : 0.5;

	return height - 2 - (guint)(CLAMP(share, 0, 1) * (height - 3));
}

static void find_bounds(RsViewerStrip *strip, const RsViewerFrame *frame)
{
	gboolean any = FALSE;

	strip->least = strip->most = 0;
	for (guint i = 0; i < frame->n; i++) {
		const RsTraceValueColumn *column = &frame->columns[i];

		if (!column->has)
			continue;
		strip->least = any ? MIN(strip->least, column->least) : column->least;
		strip->most = any ? MAX(strip->most, column->most) : column->most;
		any = TRUE;
	}
	strip->has_values = any;
}

static void draw_values(RsViewerStrip *strip, const RsViewerFrame *frame, guint lane_height)
{
	const guint height = MAX(4, (guint)((lane_height - 6) * frame->scale));
	const guint width = frame->width;
	guint32 *pixels = g_new0(guint32, (gsize)width * height);
	g_autoptr(GBytes) bytes = g_bytes_new_take(pixels, sizeof(*pixels) * width * height);

	rs_trace_values_lock(strip->values);
	rs_trace_values_columns(strip->values, frame->edges, frame->n, frame->columns);
	rs_trace_values_unlock(strip->values);
	find_bounds(strip, frame);
	for (guint i = 0; i < frame->n; i++) {
		const RsTraceValueColumn *column = &frame->columns[i];

		if (!column->has)
			continue;
		for (guint x = (guint)((guint64)i * width / frame->n);
		     x < (guint64)(i + 1) * width / frame->n; x++)
			draw_column(pixels, width, height, x, level(strip, column->most, height),
				    level(strip, column->least, height));
	}
	strip->spans = gdk_memory_texture_new((gint)width, (gint)height, GDK_MEMORY_DEFAULT, bytes,
					      sizeof(*pixels) * width);
}

static void texture_free(gpointer texture)
{
	g_clear_object((GdkTexture **)&texture);
}

static void draw_pairs(RsViewerStrip *strip, const RsViewerFrame *frame)
{
	guint n;

	rs_trace_timeline_lock(strip->pick);
	n = rs_viewer_pairs_n_rows(strip->pairs);
	strip->rows = g_ptr_array_new_full(n, texture_free);
	for (guint i = 0; i < n; i++)
		g_ptr_array_add(strip->rows, spans(frame, rs_viewer_pairs_row(strip->pairs, i)));
	strip->shared = rs_viewer_pairs_shared(strip->pairs);
	strip->given_up = rs_viewer_pairs_given_up(strip->pairs);
	rs_trace_timeline_unlock(strip->pick);
}

void rs_viewer_strip_draw_chosen(RsViewerLane *lane, const RsViewerFrame *frame)
{
	RsViewerStrip *strip = rs_viewer_strip_of(lane);

	if (!strip->pick)
		return;
	draw_pick(strip, frame);
	if (strip->values)
		draw_values(strip, frame, lane->height);
	if (strip->pairs)
		draw_pairs(strip, frame);
}
