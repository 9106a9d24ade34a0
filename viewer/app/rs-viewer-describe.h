/* SPDX-License-Identifier: MIT */
/*
 * What is said of a moment of a vCPU and of a task: lines of plain text, each after a newline.
 *
 * Threads: any, under the lock of the timeline. Trust: names are hostile, and are escaped.
 */
#ifndef RS_VIEWER_DESCRIBE_H
#define RS_VIEWER_DESCRIBE_H

#include "timeline/rs-trace-timeline.h"

G_BEGIN_DECLS

#define RS_VIEWER_LOSSES_MAX 100000u /* that are added up */

/* Events that were lost in a stretch of time. Begins as {.room = RS_VIEWER_LOSSES_MAX}. */
typedef struct {
	guint64 n;       /* at most, as long as there is room */
	gboolean beyond; /* some of them may have been lost before or behind it */
	guint room;      /* losses that may still be looked at; 0: there may be more */
} RsViewerLost;

/* Adds those of a ring, from `from` to before `until`. */
void rs_viewer_lost_add(RsViewerLost *lost, const RsTraceTimelineRing *ring, guint64 from,
			guint64 until);

/* What lasts in it, who has it, and how many events are lost, from `from` to before `until`. */
void rs_viewer_describe_ring(GString *out, const RsTraceTimeline *timeline,
			     const RsTraceTimelineRing *ring, guint64 from, guint64 until);
/*
 * Its state, and for how long. Where that is not known, also how many events of all that time are
 * lost on the vCPUs and in the processes of its machine.
 */
void rs_viewer_describe_task(GString *out, const RsTraceTimeline *timeline,
			     const RsTraceTimelineTask *task, guint64 at);

G_END_DECLS

#endif
