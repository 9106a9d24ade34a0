/* SPDX-License-Identifier: MIT */
/*
 * All of a trace in one band: how many events there were at each time, and what was lost in red.
 * What the timeline shows is a window in it, which can be dragged, and resized at its ends.
 *
 * It is counted on a thread, anew as the trace grows. Thread: main.
 */
#ifndef RS_VIEWER_OVERVIEW_H
#define RS_VIEWER_OVERVIEW_H

#include "app/rs-viewer-view.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_OVERVIEW (rs_viewer_overview_get_type())
G_DECLARE_FINAL_TYPE(RsViewerOverview, rs_viewer_overview, RS_VIEWER, OVERVIEW, GtkWidget)

GtkWidget *rs_viewer_overview_new(RsViewerView *view);

G_END_DECLS

#endif
