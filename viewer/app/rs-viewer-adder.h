/* SPDX-License-Identifier: MIT */
/* The button with which lanes are added to a timeline, and what it asks for. Thread: main. */
#ifndef RS_VIEWER_ADDER_H
#define RS_VIEWER_ADDER_H

#include "app/rs-viewer-timeline.h"

G_BEGIN_DECLS

/* `timeline` must outlive it. */
GtkWidget *rs_viewer_adder_new(RsViewerTimeline *timeline);

G_END_DECLS

#endif
