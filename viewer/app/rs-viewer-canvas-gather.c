/* SPDX-License-Identifier: MIT */
/*
 * What lanes show that the timeline does not have at hand: the events of a task are gathered and
 * pairs are made on threads, and what chosen lanes show is picked from the trace.
 */
#include "app/rs-viewer-canvas-private.h"
#include "rs-trace-escape.h"

#include <glib/gi18n.h>
#include <string.h>

#define ALL_OF "%s: CPU >= 0" /* each event of a glob */
#define AT_ONCE 2u            /* threads that gather */
#define KEPT 96u              /* lanes whose events are kept */
#define NO_VALUES 10000u      /* events without a value, after which none is expected */
#define PAIR_ROWS 256u        /* that are paired under one lock */

/* It is to be drawn anew. */
static void touch(RsViewerCanvas *canvas, RsViewerStrip *strip)
{
	strip->stamp = 0;
	gtk_widget_queue_draw(GTK_WIDGET(canvas));
}

/*
 * A thread may be the last that has a task: then what the task refers to ends there. So widgets are
 * no task's source, and the callback, which is the main thread's, has the reference.
 */

/* ---- events of a task ---- */

typedef struct {
	RsTraceTimeline *timeline;
	guint number;
	guint64 n_events; /* of the task, before */
	gint64 took;
	RsTraceSeries *events;
	RsViewerLane *lane;        /* alive if this is not cancelled: */
	GCancellable *cancellable; /* the strip's */
} Gathering;

static void gathering_free(gpointer data)
{
	Gathering *gathering = data;

	rs_trace_series_free(gathering->events);
	rs_trace_timeline_unref(gathering->timeline);
	g_object_unref(gathering->cancellable);
	g_free(gathering);
}

static void gather(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	Gathering *gathering = data;
	const gint64 start = g_get_monotonic_time();

	gathering->events = rs_trace_timeline_task_events(gathering->timeline, gathering->number,
							  gathering->cancellable);
	gathering->took = g_get_monotonic_time() - start;
	g_task_return_boolean(task, TRUE);
}

/* The thread of a filter goes on as long as somebody has its timeline. */
static void forget(RsViewerCanvas *canvas, guint i)
{
	RsViewerStrip *strip = ((RsViewerLane *)canvas->gathered->pdata[i])->strip;

	g_clear_pointer(&strip->task_events, rs_trace_series_free);
	g_clear_pointer(&strip->of, rs_trace_timeline_unref);
	g_ptr_array_remove_index(canvas->gathered, i);
}

void rs_viewer_canvas_forget_former(RsViewerCanvas *canvas)
{
	const RsTraceTimeline *shown = rs_trace_document_shown(canvas->document);

	for (guint i = canvas->gathered->len; i-- > 0;)
		if (((RsViewerStrip *)((RsViewerLane *)canvas->gathered->pdata[i])->strip)->of !=
		    shown)
			forget(canvas, i);
}

/* What was gathered first and is not in view goes. */
static void keep(RsViewerCanvas *canvas, RsViewerLane *lane)
{
	g_ptr_array_remove(canvas->gathered, lane);
	g_ptr_array_add(canvas->gathered, lane);
	for (guint i = 0; i < canvas->gathered->len && canvas->gathered->len > KEPT;) {
		RsViewerStrip *strip = ((RsViewerLane *)canvas->gathered->pdata[i])->strip;

		if (strip->seen == canvas->frames)
			i++;
		else
			forget(canvas, i);
	}
}

static void on_gathered(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerCanvas) canvas = data;
	Gathering *gathering = g_task_get_task_data(G_TASK(result));
	RsViewerStrip *strip;

	canvas->n_gathering--;
	if (!canvas->document || g_cancellable_is_cancelled(gathering->cancellable))
		return;
	strip = gathering->lane->strip;
	strip->is_busy = FALSE;
	touch(canvas, strip);
	if (gathering->timeline != rs_trace_document_shown(canvas->document))
		return;
	rs_trace_series_free(strip->task_events);
	rs_trace_timeline_unref(strip->of);
	strip->task_events = g_steal_pointer(&gathering->events);
	strip->of = rs_trace_timeline_ref(gathering->timeline);
	strip->n_gathered = gathering->n_events;
	/* Of a trace that grows, no more than a tenth of the time goes into it. */
	strip->next_gather = g_get_monotonic_time() + 10 * gathering->took;
	keep(canvas, gathering->lane);
}

