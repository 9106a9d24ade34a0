/* SPDX-License-Identifier: MIT */
/*
 * The tree of events with its switches, and a search above it. While something is searched for it
 * is a list of the events that match.
 *
 * Signal: "selected" (event): another row was chosen; NULL: none is.
 *
 * Thread: main. Trust: as rs-viewer-event.h says.
 */
#ifndef RS_VIEWER_EVENT_TREE_H
#define RS_VIEWER_EVENT_TREE_H

#include "app/rs-viewer-events.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_EVENT_TREE (rs_viewer_event_tree_get_type())
G_DECLARE_FINAL_TYPE(RsViewerEventTree, rs_viewer_event_tree, RS_VIEWER, EVENT_TREE, AdwBin)

/* Keeps a reference to `events`. */
GtkWidget *rs_viewer_event_tree_new(RsViewerEvents *events);
/* Whether events can be switched. */
void rs_viewer_event_tree_set_live(RsViewerEventTree *tree, gboolean live);
/* NULL: none. */
RsViewerEvent *rs_viewer_event_tree_selected(RsViewerEventTree *tree);

G_END_DECLS

#endif
