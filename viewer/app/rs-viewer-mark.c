/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-mark.h"

#define SAME_TIME 4096u /* rows of one time that are looked at */

void rs_viewer_mark_set(RsViewerMark *mark, const RsTraceTimeline *timeline,
			const RsTraceTimelineRow *row)
{
	const RsTraceTimelineClass *class = rs_trace_timeline_class(timeline, row->class);
	const RsTraceTimelineRing *ring =
		row->ring == G_MAXUINT ? NULL : rs_trace_timeline_ring(timeline, row->ring);

	rs_viewer_mark_clear(mark);
	mark->ns = row->ns;
	mark->label = g_strdup(class ? class->label : "");
	mark->source = ring ? ring->source : G_MAXUINT;
	mark->ring = ring ? ring->ring : G_MAXUINT;
	mark->nth = row->nth == RS_TRACE_TIMELINE_NTH_UNKNOWN ? 0 : row->nth;
}

void rs_viewer_mark_clear(RsViewerMark *mark)
{
	g_free(mark->label);
	*mark = (RsViewerMark){0};
}

static gboolean is_marked(const RsTraceTimeline *timeline, const RsTraceTimelineRow *row,
			  const RsViewerMark *mark)
{
	const RsTraceTimelineClass *class = rs_trace_timeline_class(timeline, row->class);
	const RsTraceTimelineRing *ring = rs_trace_timeline_ring(timeline, row->ring);

	return class && ring && g_str_equal(class->label, mark->label) &&
	       (mark->source == G_MAXUINT ||
		(ring->source == mark->source && ring->ring == mark->ring));
}

guint64 rs_viewer_mark_find(const RsViewerMark *mark, const RsTraceTimeline *timeline)
{
	const guint64 first = rs_trace_timeline_rank(timeline, mark->ns);
	RsTraceTimelineRow rows[64];
	guint64 found = G_MAXUINT64;

	for (guint64 at = first; mark->label && at < first + SAME_TIME;) {
		const guint n = rs_trace_timeline_rows(timeline, at, G_N_ELEMENTS(rows), rows);

		for (guint i = 0; i < n; i++) {
			if (rows[i].ns != mark->ns)
				return found;
			if (!is_marked(timeline, &rows[i], mark))
				continue;
			found = at + i;
			if (rows[i].nth >= mark->nth)
				return found;
		}
		if (n == 0)
			break;
		at += n;
	}
	return found;
}
