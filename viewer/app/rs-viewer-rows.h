/* SPDX-License-Identifier: MIT */
/*
 * The rows of a document as a list shows them. What the timeline knows of a row is there at once;
 * what its record says is read in the background, kept for a while, and comes with the signal
 * "read". What was asked for and is no longer in view is cancelled.
 *
 * Signals:
 *   "grown" ()     there are more rows
 *   "replaced" ()  the document shows another timeline: numbers of rows mean other rows
 *   "read" ()      what some rows say has come
 *
 * Thread: main. Trust: names and texts are hostile; those in an RsViewerLine are valid UTF-8
 * without control characters, but may be long.
 */
#ifndef RS_VIEWER_ROWS_H
#define RS_VIEWER_ROWS_H

#include "document/rs-trace-document.h"

G_BEGIN_DECLS

#define RS_VIEWER_TYPE_ROWS (rs_viewer_rows_get_type())
G_DECLARE_FINAL_TYPE(RsViewerRows, rs_viewer_rows, RS_VIEWER, ROWS, GObject)

/* No row: as the view has it. */
#define RS_VIEWER_ROW_NONE G_MAXUINT64

/* Keeps a reference to `document`. */
RsViewerRows *rs_viewer_rows_new(RsTraceDocument *document);
RsTraceDocument *rs_viewer_rows_document(RsViewerRows *rows);
/* What the document shows. */
RsTraceTimeline *rs_viewer_rows_timeline(RsViewerRows *rows);

guint64 rs_viewer_rows_count(RsViewerRows *rows);
/* The first row that is not earlier; the number of rows if there is none. */
guint64 rs_viewer_rows_at(RsViewerRows *rows, guint64 ns);
/*
 * Numbers of rows shift while a trace grows: records of one time may come in another order than
 * that of rows, or late. Ring and index of a row stay, and say what its number is now;
 * RS_VIEWER_ROW_NONE: it has none. FALSE: there is no such row.
 */
gboolean rs_viewer_rows_get(RsViewerRows *rows, guint64 number, RsTraceTimelineRow *row);
guint64 rs_viewer_rows_number(RsViewerRows *rows, const RsTraceTimelineRow *row);
/* FALSE: there is no such row. */
gboolean rs_viewer_rows_ns(RsViewerRows *rows, guint64 number, guint64 *ns);

typedef struct {
	guint64 number;
	RsTraceTimelineRow row;
	guint64 before; /* when the row before it was; its own time if it is the first */
	guint32 cpu;
	guint32 event_colour, task_colour; /* 0xRRGGBB, RS_TRACE_PALETTE_NONE: none */
	guint64 lost;                      /* of a loss */
	char *source, *task, *event;       /* "" if nobody knows */
	RsTraceRow *read;                  /* NULL: it has not come yet, */
	gboolean failed;                   /* or it could not be read */
} RsViewerLine;

/* Frees what it holds. */
void rs_viewer_line_clear(RsViewerLine *line);

/*
 * Fills up to `n` lines from number `first` on, each to be cleared, and returns how many. These are
 * the rows in view: what they say is asked for, and then that of some rows around them.
 */
guint rs_viewer_rows_view(RsViewerRows *rows, guint64 first, guint n, RsViewerLine *out);
/*
 * How many rows there are for who follows the end of a running session, and has `n` rows in view:
 * the last ones are those of which the text has been read, so that a list which moves on faster
 * than texts come shows them all the same. They are a second late at most. To be called once a
 * frame. Of what does not run, and at first, it is the count.
 */
guint64 rs_viewer_rows_follow(RsViewerRows *rows, guint n);
/* It follows no longer. */
void rs_viewer_rows_unfollow(RsViewerRows *rows);
/* One line, without asking. FALSE: there is no such row. */
gboolean rs_viewer_rows_peek(RsViewerRows *rows, guint64 number, RsViewerLine *out);
/* Whether RsTraceRow's details are read too. */
void rs_viewer_rows_set_details(RsViewerRows *rows, gboolean details);

G_END_DECLS

#endif
