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
