/* SPDX-License-Identifier: MIT */
/*
 * A row of the tree of events: a check button, the name, what is to be said of it, and how often it
 * comes.
 *
 * Signal: "switched" (event, on): the user wants it so.
 *
 * Thread: main. Trust: as rs-viewer-event.h says.
 */
#ifndef RS_VIEWER_EVENT_ROW_H
#define RS_VIEWER_EVENT_ROW_H

#include "app/rs-viewer-event.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_EVENT_ROW (rs_viewer_event_row_get_type())
G_DECLARE_FINAL_TYPE(RsViewerEventRow, rs_viewer_event_row, RS_VIEWER, EVENT_ROW, AdwBin)

GtkWidget *rs_viewer_event_row_new(void);
/* NULL: none. `full`: with the name of its system. */
void rs_viewer_event_row_set_event(RsViewerEventRow *row, RsViewerEvent *event, gboolean full);
/* What cannot be switched any more can still be read. */
void rs_viewer_event_row_set_live(RsViewerEventRow *row, gboolean live);

/* "1,234/s". To be freed. */
char *rs_viewer_event_row_rate(double rate);

G_END_DECLS

#endif
