/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-view.h"

#define NOTHING_NS G_GUINT64_CONSTANT(1000000000)       /* the range of a trace without records */
#define FOLLOW_NS (G_GUINT64_CONSTANT(10) * NOTHING_NS) /* how much of a live trace is shown */

struct _RsViewerView {
	GObject parent;
	RsTraceDocument *document;
	gboolean chosen; /* by the user; else it is the whole trace */
	gboolean following;
	guint64 from, until;
	RsViewerView *other; /* that is compared with it; weak, may be NULL */
	gboolean led;        /* the other one changes its range */
	guint64 markers[2];
	gboolean is_set[2];
	gboolean has_current;
	guint64 current_ns, current_row;
	/* Whose row that is, and which record; NULL: there is only the moment. */
	RsTraceTimeline *current_of;
	guint current_ring;
	guint64 current_index;
};

G_DEFINE_FINAL_TYPE(RsViewerView, rs_viewer_view, G_TYPE_OBJECT)

enum { RANGE, MARKERS, CURRENT, FOLLOWING, N_SIGNALS };
static guint signals[N_SIGNALS];

static void emit(RsViewerView *view, guint signal)
{
	g_signal_emit(view, signals[signal], 0);
}

/* ---- the range ---- */

static void whole(RsViewerView *view, guint64 *from, guint64 *until)
{
	RsTraceTimeline *timeline = rs_trace_document_all(view->document);

	rs_trace_timeline_lock(timeline);
	rs_trace_timeline_span(timeline, from, until);
	rs_trace_timeline_unlock(timeline);
	if (*until <= *from)
		*until = *from + NOTHING_NS;
}

/* The other view shows the same stretch, counted from its own first record. */
static void lead(RsViewerView *view)
{
	guint64 mine, its, end;

	whole(view, &mine, &end);
	whole(view->other, &its, &end);
	view->other->led = TRUE;
	rs_viewer_view_set_range(view->other, view->from - MIN(mine, view->from) + its,
				 view->until - MIN(mine, view->until) + its);
	view->other->led = FALSE;
}

static void change_range(RsViewerView *view, guint64 from, guint64 until)
{
	if (from == view->from && until == view->until)
		return;
	view->from = from;
	view->until = until;
	emit(view, RANGE);
	if (view->other && view->chosen && !view->led)
		lead(view);
}

/* Into the trace, without a change of its length if there is room for it. */
static void clamp_range(RsViewerView *view, guint64 *from, guint64 *until)
{
	guint64 first, end, length;

	whole(view, &first, &end);
	length = *until > *from ? *until - *from : 1;
	length = MIN(length, end - first);
	*from = CLAMP(*from, first, end - length);
	*until = *from + length;
}

static void follow(RsViewerView *view)
{
	guint64 first, end, length;

	whole(view, &first, &end);
	length = view->chosen ? view->until - view->from : FOLLOW_NS;
	change_range(view, end - MIN(length, end - first), end);
}

/* The number of the row that is chosen may have shifted, or the row is gone with its timeline. */
static void follow_current(RsViewerView *view)
{
	if (!view->current_of)
		return;
	if (view->current_of != rs_trace_document_shown(view->document)) {
		g_clear_pointer(&view->current_of, rs_trace_timeline_unref);
		view->current_row = G_MAXUINT64;
		emit(view, CURRENT);
		return;
	}
	rs_trace_timeline_lock(view->current_of);
	view->current_row =
		rs_trace_timeline_row_of(view->current_of, view->current_ring, view->current_index);
	rs_trace_timeline_unlock(view->current_of);
}

static void on_grown(RsViewerView *view)
{
	guint64 first, end;

	follow_current(view);
	if (view->following) {
		follow(view);
	} else if (!view->chosen) {
		whole(view, &first, &end);
		change_range(view, first, end);
	}
}

void rs_viewer_view_range(RsViewerView *view, guint64 *from, guint64 *until)
{
	*from = view->from;
	*until = view->until;
}

void rs_viewer_view_set_range(RsViewerView *view, guint64 from, guint64 until)
{
	guint64 first, end;

	whole(view, &first, &end);
	clamp_range(view, &from, &until);
	view->chosen = TRUE;
	if (until < end)
		rs_viewer_view_set_following(view, FALSE);
	change_range(view, from, until);
}

static void reset(RsViewerView *view)
{
	guint64 first, end;

	rs_viewer_view_set_following(view, FALSE);
	view->chosen = FALSE;
	whole(view, &first, &end);
	change_range(view, first, end);
}

void rs_viewer_view_reset_range(RsViewerView *view)
{
	reset(view);
	if (view->other)
		reset(view->other);
}

void rs_viewer_view_show(RsViewerView *view, guint64 ns)
{
	guint64 half = (view->until - view->from) / 2;

	if (ns < view->from || ns >= view->until)
		rs_viewer_view_set_range(view, ns > half ? ns - half : 0,
					 ns > half ? ns + half : 2 * half);
}

void rs_viewer_view_zoom(RsViewerView *view, double factor, guint64 ns)
{
	guint64 length = view->until - view->from, before, first, end;
	double wanted = (double)length * CLAMP(factor, 1e-9, 1e9);

	whole(view, &first, &end);
	ns = CLAMP(ns, view->from, view->until);
	wanted = CLAMP(wanted, 1, (double)(end - first));
	/* A short range can be zoomed out by a small factor, too. */
	if (factor > 1 && (guint64)wanted <= length)
		wanted = (double)(length + 1);
	before = (guint64)((double)(ns - view->from) / (double)length * wanted);
	rs_viewer_view_set_range(view, ns > before ? ns - before : 0,
				 (ns > before ? ns - before : 0) + (guint64)wanted);
}

