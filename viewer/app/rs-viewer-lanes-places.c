/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-lanes-private.h"

static void place(RsViewerLanes *lanes, gboolean pinned, RsViewerLane *lane)
{
	const RsViewerPlace at = {lane, lanes->total[pinned]};

	g_array_append_val(lanes->places[pinned], at);
	lanes->total[pinned] += lane->height;
}

static void place_all(RsViewerLanes *lanes, const GPtrArray *group, gboolean all)
{
	for (guint i = 0; i < group->len; i++) {
		RsViewerLane *lane = group->pdata[i];

		if ((all || lane->matches) && !lane->hidden && !lane->pinned)
			place(lanes, FALSE, lane);
	}
}

static gboolean any(const GPtrArray *group, gboolean all)
{
	for (guint i = 0; i < group->len; i++) {
		const RsViewerLane *lane = group->pdata[i];

		if ((all || lane->matches) && !lane->hidden && !lane->pinned)
			return TRUE;
	}
	return FALSE;
}

/* A search opens what is folded, and finds all of a source by the source's name. */
static void place_group(RsViewerLanes *lanes, const RsViewerLaneGroup *group)
{
	const gboolean all = lanes->wanted && group->heading->matches;
	const gboolean rings = any(group->rings, all), tasks = any(group->tasks, all);

	if (group->heading->hidden || (!rings && !tasks))
		return;
	place(lanes, FALSE, group->heading);
	if (group->heading->folded && !lanes->wanted)
		return;
	place_all(lanes, group->rings, all);
	if (!tasks || group->tasks_heading->hidden)
		return;
	place(lanes, FALSE, group->tasks_heading);
	if (!group->tasks_heading->folded || lanes->wanted)
		place_all(lanes, group->tasks, all);
}

static void update(RsViewerLanes *lanes)
{
	if (!lanes->stale)
		return;
	lanes->stale = FALSE;
	for (guint i = 0; i < 2; i++) {
		g_array_set_size(lanes->places[i], 0);
		lanes->total[i] = 0;
	}
	for (guint i = 0; i < lanes->pins->len; i++) {
		RsViewerLane *lane = lanes->pins->pdata[i];

		if (!lane->hidden)
			place(lanes, TRUE, lane);
	}
	place_all(lanes, lanes->chosen, FALSE);
	for (guint i = 0; i < lanes->groups->len; i++)
		if (lanes->groups->pdata[i])
			place_group(lanes, lanes->groups->pdata[i]);
}

const RsViewerPlace *rs_viewer_lanes_places(RsViewerLanes *lanes, gboolean pinned, guint *n)
{
	update(lanes);
	*n = lanes->places[pinned]->len;
	return (const RsViewerPlace *)lanes->places[pinned]->data;
}

guint rs_viewer_lanes_height(RsViewerLanes *lanes, gboolean pinned)
{
	update(lanes);
	return lanes->total[pinned];
}

guint rs_viewer_lanes_at(RsViewerLanes *lanes, gboolean pinned, double y)
{
	guint n, low = 0, high;
	const RsViewerPlace *places = rs_viewer_lanes_places(lanes, pinned, &n);

	if (y < 0 || y >= lanes->total[pinned])
		return G_MAXUINT;
	/* The last place that does not begin below it. */
	high = n;
	while (high - low > 1) {
		const guint middle = low + (high - low) / 2;

		if (places[middle].y <= y)
			low = middle;
		else
			high = middle;
	}
	return low;
}

gboolean rs_viewer_lanes_name_tasks(RsViewerLanes *lanes, gboolean pinned, double top,
				    double height, const RsTraceTimeline *timeline)
{
	gboolean changed = FALSE, again = TRUE;

	/* Those that come into view for others are named, too. */
	while (again) {
		guint n, at = rs_viewer_lanes_at(lanes, pinned, top);
		const RsViewerPlace *places = rs_viewer_lanes_places(lanes, pinned, &n);

		for (; at < n && places[at].y < top + height; at++)
			rs_viewer_lanes_name_task(lanes, places[at].lane, timeline);
		again = lanes->stale;
		changed |= again;
	}
	return changed;
}
