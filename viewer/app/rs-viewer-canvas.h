/* SPDX-License-Identifier: MIT */
/*
 * The lanes of a timeline below their ruler. It draws itself: only lanes that are in view cost
 * anything, each a few rows of pixels (docs/adr/0026-timeline.md). RsViewerTimeline puts it into a
 * page.
 *
 * Signal "lane-chosen" (): another lane is, or none.
 *
 * Thread: main. Trust: all names that it shows are escaped.
 */
#ifndef RS_VIEWER_CANVAS_H
#define RS_VIEWER_CANVAS_H

#include "app/rs-viewer-lanes.h"
#include "app/rs-viewer-view.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_CANVAS (rs_viewer_canvas_get_type())
G_DECLARE_FINAL_TYPE(RsViewerCanvas, rs_viewer_canvas, RS_VIEWER, CANVAS, GtkWidget)

GtkWidget *rs_viewer_canvas_new(RsViewerView *view);
/* Of the lanes that scroll, in pixels. */
GtkAdjustment *rs_viewer_canvas_adjustment(RsViewerCanvas *canvas);
/* Its lanes: rs_viewer_canvas_update_lanes() is called after a change of them. */
RsViewerLanes *rs_viewer_canvas_lanes(RsViewerCanvas *canvas);
void rs_viewer_canvas_update_lanes(RsViewerCanvas *canvas);
/* The chosen lane; NULL: none. */
RsViewerLane *rs_viewer_canvas_lane(RsViewerCanvas *canvas);
void rs_viewer_canvas_set_lane(RsViewerCanvas *canvas, RsViewerLane *lane);

/* G_IO_ERROR_INVALID_ARGUMENT, or as rs_trace_document_pick(): there is no such lane. */
gboolean rs_viewer_canvas_add(RsViewerCanvas *canvas, RsViewerLaneKind kind, const char *text,
			      GError **error);
/* A chosen lane goes; another one is hidden. */
void rs_viewer_canvas_remove(RsViewerCanvas *canvas, RsViewerLane *lane);
/* Its pixels are to be made anew. */
void rs_viewer_canvas_redraw_lane(RsViewerCanvas *canvas, RsViewerLane *lane);
/* Shows the menu of the chosen lane, for who has no pointer. */
void rs_viewer_canvas_popup_lane(RsViewerCanvas *canvas);
/* As rs_viewer_lanes_load(). */
void rs_viewer_canvas_load(RsViewerCanvas *canvas, GKeyFile *file, const char *group);

/* By so much of what is shown: 0.5 is half a window to later times. */
void rs_viewer_canvas_pan(RsViewerCanvas *canvas, double share);
/* By a factor (below 1: closer), at the pointer, else the current moment, else the middle. */
void rs_viewer_canvas_zoom(RsViewerCanvas *canvas, double factor);
/* The next or previous event of the chosen lane becomes the current one. FALSE: there is none. */
gboolean rs_viewer_canvas_step(RsViewerCanvas *canvas, gboolean forward);
/* The next or previous lane that is seen is chosen. */
void rs_viewer_canvas_step_lane(RsViewerCanvas *canvas, gboolean down);

/* Where time begins, in pixels: to the left of it are the lanes' names. */
int rs_viewer_canvas_left(RsViewerCanvas *canvas);

G_END_DECLS

#endif
