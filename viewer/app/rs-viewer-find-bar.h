/* SPDX-License-Identifier: MIT */
/*
 * The bar in which a user says what to find in the event list: a text, an event or a filter, with
 * the next and the previous match, how many there are, and how far the search has come. Enter and
 * Ctrl+G find the next one, Shift+Ctrl+G the one before, Escape closes the bar. Thread: main.
 */
#ifndef RS_VIEWER_FIND_BAR_H
#define RS_VIEWER_FIND_BAR_H

#include "app/rs-viewer-list.h"

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_FIND_BAR (rs_viewer_find_bar_get_type())
G_DECLARE_FINAL_TYPE(RsViewerFindBar, rs_viewer_find_bar, RS_VIEWER, FIND_BAR, GtkWidget)

/* Closed at first. Keeps a reference to `list`. */
GtkWidget *rs_viewer_find_bar_new(RsViewerList *list);
/* Shows it, with the focus in its entry. */
void rs_viewer_find_bar_open(RsViewerFindBar *bar);
/* The next match of what is in the entry, or the one before. */
void rs_viewer_find_bar_find(RsViewerFindBar *bar, gboolean forward);

G_END_DECLS

#endif
