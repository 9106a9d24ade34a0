/* SPDX-License-Identifier: MIT */
/*
 * All that is known of the view's current record: its task and moment, each field with its type,
 * value and raw value, the call stack, the bytes as they were written, and the event's format. It
 * is read in the background whenever another record becomes current.
 *
 * Signals:
 *   "field-asked" (const char *field)  the user wants a column with the values of this field
 *
 * Thread: main. Trust: whatever the trace says is safe.
 */
#ifndef RS_VIEWER_DETAILS_H
#define RS_VIEWER_DETAILS_H

#include <gtk/gtk.h>

#include "app/rs-viewer-time.h"
#include "app/rs-viewer-view.h"

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_DETAILS (rs_viewer_details_get_type())
G_DECLARE_FINAL_TYPE(RsViewerDetails, rs_viewer_details, RS_VIEWER, DETAILS, GtkWidget)

/* Keeps a reference to `view`. It scrolls by itself. */
GtkWidget *rs_viewer_details_new(RsViewerView *view);

void rs_viewer_details_set_time_style(RsViewerDetails *details, RsViewerTimeStyle style);
/* The record that is shown, with its details. NULL: none, or it is still being read. */
const RsTraceRow *rs_viewer_details_row(RsViewerDetails *details);
/*
 * Where the event's tracepoint is: lines of text, which are shown as they are, but for what is not
 * to be shown on a screen. NULL or "": nothing is known. It goes when another record is shown,
 * which the signal "shown" () says.
 */
void rs_viewer_details_set_site(RsViewerDetails *details, const char *text);

G_END_DECLS

#endif
