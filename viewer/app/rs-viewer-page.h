/* SPDX-License-Identifier: MIT */
/*
 * A trace in a tab: what is open, or why it could not be opened.
 *
 * Properties: "title" (text for people), "loading" (it is read for the first time).
 *
 * Thread: main. Trust: files and sessions are hostile, and so are their names.
 */
#ifndef RS_VIEWER_PAGE_H
#define RS_VIEWER_PAGE_H

#include "document/rs-trace-document.h"

#include <adwaita.h>

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_PAGE (rs_viewer_page_get_type())
G_DECLARE_FINAL_TYPE(RsViewerPage, rs_viewer_page, RS_VIEWER, PAGE, AdwBin)

/* Files on one clock: at least one, NULL-terminated. */
GtkWidget *rs_viewer_page_new(const char *const *paths);
/* The running session of that name. */
GtkWidget *rs_viewer_page_new_live(const char *session);
/* Shows what differs between the two, whose ranges follow each other from now on. */
void rs_viewer_page_compare(RsViewerPage *page, RsViewerPage *other);
/* Ends what is under way. The page shows nothing more. */
void rs_viewer_page_close(RsViewerPage *page);

/* What can be done with it, which the window has as "page.NAME". */
GActionGroup *rs_viewer_page_actions(RsViewerPage *page);

G_END_DECLS

#endif
