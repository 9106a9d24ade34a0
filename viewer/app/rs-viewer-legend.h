/* SPDX-License-Identifier: MIT */
/* What the colours of tasks' states mean. Thread: main. */
#ifndef RS_VIEWER_LEGEND_H
#define RS_VIEWER_LEGEND_H

#include <gtk/gtk.h>

G_BEGIN_DECLS

GtkWidget *rs_viewer_legend_new(void);

G_END_DECLS

#endif
