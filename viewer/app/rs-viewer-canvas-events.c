/* SPDX-License-Identifier: MIT */
/* Which events a lane has: the nearest to a moment, the next one, and what is at a place. */
#include "app/rs-viewer-canvas-private.h"
#include "app/rs-viewer-describe.h"
#include "app/rs-viewer-mark.h"
#include "app/rs-viewer-time.h"
#include "rs-trace-escape.h"
#include "timeline/rs-trace-ticks.h"

#include <glib/gi18n.h>
#include <inttypes.h>
#include <string.h>

/* The events of a lane in their order: a series, or all rows of a timeline. */
typedef struct {
	RsTraceTimeline *timeline;   /* whose classes they have; it is locked */
	const RsTraceSeries *series; /* NULL: all rows */
	guint ring;                  /* of a vCPU's lane; else G_MAXUINT */
} Events;

/* Locks the timeline. FALSE: the lane has none (yet), and nothing is locked. */
static gboolean events_begin(RsViewerCanvas *canvas, RsViewerLane *lane, Events *events)
{
	RsViewerStrip *strip = rs_viewer_strip_of(lane);

	*events =
		(Events){.timeline = rs_trace_document_shown(canvas->document), .ring = G_MAXUINT};
	if (rs_viewer_lane_is_heading(lane))
		return FALSE;
	if (rs_viewer_lane_is_chosen(lane)) {
		events->timeline = strip->pick;
		if (strip->pick)
			rs_trace_timeline_lock(strip->pick);
		return strip->pick != NULL;
	}
	rs_trace_timeline_lock(events->timeline);
	if (lane->kind == RS_VIEWER_LANE_RING) {
		const RsTraceTimelineRing *ring =
			rs_viewer_strip_ring(events->timeline, lane, &events->ring);

		events->series = ring ? ring->events : NULL;
	} else if (strip->of == events->timeline) {
		events->series = strip->task_events;
	}
	if (!events->series)
		rs_trace_timeline_unlock(events->timeline);
	return events->series != NULL;
}

static guint64 events_count(const Events *events)
{
	return events->series ? rs_trace_series_count(events->series)
			      : rs_trace_timeline_n_rows(events->timeline);
}

static guint64 events_rank(const Events *events, guint64 ns)
{
	return events->series ? rs_trace_series_rank(events->series, ns)
			      : rs_trace_timeline_rank(events->timeline, ns);
}

/* As a row of the timeline; of a task's events the ring is not known. FALSE: there is none. */
static gboolean events_read(const Events *events, guint64 index, RsTraceTimelineRow *row)
{
	*row = (RsTraceTimelineRow){.ring = events->ring, .index = index};
	if (events->series)
		return rs_trace_series_read(events->series, index, 1, &row->ns, &row->class) == 1;
	return rs_trace_timeline_rows(events->timeline, index, 1, row) == 1;
}

/* Unlocks the timeline of the events. FALSE: there is none of that index. */
static gboolean take_hit(RsViewerCanvas *canvas, const Events *events, guint64 index,
			 RsViewerHit *hit)
{
	RsTraceTimeline *shown = rs_trace_document_shown(canvas->document);
	RsTraceTimelineRow row;
	RsViewerMark mark = {0};

	if (!events_read(events, index, &row)) {
		rs_trace_timeline_unlock(events->timeline);
		return FALSE;
	}
	rs_viewer_mark_set(&mark, events->timeline, &row);
	hit->ns = row.ns;
	hit->index = index;
	hit->of = events->timeline;
	hit->row = G_MAXUINT64;
	if (events->timeline == shown && events->ring != G_MAXUINT) {
		hit->row = rs_trace_timeline_row_of(shown, events->ring, index);
		rs_trace_timeline_unlock(shown);
	} else {
		rs_trace_timeline_unlock(events->timeline);
		rs_trace_timeline_lock(shown);
		hit->row = rs_viewer_mark_find(&mark, shown);
		rs_trace_timeline_unlock(shown);
	}
	hit->label = rs_trace_escape(mark.label, -1, NULL);
	rs_viewer_mark_clear(&mark);
	return TRUE;
}

