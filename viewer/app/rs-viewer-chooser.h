/* SPDX-License-Identifier: MIT */
/* Whose a dialog for files is while it is shown. Thread: main. */
#ifndef RS_VIEWER_CHOOSER_H
#define RS_VIEWER_CHOOSER_H

#include <gtk/gtk.h>

G_BEGIN_DECLS

/*
 * Shows it, and takes the caller's reference: it goes with its answer, with `owner`, a GObject, or
 * as the owner shows another one. Who wants the answer connects to "response" before.
 */
void rs_viewer_chooser_show(GtkFileChooserNative *chooser, gpointer owner);

G_END_DECLS

#endif
