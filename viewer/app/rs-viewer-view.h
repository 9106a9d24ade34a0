/* SPDX-License-Identifier: MIT */
/*
 * What of a document is being looked at: the stretch of time that the timeline shows, the markers,
 * and the record that is chosen. The timeline, the list and the details of a page share one, and
 * follow its signals:
 *
 *   "range" ()     the stretch of time
 *   "markers" ()   a marker was set, moved or taken away
 *   "current" ()   another record or moment was chosen
 *   "following" () whether the range moves with the end of a trace that grows
 *
 * Thread: main.
 */
#ifndef RS_VIEWER_VIEW_H
#define RS_VIEWER_VIEW_H

#include "document/rs-trace-document.h"

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_VIEW (rs_viewer_view_get_type())
G_DECLARE_FINAL_TYPE(RsViewerView, rs_viewer_view, RS_VIEWER, VIEW, GObject)

/* Keeps a reference to `document`. */
RsViewerView *rs_viewer_view_new(RsTraceDocument *document);
RsTraceDocument *rs_viewer_view_document(RsViewerView *view);

/* At least 1 ns long. Before the user has chosen one, it is the whole trace, and grows with it. */
void rs_viewer_view_range(RsViewerView *view, guint64 *from, guint64 *until);
/* What is out of the trace is moved into it. Ends following, unless it reaches the trace's end. */
void rs_viewer_view_set_range(RsViewerView *view, guint64 from, guint64 until);
/* The whole trace again. */
void rs_viewer_view_reset_range(RsViewerView *view);
/* So that `ns` is in it, without a change of its length; if it is out, to the middle. */
void rs_viewer_view_show(RsViewerView *view, guint64 ns);
/* By `factor` (below 1: closer), so that `ns` stays where it is. */
void rs_viewer_view_zoom(RsViewerView *view, double factor, guint64 ns);

gboolean rs_viewer_view_following(RsViewerView *view);
void rs_viewer_view_set_following(RsViewerView *view, gboolean following);

/*
 * Two views that are compared: from now on the range of one follows that of the other, counted from
 * the first record of each trace.
 */
void rs_viewer_view_link(RsViewerView *view, RsViewerView *other);

typedef enum { RS_VIEWER_MARKER_A, RS_VIEWER_MARKER_B } RsViewerMarker;
/* FALSE: it is not set. */
gboolean rs_viewer_view_marker(RsViewerView *view, RsViewerMarker which, guint64 *ns);
void rs_viewer_view_set_marker(RsViewerView *view, RsViewerMarker which, guint64 ns);
void rs_viewer_view_clear_marker(RsViewerView *view, RsViewerMarker which);
/* What is selected: between the markers, in order. FALSE: not both are set. */
gboolean rs_viewer_view_selection(RsViewerView *view, guint64 *from, guint64 *until);

/*
 * What is chosen: a moment, and the row of the shown timeline, if one was chosen. A row that is
 * G_MAXUINT64 means none. FALSE: nothing is. A row's number follows its record while the trace
 * grows. Once another timeline is shown only the moment is left, until somebody chooses.
 */
gboolean rs_viewer_view_current(RsViewerView *view, guint64 *ns, guint64 *row);
/* The record that is chosen, as a row of the shown timeline. FALSE: none is. */
gboolean rs_viewer_view_record(RsViewerView *view, RsTraceTimelineRow *row);
/* `row` G_MAXUINT64: only the moment. Does not change the range. */
void rs_viewer_view_set_current(RsViewerView *view, guint64 ns, guint64 row);

G_END_DECLS

#endif