gboolean rs_viewer_canvas_nearest(RsViewerCanvas *canvas, RsViewerLane *lane, guint64 ns,
				  guint64 reach, RsViewerHit *hit)
{
	RsTraceTimelineRow before, after;
	gboolean has_before, has_after;
	Events events;
	guint64 index;

	if (!events_begin(canvas, lane, &events))
		return FALSE;
	index = events_rank(&events, ns);
	has_after = events_read(&events, index, &after) && after.ns - ns <= reach;
	has_before =
		index > 0 && events_read(&events, index - 1, &before) && ns - before.ns <= reach;
	if (!has_before && !has_after) {
		rs_trace_timeline_unlock(events.timeline);
		return FALSE;
	}
	if (has_before && (!has_after || ns - before.ns < after.ns - ns))
		index--;
	return take_hit(canvas, &events, index, hit);
}

static void choose(RsViewerCanvas *canvas, RsViewerLane *lane, RsViewerHit *hit)
{
	canvas->hit_lane = lane;
	canvas->hit_index = hit->index;
	canvas->hit_ns = hit->ns;
	canvas->hit_of = hit->of;
	rs_viewer_view_set_current(canvas->view, hit->ns, hit->row);
	g_free(hit->label);
}

void rs_viewer_canvas_choose_at(RsViewerCanvas *canvas, RsViewerLane *lane, double x)
{
	const guint64 ns = rs_viewer_canvas_time_at(canvas, x);
	const guint64 reach = ns - MIN(ns, rs_viewer_canvas_time_at(canvas, x - 12));
	RsViewerHit hit;

	if (lane && rs_viewer_canvas_nearest(canvas, lane, ns, MAX(reach, 1), &hit))
		choose(canvas, lane, &hit);
	else
		rs_viewer_view_set_current(canvas->view, ns, G_MAXUINT64);
}

/*
 * Whether the event that was chosen here still has its index: a filter makes another timeline, and
 * rows of one that grows may shift.
 */
static gboolean is_at_hit(RsViewerCanvas *canvas, RsViewerLane *lane, const Events *events,
			  guint64 ns)
{
	RsTraceTimelineRow row;

	return canvas->hit_lane == lane && canvas->hit_ns == ns &&
	       canvas->hit_of == events->timeline && events_read(events, canvas->hit_index, &row) &&
	       row.ns == ns;
}

gboolean rs_viewer_canvas_step(RsViewerCanvas *canvas, gboolean forward)
{
	RsViewerLane *lane = canvas->lane;
	guint64 ns, row, index;
	RsViewerHit hit;
	Events events;

	if (!lane || !events_begin(canvas, lane, &events))
		return FALSE;
	if (!rs_viewer_view_current(canvas->view, &ns, &row))
		rs_viewer_view_range(canvas->view, &ns, &row);
	if (is_at_hit(canvas, lane, &events, ns))
		index = forward ? canvas->hit_index + 1 : canvas->hit_index - 1;
	else
		index = forward ? events_rank(&events, ns + 1) : events_rank(&events, ns) - 1;
	/* Before the first one it is very large. */
	if (index >= events_count(&events)) {
		rs_trace_timeline_unlock(events.timeline);
		return FALSE;
	}
	if (!take_hit(canvas, &events, index, &hit))
		return FALSE;
	ns = hit.ns;
	choose(canvas, lane, &hit);
	rs_viewer_view_show(canvas->view, ns);
	return TRUE;
}

/* ---- what there is ---- */

