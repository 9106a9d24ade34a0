/* SPDX-License-Identifier: MIT */
/*
 * A row of the event list. The list has as many of them as fit into its window, and binds each to
 * another line when it scrolls.
 *
 * Thread: main. Private to the list: RsViewerList owns them and gives them their size.
 */
#ifndef RS_VIEWER_LIST_ROW_H
#define RS_VIEWER_LIST_ROW_H

#include <gtk/gtk.h>

#include "app/rs-viewer-columns.h"

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_LIST_ROW (rs_viewer_list_row_get_type())
G_DECLARE_FINAL_TYPE(RsViewerListRow, rs_viewer_list_row, RS_VIEWER, LIST_ROW, GtkWidget)

/* Pixels to the left and to the right of a cell's text. */
#define RS_VIEWER_LIST_PAD 6

/* How all rows show their lines. It must outlive them. */
typedef struct {
	RsViewerColumns *columns;
	gboolean with_source; /* whether the column of sources has any use */
	RsViewerTimeStyle style;
	guint64 wall;
	guint serial; /* another number if any of this has changed */
	int width;    /* of a whole row */
} RsViewerListLook;

RsViewerListRow *rs_viewer_list_row_new(const RsViewerListLook *look);
/* Takes what `line` holds, and clears it. */
void rs_viewer_list_row_bind(RsViewerListRow *row, RsViewerLine *line);
void rs_viewer_list_row_select(RsViewerListRow *row, gboolean selected, gboolean current);

/* Whether a column is to be seen. */
gboolean rs_viewer_list_look_has(const RsViewerListLook *look, const RsViewerColumn *column);
/* Pixels of a column that is shown: the text takes what is left. */
int rs_viewer_list_look_width(const RsViewerListLook *look, const RsViewerColumn *column);
/* Pixels of all columns at least. */
int rs_viewer_list_look_least(const RsViewerListLook *look);

G_END_DECLS

#endif