static gboolean on_waited(gpointer data)
{
	RsViewerCanvas *canvas = data;

	canvas->wait = 0;
	gtk_widget_queue_draw(GTK_WIDGET(canvas));
	return G_SOURCE_REMOVE;
}

/* Lanes in view are asked for again when they are drawn. */
static gboolean is_early(RsViewerCanvas *canvas, const RsViewerStrip *strip)
{
	const gint64 left = strip->next_gather - g_get_monotonic_time();

	if (left <= 0)
		return FALSE;
	if (!canvas->wait)
		canvas->wait = g_timeout_add((guint)MIN(left / 1000 + 1, 10000), on_waited, canvas);
	return TRUE;
}

/* A task that what is shown lacks is looked for again once there are more. */
static const RsTraceTimelineTask *find_task(RsViewerCanvas *canvas, const RsTraceTimeline *shown,
					    RsViewerLane *lane, guint *number)
{
	RsViewerStrip *strip = rs_viewer_strip_of(lane);
	const RsTraceTimelineTask *task;

	if (strip->missed == canvas->n_changes && !rs_trace_timeline_task(shown, strip->n_tasks))
		return NULL;
	task = rs_viewer_strip_task(shown, lane, number);
	if (!task) {
		strip->missed = canvas->n_changes;
		strip->n_tasks = *number;
	}
	return task;
}

static void gather_task(RsViewerCanvas *canvas, RsViewerLane *lane)
{
	RsTraceTimeline *shown = rs_trace_document_shown(canvas->document);
	RsViewerStrip *strip = rs_viewer_strip_of(lane);
	const RsTraceTimelineTask *task;
	guint64 n_events = 0;
	Gathering *gathering;
	guint number;

	if (strip->is_busy || canvas->n_gathering >= AT_ONCE)
		return;
	rs_trace_timeline_lock(shown);
	task = find_task(canvas, shown, lane, &number);
	if (task)
		n_events = task->events;
	rs_trace_timeline_unlock(shown);
	if (!task ||
	    (strip->of == shown && (strip->n_gathered == n_events || is_early(canvas, strip))))
		return;
	gathering = g_new0(Gathering, 1);
	gathering->timeline = rs_trace_timeline_ref(shown);
	gathering->number = number;
	gathering->n_events = n_events;
	gathering->lane = lane;
	gathering->cancellable = g_object_ref(strip->cancellable);
	strip->is_busy = TRUE;
	canvas->n_gathering++;
	g_autoptr(GTask) work = g_task_new(NULL, NULL, on_gathered, g_object_ref(canvas));

	g_task_set_task_data(work, gathering, gathering_free);
	g_task_run_in_thread(work, gather);
}

/* ---- pairs ---- */

typedef struct {
	RsTraceTimeline *pick;
	RsViewerPairs *pairs;
	gboolean is_complete;
	guint64 taken;
	RsViewerLane *lane;
	GCancellable *cancellable;
} Pairing;

static void pairing_free(gpointer data)
{
	Pairing *pairing = data;

	rs_viewer_pairs_unref(pairing->pairs);
	rs_trace_timeline_unref(pairing->pick);
	g_object_unref(pairing->cancellable);
	g_free(pairing);
}

static void pair(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
	Pairing *pairing = data;
	guint n = 1;

	while (n > 0 && !g_cancellable_is_cancelled(pairing->cancellable)) {
		rs_trace_timeline_lock(pairing->pick);
		n = rs_viewer_pairs_step(pairing->pairs, PAIR_ROWS, pairing->is_complete);
		rs_trace_timeline_unlock(pairing->pick);
		pairing->taken += n;
	}
	g_task_return_boolean(task, TRUE);
}

