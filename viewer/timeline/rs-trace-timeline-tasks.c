/* SPDX-License-Identifier: MIT */
/*
 * The events of a task lie where it had a vCPU, so a task needs none of its own. They are gathered
 * when somebody wants to see them: those of all rings, merged by time. What is there does not
 * change, so the lock is dropped between any two steps. What is gathered looks at the colours of
 * classes, which may move while the lock is free: it grows under the lock, too.
 */
#include "rs-trace-timeline-private.h"

#define STEP 1024u /* owners that are looked at under one lock */
#define AHEAD 128u /* events of a ring that are read at once */

/* Where a ring is in the merge. What comes to it after `n_owners` and `n_events` is left out. */
typedef struct {
	guint ring;
	guint64 owner, n_owners; /* the next one to look at, of so many */
	guint64 index, until;    /* the task's events that are to be read next */
	guint64 n_events;
	guint64 ns[AHEAD];
	guint32 classes[AHEAD];
	guint next, n; /* of those that were read */
} Lane;

guint32 rs_trace_timeline_owner(const RsTraceTimelineRing *ring, guint64 index)
{
	guint64 rank = index < G_MAXUINT64 ? rs_trace_series_rank(ring->owners, index + 1) : 0;
	guint32 tag = RS_TRACE_TASK_TAG_UNKNOWN;

	if (rank)
		rs_trace_series_read(ring->owners, rank - 1, 1, NULL, &tag);
	return tag;
}

/* The next events that the task has in a ring, of those owners that are left. Wants the lock. */
static void find_stretch(const RsTraceTimelineRing *ring, Lane *lane, guint32 tag)
{
	guint64 from[STEP + 1];
	guint32 tags[STEP + 1];
	guint n = (guint)MIN(STEP + 1, lane->n_owners - lane->owner);

	n = rs_trace_series_read(ring->owners, lane->owner, n, from, tags);
	for (guint i = 0; i < MIN(n, STEP); i++) {
		lane->owner++;
		if (tags[i] != tag)
			continue;
		lane->index = from[i];
		lane->until = i + 1 < n ? from[i + 1] : lane->n_events;
		return;
	}
}

static void read_events(const RsTraceTimelineRing *ring, Lane *lane)
{
	guint n = (guint)MIN(AHEAD, lane->until - lane->index);

	lane->next = 0;
	lane->n = rs_trace_series_read(ring->events, lane->index, n, lane->ns, lane->classes);
	lane->index += lane->n;
}

/* FALSE: the task has no more events in that ring. */
static gboolean refill(const RsTraceTimeline *timeline, Lane *lane, guint32 tag)
{
	while (lane->next == lane->n &&
	       (lane->index < lane->until || lane->owner < lane->n_owners)) {
		const RsTraceTimelineRing *ring;

		rs_trace_timeline_lock(timeline);
		ring = rs_trace_timeline_ring(timeline, lane->ring);
		if (lane->index == lane->until)
			find_stretch(ring, lane, tag);
		read_events(ring, lane);
		rs_trace_timeline_unlock(timeline);
	}
	return lane->next < lane->n;
}

/* Those of all rings in which the task has events. */
static GPtrArray *find_lanes(const RsTraceTimeline *timeline, guint32 tag)
{
	GPtrArray *lanes = g_ptr_array_new_with_free_func(g_free);
	const RsTraceTimelineRing *ring;

	for (guint i = 0;; i++) {
		g_autofree Lane *lane = g_new0(Lane, 1);

		lane->ring = i;
		rs_trace_timeline_lock(timeline);
		ring = rs_trace_timeline_ring(timeline, i);
		if (ring) {
			lane->n_owners = rs_trace_series_count(ring->owners);
			lane->n_events = rs_trace_series_count(ring->events);
		}
		rs_trace_timeline_unlock(timeline);
		if (!ring)
			return lanes;
		if (refill(timeline, lane, tag))
			g_ptr_array_add(lanes, g_steal_pointer(&lane));
	}
}

/* The lane with the earliest event, and when the earliest of the others is. */
static guint first_lane(const GPtrArray *lanes, guint64 *limit)
{
	guint64 best = G_MAXUINT64;
	guint first = 0;

	*limit = G_MAXUINT64;
	for (guint i = 0; i < lanes->len; i++) {
		const Lane *lane = g_ptr_array_index(lanes, i);
		guint64 ns = lane->ns[lane->next];

		if (i && ns >= best) {
			*limit = MIN(*limit, ns);
			continue;
		}
		*limit = best;
		best = ns;
		first = i;
	}
	return first;
}

static void take(const RsTraceTimeline *timeline, Lane *lane, guint64 limit, RsTraceSeries *out)
{
	rs_trace_timeline_lock(timeline);
	do {
		rs_trace_series_append(out, lane->ns[lane->next], lane->classes[lane->next]);
		lane->next++;
	} while (lane->next < lane->n && lane->ns[lane->next] <= limit);
	rs_trace_timeline_unlock(timeline);
}

RsTraceSeries *rs_trace_timeline_task_events(const RsTraceTimeline *timeline, guint task)
{
	RsTraceSeries *out = rs_trace_series_new(RS_TRACE_SERIES_POINTS, &timeline->class_palette);
	const guint32 tag = RS_TRACE_TASK_TAG_FIRST + task;
	g_autoptr(GPtrArray) lanes = find_lanes(timeline, tag);

	while (lanes->len) {
		guint64 limit;
		guint first = first_lane(lanes, &limit);
		Lane *lane = g_ptr_array_index(lanes, first);

		take(timeline, lane, limit, out);
		if (!refill(timeline, lane, tag))
			g_ptr_array_remove_index(lanes, first);
	}
	return out;
}
