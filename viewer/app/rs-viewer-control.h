/* SPDX-License-Identifier: MIT */
/*
 * The pane of a running session: which of its events are on, their filters, recordings, pausing the
 * guest, and figures. What others change shows up here. Once the session has ended all of it can
 * still be read.
 *
 * Signal: "written" (path): a recording or a snapshot is complete.
 *
 * Thread: main; no call waits. Trust: what a session says is hostile.
 */
#ifndef RS_VIEWER_CONTROL_H
#define RS_VIEWER_CONTROL_H

#include "document/rs-trace-document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_CONTROL (rs_viewer_control_get_type())
G_DECLARE_FINAL_TYPE(RsViewerControl, rs_viewer_control, RS_VIEWER, CONTROL, AdwBin)

/* For a live document, to which it keeps a reference. */
GtkWidget *rs_viewer_control_new(RsTraceDocument *document);

/* ---- without a document ---- */

GtkWidget *rs_viewer_control_new_empty(void);
/* NULL: there is none yet, or it has ended. */
void rs_viewer_control_set_session(RsViewerControl *control, RsDBusSession1 *session);
/* Which knows how often events come; keeps a reference. NULL: nobody does. */
void rs_viewer_control_set_timeline(RsViewerControl *control, RsTraceTimeline *timeline);

G_END_DECLS

#endif
