/* SPDX-License-Identifier: MIT */
/*
 * Rows are not stored: where row n lies follows from how many items of each ring are earlier than a
 * moment. Of items with the same time, those of a ring with a lower number come first.
 */
#include "rs-trace-timeline-private.h"

#define AHEAD 32u       /* items of a ring that are read at once */
#define SAME_MAX 65536u /* items with one time that are counted for `nth` */

static const RsTraceSeries *events_of(const RsTraceTimeline *timeline, guint ring)
{
	return ((const RsTraceTimelineRing *)g_ptr_array_index(timeline->rings, ring))->events;
}

guint64 rs_trace_timeline_n_rows(const RsTraceTimeline *timeline)
{
	guint64 n = 0;

	for (guint i = 0; i < timeline->rings->len; i++)
		n += rs_trace_series_count(events_of(timeline, i));
	return n;
}

guint64 rs_trace_timeline_rank(const RsTraceTimeline *timeline, guint64 ns)
{
	guint64 n = 0;

	for (guint i = 0; i < timeline->rings->len; i++)
		n += rs_trace_series_rank(events_of(timeline, i), ns);
	return n;
}

/* The time of a row that there is. */
static guint64 time_of(const RsTraceTimeline *timeline, guint64 row)
{
	guint64 low = timeline->first_ns, high = timeline->end_ns;

	/* Fewer than row + 1 items are earlier than `low`; more than `row` are before `high`. */
	while (high - low > 1) {
		guint64 middle = low + (high - low) / 2;

		if (rs_trace_timeline_rank(timeline, middle) > row)
			high = middle;
		else
			low = middle;
	}
	return low;
}

/* Sets at[] to the first item of each ring that is not before the row. */
static void find_row(const RsTraceTimeline *timeline, guint64 row, guint64 *at)
{
	guint64 ns = time_of(timeline, row), before = 0;

	for (guint i = 0; i < timeline->rings->len; i++)
		before += at[i] = rs_trace_series_rank(events_of(timeline, i), ns);
	for (guint i = 0; i < timeline->rings->len && before < row; i++) {
		guint64 same = rs_trace_series_rank(events_of(timeline, i), ns + 1) - at[i];

		same = MIN(same, row - before);
		at[i] += same;
		before += same;
	}
}

/* ---- a merge ---- */

/* Where a ring is in it: items from `at` on are in `ns` and `classes`. */
typedef struct {
	guint64 at, ns[AHEAD];
	guint32 classes[AHEAD];
	guint n, next;
	/* Of items with the time of the last one that was counted: how many there are of each class
	 * so far. NULL: none was counted. */
	GHashTable *same;
	guint64 same_ns;
	gboolean too_many; /* to be counted */
} Lane;

/* The ring with the earliest item that is left. */
static gboolean first_lane(const RsTraceTimeline *timeline, Lane *lanes, guint *out)
{
	guint64 best = 0;
	gboolean found = FALSE;

	for (guint i = 0; i < timeline->rings->len; i++) {
		Lane *lane = &lanes[i];

		if (lane->next == lane->n) {
			lane->at += lane->n;
			lane->next = 0;
			lane->n = rs_trace_series_read(events_of(timeline, i), lane->at, AHEAD,
						       lane->ns, lane->classes);
		}
		if (lane->n && (!found || lane->ns[lane->next] < best)) {
			found = TRUE;
			best = lane->ns[lane->next];
			*out = i;
		}
	}
	return found;
}

static guint count_one(Lane *lane, guint32 class)
{
	guint n = GPOINTER_TO_UINT(g_hash_table_lookup(lane->same, GUINT_TO_POINTER(class)));

	g_hash_table_insert(lane->same, GUINT_TO_POINTER(class), GUINT_TO_POINTER(n + 1));
	return n;
}

/* Counts the items that have the time of the first row of the ring, and are before it. */
static void count_before(Lane *lane, const RsTraceSeries *events, guint64 index, guint64 ns)
{
	guint64 first = rs_trace_series_rank(events, ns);
	guint32 classes[AHEAD];

	lane->too_many = index - first > SAME_MAX;
	while (!lane->too_many && first < index) {
		guint n = rs_trace_series_read(events, first, (guint)MIN(AHEAD, index - first),
					       NULL, classes);

		for (guint i = 0; i < n; i++)
			count_one(lane, classes[i]);
		first += n;
	}
}