/* Whether nothing more comes: also what was there before the lane is picked by and by. */
static gboolean has_all(RsViewerCanvas *canvas, const RsViewerStrip *strip)
{
	return rs_trace_document_state(canvas->document) == RS_TRACE_DOCUMENT_READY &&
	       rs_trace_document_pick_progress(canvas->document, strip->pick, NULL) >= 1;
}

/* The lane follows its rows as long as nobody has made it higher or lower. */
static void fit(RsViewerCanvas *canvas, RsViewerLane *lane)
{
	RsViewerStrip *strip = lane->strip;
	guint height;

	rs_trace_timeline_lock(strip->pick);
	height = rs_viewer_canvas_pair_height(rs_viewer_pairs_n_rows(strip->pairs));
	rs_trace_timeline_unlock(strip->pick);
	if (height <= lane->height ||
	    lane->height != (strip->fitted ? strip->fitted
					   : rs_viewer_lane_usual_height(RS_VIEWER_LANE_PAIR)))
		return;
	strip->fitted = height;
	rs_viewer_lanes_set_height(canvas->lanes, lane, height);
	rs_viewer_canvas_update_lanes(canvas);
}

static void on_paired(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(RsViewerCanvas) canvas = data;
	const Pairing *pairing = g_task_get_task_data(G_TASK(result));
	RsViewerStrip *strip;

	if (!canvas->document || g_cancellable_is_cancelled(pairing->cancellable))
		return;
	strip = pairing->lane->strip;
	strip->is_busy = FALSE;
	if (pairing->taken > 0)
		fit(canvas, pairing->lane);
	/* The last ones may have come meanwhile. */
	if (pairing->taken > 0 || (!pairing->is_complete && has_all(canvas, strip)))
		touch(canvas, strip);
}

static void gather_pairs(RsViewerCanvas *canvas, RsViewerLane *lane)
{
	RsViewerStrip *strip = lane->strip;
	Pairing *pairing;

	if (strip->is_busy || !strip->pairs)
		return;
	pairing = g_new0(Pairing, 1);
	pairing->pick = rs_trace_timeline_ref(strip->pick);
	pairing->pairs = rs_viewer_pairs_ref(strip->pairs);
	pairing->is_complete = has_all(canvas, strip);
	pairing->lane = lane;
	pairing->cancellable = g_object_ref(strip->cancellable);
	strip->is_busy = TRUE;
	g_autoptr(GTask) work = g_task_new(NULL, NULL, on_paired, g_object_ref(canvas));

	g_task_set_task_data(work, pairing, pairing_free);
	g_task_run_in_thread(work, pair);
}

/* ---- counters ---- */

/* "system:event.field": the field. NULL: it has none. */
static const char *field_of(const char *text)
{
	const char *dot = strrchr(text, '.');

	return dot && dot != text && dot[1] ? dot + 1 : NULL;
}

/* What is to be said of values that do not come, or not all of them. */
static void judge_values(RsViewerCanvas *canvas, RsViewerStrip *strip)
{
	guint64 count, missing, n_rows;

	if (strip->error)
		return;
	rs_trace_values_lock(strip->values);
	count = rs_trace_values_count(strip->values);
	missing = rs_trace_values_missing(strip->values);
	rs_trace_values_unlock(strip->values);
	if (missing > 0) {
		strip->error = g_strdup(
			_("There are more values than there is room for: the rest is missing."));
	} else if (count == 0) {
		rs_trace_timeline_lock(strip->pick);
		n_rows = rs_trace_timeline_n_rows(strip->pick);
		rs_trace_timeline_unlock(strip->pick);
		if (n_rows >= NO_VALUES)
			strip->error =
				g_strdup(_("The first events have no such field with a number."));
	}
}

/* ---- chosen lanes ---- */

