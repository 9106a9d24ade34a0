/* SPDX-License-Identifier: MIT */
/*
 * Figures of what is selected, or, without a selection, of what the timeline shows: events and
 * losses, which tasks had the vCPUs, how long it took from one event to another, and flame graphs
 * of slices and call stacks. They are measured when the user asks for it.
 *
 * Thread: main; no call waits. Trust: names are of guests, and shown as plain text.
 */
#ifndef RS_VIEWER_FIGURES_H
#define RS_VIEWER_FIGURES_H

#include "app/rs-viewer-view.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_FIGURES (rs_viewer_figures_get_type())
G_DECLARE_FINAL_TYPE(RsViewerFigures, rs_viewer_figures, RS_VIEWER, FIGURES, AdwBin)

/* Keeps a reference to `view`. It scrolls by itself. */
GtkWidget *rs_viewer_figures_new(RsViewerView *view);
/* Measures now, what was measured before being forgotten. */
void rs_viewer_figures_measure(RsViewerFigures *figures);

G_END_DECLS

#endif
