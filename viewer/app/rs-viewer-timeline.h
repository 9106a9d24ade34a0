/* SPDX-License-Identifier: MIT */
/*
 * The timeline of a page: an overview of the whole trace, a ruler, and lanes of vCPUs, tasks and
 * what the user has chosen. It shows and changes a view, which other widgets share.
 *
 * Its actions are named "timeline.…", and keys activate them while the focus is in it:
 *
 *   w s + -          closer, farther            a d Left Right   earlier, later
 *   Home End         begin, end of the trace    0                all of the trace
 *   z                zoom to the selection      m n [ ]          marker A, B at the moment
 *   Escape           clears markers             , .              previous, next event of the lane
 *   Up Down          previous, next lane        PageUp PageDown  scroll lanes
 *   p                pin the lane               Return           fold a heading
 *   Delete           remove or hide the lane    Alt+Up Alt+Down  move the lane
 *   Shift+Up, +Down  lower, taller lane         /                find lanes
 *   Menu             menu of the lane
 *
 * Thread: main. Trust: all names that it shows are escaped; a saved view may say anything.
 */
#ifndef RS_VIEWER_TIMELINE_H
#define RS_VIEWER_TIMELINE_H

#include "app/rs-viewer-lanes.h"
#include "app/rs-viewer-view.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_TIMELINE (rs_viewer_timeline_get_type())
G_DECLARE_FINAL_TYPE(RsViewerTimeline, rs_viewer_timeline, RS_VIEWER, TIMELINE, GtkWidget)

/* Keeps a reference to `view`. */
GtkWidget *rs_viewer_timeline_new(RsViewerView *view);
/*
 * Adds a lane of RS_VIEWER_LANE_EVENTS, _COUNTER or _PAIR, or chooses the one that there is. FALSE:
 * as rs_trace_document_pick(), or G_IO_ERROR_INVALID_ARGUMENT.
 */
gboolean rs_viewer_timeline_add(RsViewerTimeline *timeline, RsViewerLaneKind kind, const char *text,
				GError **error);
/* Puts the focus into the lanes, so that keys work. */
void rs_viewer_timeline_focus(RsViewerTimeline *timeline);

/* Lanes: which were added, pinned and hidden, their order and heights. */
void rs_viewer_timeline_save(RsViewerTimeline *timeline, GKeyFile *file);
void rs_viewer_timeline_load(RsViewerTimeline *timeline, GKeyFile *file);

G_END_DECLS

#endif
