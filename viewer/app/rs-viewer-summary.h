/* SPDX-License-Identifier: MIT */
/*
 * The line above a trace: how many events it has, how many were lost, how far it has been read, and
 * what is selected. A loss is red, and never hidden.
 *
 * Thread: main.
 */
#ifndef RS_VIEWER_SUMMARY_H
#define RS_VIEWER_SUMMARY_H

#include "app/rs-viewer-view.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_SUMMARY (rs_viewer_summary_get_type())
G_DECLARE_FINAL_TYPE(RsViewerSummary, rs_viewer_summary, RS_VIEWER, SUMMARY, AdwBin)

/* Keeps a reference to `view`. */
GtkWidget *rs_viewer_summary_new(RsViewerView *view);

G_END_DECLS

#endif