/* The first line: the rest of a message shows where the mistake is. To be freed. */
static char *first_line(const GError *error)
{
	return rs_trace_escape(error->message, (gssize)strcspn(error->message, "\n"), NULL);
}

/* What the records have shown of the lane's filter, which may be another thing later. */
static void judge_pick(RsViewerCanvas *canvas, RsViewerStrip *strip)
{
	g_autoptr(GError) error = NULL;

	rs_trace_document_pick_progress(canvas->document, strip->pick, &error);
	if (!error && !strip->pick_failed)
		return;
	g_clear_pointer(&strip->error, g_free);
	strip->error = error ? first_line(error) : NULL;
	strip->pick_failed = error != NULL;
}

/* What is to be picked of the trace for it. NULL: the text is not of the lane's form. */
static GStrv filters_of(const RsViewerLane *lane)
{
	g_autoptr(GStrvBuilder) filters = g_strv_builder_new();
	g_autofree char *glob = NULL, *end = NULL, *first = NULL, *second = NULL;

	if (lane->kind == RS_VIEWER_LANE_EVENTS) {
		/* A colon with a space behind it begins an expression. */
		first = strstr(lane->text, ": ") ? g_strdup(lane->text)
						 : g_strdup_printf(ALL_OF, lane->text);
	} else if (lane->kind == RS_VIEWER_LANE_COUNTER) {
		if (!field_of(lane->text))
			return NULL;
		glob = g_strndup(lane->text, (gsize)(field_of(lane->text) - 1 - lane->text));
		first = g_strdup_printf(ALL_OF, glob);
	} else {
		if (!rs_viewer_pairs_split(lane->text, &glob, &end))
			return NULL;
		first = g_strdup_printf(ALL_OF, glob);
		second = g_strdup_printf(ALL_OF, end);
	}
	g_strv_builder_add(filters, first);
	if (second)
		g_strv_builder_add(filters, second);
	return g_strv_builder_end(filters);
}

gboolean rs_viewer_canvas_begin_chosen(RsViewerCanvas *canvas, RsViewerLane *lane, GError **error)
{
	static const char *const forms[] = {"", "system:event.field", "BEGIN..END"};
	RsViewerStrip *strip = rs_viewer_strip_of(lane);
	g_auto(GStrv) filters = filters_of(lane);
	GError *why = NULL;

	if (filters && lane->kind == RS_VIEWER_LANE_COUNTER)
		strip->pick = rs_trace_document_pick_values(
			canvas->document, (const char *const *)filters, field_of(lane->text),
			&strip->values, &why);
	else if (filters)
		strip->pick = rs_trace_document_pick(canvas->document, (const char *const *)filters,
						     &why);
	else
		g_set_error(&why, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT,
			    _("It is to be of the form %s."),
			    forms[lane->kind - RS_VIEWER_LANE_EVENTS]);
	if (!strip->pick) {
		g_free(strip->error);
		strip->error = first_line(why);
		g_propagate_error(error, why);
		return FALSE;
	}
	if (lane->kind == RS_VIEWER_LANE_PAIR)
		strip->pairs = rs_viewer_pairs_new(strip->pick, lane->text);
	return TRUE;
}

void rs_viewer_canvas_gather(RsViewerCanvas *canvas, RsViewerLane *lane)
{
	RsViewerStrip *strip = rs_viewer_strip_of(lane);

	if (lane->kind == RS_VIEWER_LANE_TASK)
		gather_task(canvas, lane);
	if (!rs_viewer_lane_is_chosen(lane))
		return;
	/* One that was saved is looked for when it is seen. */
	if (!strip->pick && !strip->error)
		rs_viewer_canvas_begin_chosen(canvas, lane, NULL);
	if (!strip->pick)
		return;
	judge_pick(canvas, strip);
	if (strip->values)
		judge_values(canvas, strip);
	else if (lane->kind == RS_VIEWER_LANE_PAIR && strip->stamp != canvas->frame.stamp)
		gather_pairs(canvas, lane);
}