static void describe_spans(RsViewerCanvas *canvas, GString *out, RsViewerLane *lane, guint64 from,
			   guint64 until)
{
	RsTraceTimeline *all = rs_trace_document_all(canvas->document);
	guint number;

	rs_trace_timeline_lock(all);
	if (lane->kind == RS_VIEWER_LANE_RING) {
		const RsTraceTimelineRing *ring = rs_viewer_strip_ring(all, lane, &number);

		if (ring)
			rs_viewer_describe_ring(out, all, ring, from, until);
	} else if (lane->kind == RS_VIEWER_LANE_TASK) {
		const RsTraceTimelineTask *task = rs_viewer_strip_task(all, lane, &number);

		if (task)
			rs_viewer_describe_task(out, all, task, from);
	}
	rs_trace_timeline_unlock(all);
}

static void describe_events(RsViewerCanvas *canvas, GString *out, RsViewerLane *lane, guint64 from,
			    guint64 until)
{
	RsTraceTimelineRow row;
	guint64 first, count;
	Events events;

	if (!events_begin(canvas, lane, &events))
		return;
	first = events_rank(&events, from);
	count = events_rank(&events, until) - first;
	if (count > 0 && events_read(&events, first, &row)) {
		const RsTraceTimelineClass *class =
			rs_trace_timeline_class(events.timeline, row.class);
		g_autofree char *label = rs_trace_escape(class ? class->label : "", -1, NULL);
		g_autofree char *more = rs_viewer_number(count - 1);

		g_string_append_printf(out, "\n%s", label);
		if (count > 1)
			g_string_append_printf(out,
					       ngettext(" and %s more event", " and %s more events",
							(gulong)(count - 1)),
					       more);
	}
	rs_trace_timeline_unlock(events.timeline);
}

/* The slice that lies there, and how long it lasts. */
static void describe_slice(GString *out, const RsViewerLane *lane, guint64 from, guint64 until,
			   double below)
{
	const RsViewerStrip *strip = lane->strip;
	RsViewerBand events, spans;
	RsViewerSlice slice;
	double high;
	guint n, row;

	rs_viewer_canvas_bands(lane, &events, &spans);
	rs_trace_timeline_lock(strip->pick);
	n = rs_viewer_pairs_n_rows(strip->pairs);
	high = rs_viewer_canvas_slice_height(&spans, n);
	row = below < spans.top ? 0 : (guint)((below - spans.top) / high);
	if (rs_viewer_pairs_at(strip->pairs, row, from, &slice) ||
	    rs_viewer_pairs_at(strip->pairs, row, until - 1, &slice)) {
		g_autofree char *label =
			rs_trace_escape(slice.begin ? slice.begin->label : "", -1, NULL);
		g_autofree char *duration =
			slice.until == G_MAXUINT64 ? g_strdup(_("has not ended"))
			: slice.is_given_up        ? g_strdup(_("its end is missing"))
					    : rs_viewer_time_duration(slice.until - slice.from);

		g_string_append_printf(out, "\n%s · %s", *label ? label : _("slice"), duration);
		if (row == RS_VIEWER_PAIR_ROWS - 1 && strip->shared)
			g_string_append_printf(out, "\n%s",
					       _("Deeper slices are drawn here, too."));
	}
	rs_trace_timeline_unlock(strip->pick);
}

char *rs_viewer_canvas_describe(RsViewerCanvas *canvas, RsViewerLane *lane, guint64 from,
				guint64 until, double below)
{
	const RsViewerStrip *strip = lane->strip;
	GString *out;

	if (rs_viewer_lane_is_heading(lane))
		return NULL;
	out = g_string_new(lane->label);
	describe_spans(canvas, out, lane, from, until);
	describe_events(canvas, out, lane, from, until);
	if (strip && strip->pairs)
		describe_slice(out, lane, from, until, below);
	if (strip && strip->values) {
		double value;

		rs_trace_values_lock(strip->values);
		if (rs_trace_values_held(strip->values, until, &value, NULL))
			g_string_append_printf(out, "\n%.15g", value);
		rs_trace_values_unlock(strip->values);
	}
	if (strip && strip->error)
		g_string_append_printf(out, "\n%s", strip->error);
	return g_string_free(out, FALSE);
}
