/* SPDX-License-Identifier: MIT */
/*
 * Two traces side by side, and below them a table of what differs. Who chooses a row of it sees
 * only that event, on both sides.
 *
 * Properties: "title" (text for people), "loading" (a side is read for the first time).
 *
 * Thread: main. Trust: as rs-viewer-page.h.
 */
#ifndef RS_VIEWER_COMPARE_H
#define RS_VIEWER_COMPARE_H

#include "app/rs-viewer-page.h"

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_COMPARE (rs_viewer_compare_get_type())
G_DECLARE_FINAL_TYPE(RsViewerCompare, rs_viewer_compare, RS_VIEWER, COMPARE, AdwBin)

/* Each: files on one clock, at least one, NULL-terminated. */
GtkWidget *rs_viewer_compare_new(const char *const *first, const char *const *second);
/* The side that has had the focus last; the first one, if none has. */
RsViewerPage *rs_viewer_compare_page(RsViewerCompare *compare);
/* As rs_viewer_page_close(), of both. */
void rs_viewer_compare_close(RsViewerCompare *compare);

G_END_DECLS

#endif
