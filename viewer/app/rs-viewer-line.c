/* SPDX-License-Identifier: MIT */
/* What the timeline knows of a row, and what was read of it, as a line of the list. */
#include "app/rs-viewer-rows-private.h"
#include "rs-trace-escape.h"

void rs_viewer_line_clear(RsViewerLine *line)
{
	g_free(line->source);
	g_free(line->task);
	g_free(line->event);
	rs_trace_row_unref(line->read);
	*line = (RsViewerLine){0};
}

static void fill_task(RsViewerLine *line, const RsTraceTimeline *timeline,
		      const RsTraceTimelineRing *ring)
{
	guint32 tag = rs_trace_timeline_owner(ring, line->row.index);
	const RsTraceTimelineTask *task = rs_trace_timeline_task_of_tag(timeline, tag);
	g_autofree char *comm = NULL;

	line->task_colour = task ? task->colour : RS_TRACE_PALETTE_NONE;
	if (line->row.class == RS_TRACE_CLASS_LOSS || line->row.class == RS_TRACE_CLASS_BOOT) {
		line->task = g_strdup("");
		line->task_colour = RS_TRACE_PALETTE_NONE;
		return;
	}
	if (line->read) {
		line->task = g_strdup_printf("%s-%u", line->read->comm, line->read->pid);
		return;
	}
	if (!task) {
		line->task = g_strdup(tag == RS_TRACE_TASK_TAG_IDLE ? "<idle>-0" : "");
		return;
	}
	comm = rs_trace_escape(task->comm, -1, NULL);
	line->task = g_strdup_printf("%s-%u", comm, task->pid);
}

/* The loss that a row is; the timeline has them in the order of rows. */
static guint64 lost_of(const RsTraceTimelineRing *ring, const RsTraceTimelineRow *row)
{
	const guint first = rs_trace_timeline_loss_rank(ring, row->ns);

	if (row->nth >= ring->losses->len - first)
		return 0;
	return g_array_index(ring->losses, RsTraceTimelineLoss, first + row->nth).lost;
}

void rs_viewer_line_fill(RsViewerLine *line, const RsTraceTimeline *timeline)
{
	const RsTraceTimelineRing *ring = rs_trace_timeline_ring(timeline, line->row.ring);
	const RsTraceTimelineClass *class = rs_trace_timeline_class(timeline, line->row.class);
	const RsTraceTimelineSource *source =
		ring ? rs_trace_timeline_source_of(timeline, ring->source) : NULL;

	line->cpu = ring ? ring->ring : 0;
	line->event_colour = class ? class->colour : RS_TRACE_PALETTE_NONE;
	line->source = source ? rs_trace_escape(source->name, -1, NULL) : g_strdup("");
	if (line->read && line->read->event[0])
		line->event = g_strdup(line->read->event);
	else
		line->event = class ? rs_trace_escape(class->label, -1, NULL) : g_strdup("");
	if (!ring) {
		line->task = g_strdup("");
		return;
	}
	fill_task(line, timeline, ring);
	if (line->row.class == RS_TRACE_CLASS_LOSS)
		line->lost = line->read ? line->read->lost : lost_of(ring, &line->row);
}