/* A run of equal times is counted once, however many of its items are rows. */
static guint nth_of(Lane *lane, const RsTraceSeries *events, const RsTraceTimelineRow *row)
{
	if (!lane->same) {
		lane->same = g_hash_table_new(NULL, NULL);
		lane->same_ns = row->ns;
		count_before(lane, events, row->index, row->ns);
	} else if (lane->same_ns != row->ns) {
		g_hash_table_remove_all(lane->same);
		lane->same_ns = row->ns;
		lane->too_many = FALSE;
	}
	return lane->too_many ? RS_TRACE_TIMELINE_NTH_UNKNOWN : count_one(lane, row->class);
}

guint rs_trace_timeline_rows(const RsTraceTimeline *timeline, guint64 first, guint n,
			     RsTraceTimelineRow *out)
{
	guint n_rings = timeline->rings->len, done = 0, ring = 0;
	g_autofree guint64 *at = NULL;
	g_autofree Lane *lanes = NULL;

	if (first >= rs_trace_timeline_n_rows(timeline))
		return 0;
	at = g_new(guint64, n_rings);
	lanes = g_new0(Lane, n_rings);
	find_row(timeline, first, at);
	for (guint i = 0; i < n_rings; i++)
		lanes[i].at = at[i];
	for (; done < n && first_lane(timeline, lanes, &ring); done++) {
		Lane *lane = &lanes[ring];
		RsTraceTimelineRow *row = &out[done];

		*row = (RsTraceTimelineRow){.ring = ring,
					    .index = lane->at + lane->next,
					    .ns = lane->ns[lane->next],
					    .class = lane->classes[lane->next]};
		row->nth = nth_of(lane, events_of(timeline, ring), row);
		lane->next++;
	}
	for (guint i = 0; i < n_rings; i++)
		g_clear_pointer(&lanes[i].same, g_hash_table_unref);
	return done;
}

/* ---- from a ring's item to its row, and looking for one ---- */

static guint64 row_at(const RsTraceTimeline *timeline, guint ring, guint64 index, guint64 ns)
{
	guint64 row = rs_trace_timeline_rank(timeline, ns);

	for (guint i = 0; i < ring; i++)
		row += rs_trace_series_rank(events_of(timeline, i), ns + 1) -
		       rs_trace_series_rank(events_of(timeline, i), ns);
	return row + index - rs_trace_series_rank(events_of(timeline, ring), ns);
}

guint64 rs_trace_timeline_row_of(const RsTraceTimeline *timeline, guint ring, guint64 index)
{
	guint64 ns;

	if (ring >= timeline->rings->len ||
	    !rs_trace_series_read(events_of(timeline, ring), index, 1, &ns, NULL))
		return G_MAXUINT64;
	return row_at(timeline, ring, index, ns);
}

guint64 rs_trace_timeline_find(const RsTraceTimeline *timeline, guint64 from, gboolean forward,
			       const guint32 *wanted, guint n_wanted)
{
	guint64 n = rs_trace_timeline_n_rows(timeline), found = G_MAXUINT64, best = 0;
	g_autofree guint64 *at = NULL;

	if (!n || (forward && from >= n))
		return G_MAXUINT64;
	at = g_new(guint64, timeline->rings->len);
	/* Backwards, the row itself counts, too: it is the last before the next one. */
	if (!forward && from + 1 >= n)
		for (guint i = 0; i < timeline->rings->len; i++)
			at[i] = rs_trace_series_count(events_of(timeline, i));
	else
		find_row(timeline, forward ? from : from + 1, at);
	for (guint i = 0; i < timeline->rings->len; i++) {
		guint64 index, ns, row;

		if (!forward && !at[i])
			continue;
		index = rs_trace_series_find(events_of(timeline, i), forward ? at[i] : at[i] - 1,
					     forward, wanted, n_wanted);
		if (index == G_MAXUINT64 ||
		    !rs_trace_series_read(events_of(timeline, i), index, 1, &ns, NULL))
			continue;
		row = row_at(timeline, i, index, ns);
		if (found == G_MAXUINT64 || (forward ? row < best : row > best))
			found = best = row;
	}
	return found;
}
