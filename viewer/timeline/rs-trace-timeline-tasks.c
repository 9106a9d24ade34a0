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

/* FALSE: the task has no more events in that ring, or nobody wants them any more. */
static gboolean refill(const RsTraceTimeline *timeline, Lane *lane, guint32 tag,
		       GCancellable *cancellable)
{
	while (lane->next == lane->n && !g_cancellable_is_cancelled(cancellable) &&
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

/* Those of all rings in which the task has events, by ring. */
static GPtrArray *find_lanes(const RsTraceTimeline *timeline, guint32 tag,
			     GCancellable *cancellable)
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
		if (refill(timeline, lane, tag, cancellable))
			g_ptr_array_add(lanes, g_steal_pointer(&lane));
	}
}

/* ---- a heap of lanes, the one with the earliest event first ---- */

/* Events of one time are ordered by ring. */
static gboolean is_before(const Lane *a, const Lane *b)
{
	guint64 x = a->ns[a->next], y = b->ns[b->next];

	return x != y ? x < y : a->ring < b->ring;
}

/* NULL: there is no lane below that place. */
static Lane *first_below(const GPtrArray *heap, guint at, guint *place)
{
	guint left = 2 * at + 1, right = left + 1;

	if (left >= heap->len)
		return NULL;
	*place = right < heap->len && is_before(heap->pdata[right], heap->pdata[left]) ? right
										       : left;
	return heap->pdata[*place];
}

/* The lane there may be later than those below it. */
static void settle(GPtrArray *heap, guint at)
{
	Lane *lane = heap->pdata[at], *below;
	guint place;

	while ((below = first_below(heap, at, &place)) && is_before(below, lane)) {
		heap->pdata[at] = below;
		heap->pdata[place] = lane;
		at = place;
	}
}

/* ---- the merge ---- */

/* As many as come before those of any other lane. */
static void take(const RsTraceTimeline *timeline, Lane *lane, const Lane *other, RsTraceSeries *out)
{
	rs_trace_timeline_lock(timeline);
	do {
		rs_trace_series_append(out, lane->ns[lane->next], lane->classes[lane->next]);
		lane->next++;
	} while (lane->next < lane->n && (!other || is_before(lane, other)));
	rs_trace_timeline_unlock(timeline);
}

RsTraceSeries *rs_trace_timeline_task_events(const RsTraceTimeline *timeline, guint task,
					     GCancellable *cancellable)
{
	RsTraceSeries *out = rs_trace_series_new(RS_TRACE_SERIES_POINTS, &timeline->class_palette);
	const guint32 tag = RS_TRACE_TASK_TAG_FIRST + task;
	g_autoptr(GPtrArray) heap = find_lanes(timeline, tag, cancellable);
	guint place;

	for (guint i = heap->len / 2; i--;)
		settle(heap, i);
	while (heap->len) {
		Lane *lane = heap->pdata[0];

		take(timeline, lane, first_below(heap, 0, &place), out);
		if (!refill(timeline, lane, tag, cancellable))
			g_ptr_array_remove_index_fast(heap, 0);
		if (heap->len)
			settle(heap, 0);
	}
	return out;
}
