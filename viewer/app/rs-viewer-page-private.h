/* SPDX-License-Identifier: MIT */
/* What the files of a page share. Thread: main. */
#ifndef RS_VIEWER_PAGE_PRIVATE_H
#define RS_VIEWER_PAGE_PRIVATE_H

#include "app/rs-viewer-details.h"
#include "app/rs-viewer-filter-entry.h"
#include "app/rs-viewer-find-bar.h"
#include "app/rs-viewer-list.h"
#include "app/rs-viewer-page.h"
#include "app/rs-viewer-timeline.h"
#include "app/rs-viewer-view.h"

G_BEGIN_DECLS

struct _RsViewerPage {
	AdwBin parent;
	GSimpleActionGroup *actions;
	RsTraceDocument *document;
	RsViewerView *view;
	AdwToastOverlay *toasts;
	GtkWidget *waiting; /* one of the three is shown */
	GtkBox *content;
	AdwStatusPage *error;
	char *title;
	gboolean loading;
	guint ticks; /* since it has content, 2 at most */

	/* What the content has: */
	RsViewerTimeline *timeline;
	RsViewerList *list;
	RsViewerFindBar *find_bar;
	RsViewerDetails *details;
	RsViewerFilterEntry *filter;
	guint n_classes;        /* whose fields the filter knows */
	gboolean filter_failed; /* it could not be read on for it */
	char *former_filter;    /* it comes back if the records show a mistake; NULL: none */
	AdwFlap *flap;          /* the pane at the side */
	GtkStack *side;         /* "details" … */
};

/* Makes all widgets of the content, and the page's actions. */
void rs_viewer_page_fill(RsViewerPage *page);
/* Says something that passes, as a toast. Any text. */
void rs_viewer_page_tell(RsViewerPage *page, const char *text);
/* Shows what a filter leaves; "": all. FALSE: it has a mistake, which is marked. */
gboolean rs_viewer_page_apply_filter(RsViewerPage *page, const char *text);
/* Actions that export the trace, and show where that is. */
void rs_viewer_page_add_export(RsViewerPage *page);
/* Actions that save and open views. */
void rs_viewer_page_add_views(RsViewerPage *page);

G_END_DECLS

#endif