void rs_viewer_view_link(RsViewerView *view, RsViewerView *other)
{
	g_set_weak_pointer(&view->other, other);
	g_set_weak_pointer(&other->other, view);
}

gboolean rs_viewer_view_following(RsViewerView *view)
{
	return view->following;
}

void rs_viewer_view_set_following(RsViewerView *view, gboolean following)
{
	if (view->following == following)
		return;
	view->following = following;
	if (following)
		follow(view);
	emit(view, FOLLOWING);
}

/* ---- markers ---- */

gboolean rs_viewer_view_marker(RsViewerView *view, RsViewerMarker which, guint64 *ns)
{
	if (view->is_set[which])
		*ns = view->markers[which];
	return view->is_set[which];
}

void rs_viewer_view_set_marker(RsViewerView *view, RsViewerMarker which, guint64 ns)
{
	if (view->is_set[which] && view->markers[which] == ns)
		return;
	view->is_set[which] = TRUE;
	view->markers[which] = ns;
	emit(view, MARKERS);
}

void rs_viewer_view_clear_marker(RsViewerView *view, RsViewerMarker which)
{
	if (!view->is_set[which])
		return;
	view->is_set[which] = FALSE;
	emit(view, MARKERS);
}

gboolean rs_viewer_view_selection(RsViewerView *view, guint64 *from, guint64 *until)
{
	if (!view->is_set[RS_VIEWER_MARKER_A] || !view->is_set[RS_VIEWER_MARKER_B])
		return FALSE;
	*from = MIN(view->markers[0], view->markers[1]);
	*until = MAX(view->markers[0], view->markers[1]);
	return TRUE;
}

/* ---- what is chosen ---- */

gboolean rs_viewer_view_current(RsViewerView *view, guint64 *ns, guint64 *row)
{
	if (!view->has_current)
		return FALSE;
	*ns = view->current_ns;
	*row = view->current_row;
	return TRUE;
}

gboolean rs_viewer_view_record(RsViewerView *view, RsTraceTimelineRow *row)
{
	guint64 number;
	guint n;

	if (!view->current_of || view->current_of != rs_trace_document_shown(view->document))
		return FALSE;
	rs_trace_timeline_lock(view->current_of);
	number =
		rs_trace_timeline_row_of(view->current_of, view->current_ring, view->current_index);
	n = rs_trace_timeline_rows(view->current_of, number, 1, row);
	rs_trace_timeline_unlock(view->current_of);
	return n == 1;
}

/* Which record a row is, as long as its timeline is shown. */
static void set_record(RsViewerView *view, guint64 row)
{
	RsTraceTimeline *timeline = rs_trace_document_shown(view->document);
	RsTraceTimelineRow at;
	guint n = 0;

	g_clear_pointer(&view->current_of, rs_trace_timeline_unref);
	if (row == G_MAXUINT64)
		return;
	rs_trace_timeline_lock(timeline);
	n = rs_trace_timeline_rows(timeline, row, 1, &at);
	rs_trace_timeline_unlock(timeline);
	if (!n)
		return;
	view->current_of = rs_trace_timeline_ref(timeline);
	view->current_ring = at.ring;
	view->current_index = at.index;
}

void rs_viewer_view_set_current(RsViewerView *view, guint64 ns, guint64 row)
{
	if (view->has_current && view->current_ns == ns && view->current_row == row)
		return;
	view->has_current = TRUE;
	view->current_ns = ns;
	view->current_row = row;
	set_record(view, row);
	emit(view, CURRENT);
}

/* ---- the object ---- */

RsViewerView *rs_viewer_view_new(RsTraceDocument *document)
{
	RsViewerView *view = g_object_new(RS_VIEWER_TYPE_VIEW, NULL);

	view->document = g_object_ref(document);
	view->following = rs_trace_document_is_live(document);
	whole(view, &view->from, &view->until);
	g_signal_connect_object(document, "grown", G_CALLBACK(on_grown), view, G_CONNECT_SWAPPED);
	g_signal_connect_object(document, "changed", G_CALLBACK(follow_current), view,
				G_CONNECT_SWAPPED);
	g_signal_connect_object(document, "ended", G_CALLBACK(on_grown), view, G_CONNECT_SWAPPED);
	return view;
}

RsTraceDocument *rs_viewer_view_document(RsViewerView *view)
{
	return view->document;
}

static void dispose(GObject *object)
{
	RsViewerView *view = RS_VIEWER_VIEW(object);

	if (view->document)
		g_signal_handlers_disconnect_by_data(view->document, view);
	g_clear_pointer(&view->current_of, rs_trace_timeline_unref);
	g_clear_object(&view->document);
	g_clear_weak_pointer(&view->other);
	G_OBJECT_CLASS(rs_viewer_view_parent_class)->dispose(object);
}

static void rs_viewer_view_class_init(RsViewerViewClass *class)
{
	static const char *const names[N_SIGNALS] = {"range", "markers", "current", "following"};

	G_OBJECT_CLASS(class)->dispose = dispose;
	for (guint i = 0; i < N_SIGNALS; i++)
		signals[i] = g_signal_new(names[i], G_TYPE_FROM_CLASS(class), G_SIGNAL_RUN_LAST, 0,
					  NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void rs_viewer_view_init(RsViewerView *view)
{
}
