/* SPDX-License-Identifier: MIT */
/*
 * The heads of the event list's columns: buttons whose menu chooses columns, and whose edges can be
 * dragged. With the focus on one, Shift+Left and Shift+Right make it narrower and wider.
 *
 * Signals:
 *   "resized" ()  a column has another width
 *   "menu" (GtkWidget *button)  the menu of columns is asked for
 *
 * Thread: main. Private to the list.
 */
#ifndef RS_VIEWER_LIST_HEADER_H
#define RS_VIEWER_LIST_HEADER_H

#include "app/rs-viewer-list-row.h"

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_LIST_HEADER (rs_viewer_list_header_get_type())
G_DECLARE_FINAL_TYPE(RsViewerListHeader, rs_viewer_list_header, RS_VIEWER, LIST_HEADER, GtkWidget)

/* `look` must outlive it. */
GtkWidget *rs_viewer_list_header_new(RsViewerListLook *look);
/* There are other columns. */
void rs_viewer_list_header_update(RsViewerListHeader *header);

G_END_DECLS

#endif
