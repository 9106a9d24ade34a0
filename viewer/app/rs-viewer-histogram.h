/* SPDX-License-Identifier: MIT */
/*
 * How long something took, as bars: a bar for each power of two of nanoseconds. Pointing at a bar,
 * or choosing it with Left and Right, tells its bounds and its count.
 *
 * Thread: main. Any numbers are safe.
 */
#ifndef RS_VIEWER_HISTOGRAM_H
#define RS_VIEWER_HISTOGRAM_H

#include "analysis/rs-trace-distribution.h"

#include <gtk/gtk.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_HISTOGRAM (rs_viewer_histogram_get_type())
G_DECLARE_FINAL_TYPE(RsViewerHistogram, rs_viewer_histogram, RS_VIEWER, HISTOGRAM, GtkWidget)

GtkWidget *rs_viewer_histogram_new(void);
/* Copies what it shows. NULL: nothing. */
void rs_viewer_histogram_set(RsViewerHistogram *histogram, const RsTraceDistribution *ns);

G_END_DECLS

#endif
