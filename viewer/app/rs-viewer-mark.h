/* SPDX-License-Identifier: MIT */
/*
 * What of a row is the same in each timeline of a document: a filter makes other numbers of rows,
 * rings and classes. Records of one ring, event and time are told apart by how many of them are
 * before each: if one of the timelines lacks some of them, another of them may be taken for it.
 *
 * Thread: main. Trust: labels are hostile, and any bytes.
 */
#ifndef RS_VIEWER_MARK_H
#define RS_VIEWER_MARK_H

#include "timeline/rs-trace-timeline.h"

G_BEGIN_DECLS

/* All 0 is that of no row. */
typedef struct {
	guint64 ns;
	char *label;        /* of the class; NULL: of no row */
	guint source, ring; /* as RsTraceTimelineRing has them; G_MAXUINT: any */
	guint nth;          /* as RsTraceTimelineRow has it */
} RsViewerMark;

/* Wants the timeline's lock. The mark is to be cleared. A row's ring G_MAXUINT: any. */
void rs_viewer_mark_set(RsViewerMark *mark, const RsTraceTimeline *timeline,
			const RsTraceTimelineRow *row);
void rs_viewer_mark_clear(RsViewerMark *mark);
/*
 * The row so marked, or the last of those before it, among some thousands of its time. G_MAXUINT64:
 * there is none. Wants the timeline's lock.
 */
guint64 rs_viewer_mark_find(const RsViewerMark *mark, const RsTraceTimeline *timeline);

G_END_DECLS

#endif
