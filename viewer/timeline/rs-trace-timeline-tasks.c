/* SPDX-License-Identifier: MIT */
/*
 * The events of a task lie where it had a vCPU, so a task needs none of its own. They are gathered
 * when somebody wants to see them. What is there does not change, so the lock is dropped between
 * any two steps.
 */
#include "rs-trace-timeline-private.h"

#define STEP 4096u

typedef struct {
	guint64 from, until;
	guint ring;
} Stretch;

static guint n_rings(const RsTraceTimeline *timeline)
{
	guint n;

	rs_trace_timeline_lock(timeline);
	n = timeline->rings->len;
	rs_trace_timeline_unlock(timeline);
	return n;
}

/* Where a task had a ring's vCPU, to `out`. */
static void find_stretches(const RsTraceTimeline *timeline, guint ring, guint32 tag, GArray *out)
{
	g_autofree guint64 *ns = g_new(guint64, STEP + 1);
	g_autofree guint32 *tags = g_new(guint32, STEP + 1);
	guint64 index = 0;
	guint n;

	do {
		const RsTraceTimelineRing *lane;

		rs_trace_timeline_lock(timeline);
		lane = g_ptr_array_index(timeline->rings, ring);
		n = rs_trace_series_read(lane->tasks, index, STEP + 1, ns, tags);
		rs_trace_timeline_unlock(timeline);
		for (guint i = 0; i < MIN(n, STEP); i++) {
			Stretch stretch = {ns[i], i + 1 < n ? ns[i + 1] : G_MAXUINT64, ring};

			if (tags[i] == tag)
				g_array_append_val(out, stretch);
		}
		index += STEP;
	} while (n > STEP);
}

static gint compare(gconstpointer a, gconstpointer b)
{
	const Stretch *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static void copy_events(const RsTraceTimeline *timeline, const Stretch *stretch, RsTraceSeries *out)
{
	guint64 ns[256], index = 0, until = G_MAXUINT64;
	guint32 classes[256];

	while (index < until) {
		const RsTraceSeries *events;
		guint n;

		rs_trace_timeline_lock(timeline);
		events = ((const RsTraceTimelineRing *)g_ptr_array_index(timeline->rings,
									 stretch->ring))
				 ->events;
		if (until == G_MAXUINT64) {
			index = rs_trace_series_rank(events, stretch->from);
			until = rs_trace_series_rank(events, stretch->until);
		}
		n = rs_trace_series_read(events, index, (guint)MIN(until - index, 256), ns,
					 classes);
		rs_trace_timeline_unlock(timeline);
		for (guint i = 0; i < n; i++)
			if (classes[i] >= RS_TRACE_CLASS_UNKNOWN)
				rs_trace_series_append(out, ns[i], classes[i]);
		index += n;
		if (!n)
			return;
	}
}

RsTraceSeries *rs_trace_timeline_task_events(const RsTraceTimeline *timeline, guint task)
{
	RsTraceSeries *out = rs_trace_series_new(RS_TRACE_SERIES_POINTS, &timeline->class_palette);
	g_autoptr(GArray) stretches = g_array_new(FALSE, FALSE, sizeof(Stretch));

	for (guint i = 0; i < n_rings(timeline); i++)
		find_stretches(timeline, i, RS_TRACE_TASK_TAG_FIRST + task, stretches);
	g_array_sort(stretches, compare);
	for (guint i = 0; i < stretches->len; i++)
		copy_events(timeline, &g_array_index(stretches, Stretch, i), out);
	return out;
}
