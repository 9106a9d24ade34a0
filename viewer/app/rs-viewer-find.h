/* SPDX-License-Identifier: MIT */
/*
 * Looks for the next or the previous row that matches, among the rows that a document shows, in the
 * background. What was found by then is kept, so the next row of the same search comes at once.
 *
 * Signals:
 *   "changed" ()  it began, ended or came further
 *   "found" (guint64 row, gboolean wrapped)  `wrapped`: behind the end it went on at the start, or
 *       the other way round
 *   "missing" (const char *why)  no row matches; `why` says more, or is NULL
 *
 * No GTK. Thread: main. Trust: whatever is looked for is bounded in time and memory as filters are.
 */
#ifndef RS_VIEWER_FIND_H
#define RS_VIEWER_FIND_H

#include "timeline/rs-trace-timeline.h"

#include "document/rs-trace-document.h"

G_BEGIN_DECLS

typedef enum {
	/* What the row's line has somewhere; case does not matter in ASCII. */
	RS_VIEWER_FIND_TEXT,
	/*
	 * Events by a glob of "system:name", or of a part of the name if it has no ':'; "loss" and
	 * "boot" are what they say.
	 */
	RS_VIEWER_FIND_EVENT,
	RS_VIEWER_FIND_FILTER, /* records for which "EXPR" or "GLOB: EXPR" is true */
} RsViewerFindKind;

#define RS_VIEWER_TYPE_FIND (rs_viewer_find_get_type())
G_DECLARE_FINAL_TYPE(RsViewerFind, rs_viewer_find, RS_VIEWER, FIND, GObject)

/* Keeps a reference to `document`. */
RsViewerFind *rs_viewer_find_new(RsTraceDocument *document);

/* What is looked for from now on. FALSE: it is no such filter or glob; nothing is looked for. */
gboolean rs_viewer_find_set(RsViewerFind *find, RsViewerFindKind kind, const char *what,
			    GError **error);
/*
 * Looks from `row` on, which counts itself if `itself`. Ends what it was looking for before. Does
 * nothing if there is nothing to look for.
 */
void rs_viewer_find_next(RsViewerFind *find, guint64 row, gboolean itself, gboolean forward);
/* Stops looking, and forgets what was found. */
void rs_viewer_find_cancel(RsViewerFind *find);

gboolean rs_viewer_find_is_busy(RsViewerFind *find);
/* 0 to 1; negative: not known. */
double rs_viewer_find_progress(RsViewerFind *find);
/*
 * How many rows are known to match. FALSE: it is not counted. `all`: there are no more, as far as
 * the trace was read.
 */
gboolean rs_viewer_find_count(RsViewerFind *find, guint64 *count, gboolean *all);

G_END_DECLS

#endif
