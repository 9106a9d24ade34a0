/* SPDX-License-Identifier: MIT */
/*
 * The filter of the event, system or source that is chosen in the tree.
 *
 * Thread: main; no call waits. Trust: as rs-viewer-event.h says.
 */
#ifndef RS_VIEWER_EVENT_FILTER_H
#define RS_VIEWER_EVENT_FILTER_H

#include "app/rs-viewer-events.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_EVENT_FILTER (rs_viewer_event_filter_get_type())
G_DECLARE_FINAL_TYPE(RsViewerEventFilter, rs_viewer_event_filter, RS_VIEWER, EVENT_FILTER, AdwBin)

/* Keeps a reference to `events`. */
GtkWidget *rs_viewer_event_filter_new(RsViewerEvents *events);
/* NULL: it has ended. */
void rs_viewer_event_filter_set_session(RsViewerEventFilter *filter, RsDBusSession1 *session);
/* NULL: none is chosen. */
void rs_viewer_event_filter_set_event(RsViewerEventFilter *filter, RsViewerEvent *event);

G_END_DECLS

#endif
