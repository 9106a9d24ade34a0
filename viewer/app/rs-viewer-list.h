/* SPDX-License-Identifier: MIT */
/*
 * The event list: the rows of what a view's document shows, sorted by time. It is a scrollable of
 * its own, to be put into a GtkScrolledWindow, since GTK's lists end at 67 million rows. What is
 * chosen in it is the view's current record, and the other way round.
 *
 * Signals:
 *   "notice" (const char *text)  something to say that no one waits for, as a toast does
 *   "filter-asked" (const char *glob, const char *expression)  the user wants to see only events
 *       that match the glob, or records for which the expression is true; the other one is NULL
 *
 * Actions, for menus: event-list.copy, .copy-json, .zoom, .marker-a, .marker-b, .filter-event,
 * .filter-task, .filter-cpu.
 *
 * Thread: main. Trust: whatever the trace says is safe.
 */
#ifndef RS_VIEWER_LIST_H
#define RS_VIEWER_LIST_H

#include <gtk/gtk.h>

#include "app/rs-viewer-find.h"
#include "app/rs-viewer-time.h"
#include "app/rs-viewer-view.h"

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_LIST (rs_viewer_list_get_type())
G_DECLARE_FINAL_TYPE(RsViewerList, rs_viewer_list, RS_VIEWER, LIST, GtkWidget)

/* Keeps a reference to `view`. */
GtkWidget *rs_viewer_list_new(RsViewerView *view);

void rs_viewer_list_set_time_style(RsViewerList *list, RsViewerTimeStyle style);
/* A column with the values of a field. FALSE: there are too many already, or it is no name. */
gboolean rs_viewer_list_add_field(RsViewerList *list, const char *field);

/* The rows that are selected. FALSE: none. */
gboolean rs_viewer_list_selection(RsViewerList *list, guint64 *first, guint64 *n);
/* Makes a row the current one, and scrolls to it. */
void rs_viewer_list_go_to(RsViewerList *list, guint64 row);

/*
 * Looks for the next row that matches, or the one before, and makes it the current one. What there
 * is to say comes as a notice. FALSE: it cannot be looked for.
 */
gboolean rs_viewer_list_find(RsViewerList *list, RsViewerFindKind kind, const char *what,
			     gboolean forward, GError **error);
/* What looks for it: its progress, and to cancel it. */
RsViewerFind *rs_viewer_list_finder(RsViewerList *list);

/* Columns and their widths, in the group "list". */
void rs_viewer_list_save(RsViewerList *list, GKeyFile *file);
void rs_viewer_list_load(RsViewerList *list, GKeyFile *file);

G_END_DECLS

#endif
