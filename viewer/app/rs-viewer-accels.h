/* SPDX-License-Identifier: MIT */
/*
 * Keys and what they do: one table, from which the application takes its accelerators and the
 * window of shortcuts what it shows.
 *
 * Thread: main.
 */
#ifndef RS_VIEWER_ACCELS_H
#define RS_VIEWER_ACCELS_H

#include <gtk/gtk.h>

G_BEGIN_DECLS

void rs_viewer_accels_install(GtkApplication *application);
/*
 * Says what a button does, with the key of its action if there is one: "Side pane (F9)". `action`
 * is a name as in "page.side".
 */
void rs_viewer_accels_set_tooltip(GtkWidget *widget, const char *text, const char *action);
/* A new window that shows them all. */
GtkWindow *rs_viewer_accels_window_new(void);

G_END_DECLS

#endif
