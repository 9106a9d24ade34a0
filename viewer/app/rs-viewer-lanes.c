/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-lanes-private.h"
#include "rs-trace-escape.h"

#include <glib/gi18n.h>
#include <string.h>

#define NAME_MAX_BYTES 64 /* of a guest's name in a label */
#define TEXT_MAX 4096     /* bytes that a user may ask for */

guint rs_viewer_lane_usual_height(RsViewerLaneKind kind)
{
	static const guint heights[] = {26, 22, 38, 26, 26, 44, 44};

	return heights[kind];
}

static RsViewerLane *lane_new(RsViewerLaneKind kind, guint source, guint number)
{
	RsViewerLane *lane = g_new0(RsViewerLane, 1);

	lane->kind = kind;
	lane->source = source;
	lane->number = number;
	lane->rank = G_MAXUINT;
	lane->height = rs_viewer_lane_usual_height(kind);
	lane->matches = TRUE;
	return lane;
}

static void lane_free(RsViewerLanes *lanes, RsViewerLane *lane)
{
	if (lane->strip && lanes->free_strip)
		lanes->free_strip(lane->strip);
	g_free(lane->label);
	g_free(lane->text);
	g_free(lane);
}

RsViewerLanes *rs_viewer_lanes_new(GDestroyNotify free_strip)
{
	RsViewerLanes *lanes = g_new0(RsViewerLanes, 1);

	lanes->free_strip = free_strip;
	lanes->groups = g_ptr_array_new();
	lanes->chosen = g_ptr_array_new();
	lanes->pins = g_ptr_array_new();
	lanes->ranks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	lanes->heights = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	lanes->pinned = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	lanes->hidden = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	lanes->folded = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < 2; i++)
		lanes->places[i] = g_array_new(FALSE, FALSE, sizeof(RsViewerPlace));
	lanes->stale = TRUE;
	return lanes;
}

void rs_viewer_lanes_each(RsViewerLanes *lanes, void (*func)(RsViewerLane *lane, gpointer data),
			  gpointer data)
{
	for (guint i = 0; i < lanes->chosen->len; i++)
		func(lanes->chosen->pdata[i], data);
	for (guint i = 0; i < lanes->groups->len; i++) {
		RsViewerLaneGroup *group = lanes->groups->pdata[i];

		if (!group)
			continue;
		func(group->heading, data);
		for (guint k = 0; k < group->rings->len; k++)
			func(group->rings->pdata[k], data);
		func(group->tasks_heading, data);
		for (guint k = 0; k < group->tasks->len; k++)
			func(group->tasks->pdata[k], data);
	}
}

static void free_one(RsViewerLane *lane, gpointer data)
{
	lane_free(data, lane);
}

void rs_viewer_lanes_free(RsViewerLanes *lanes)
{
	if (!lanes)
		return;
	rs_viewer_lanes_each(lanes, free_one, lanes);
	for (guint i = 0; i < lanes->groups->len; i++) {
		RsViewerLaneGroup *group = lanes->groups->pdata[i];

		if (!group)
			continue;
		g_ptr_array_unref(group->rings);
		g_ptr_array_unref(group->tasks);
		g_free(group);
	}
	g_ptr_array_unref(lanes->groups);
	g_ptr_array_unref(lanes->chosen);
	g_ptr_array_unref(lanes->pins);
	g_hash_table_unref(lanes->ranks);
	g_hash_table_unref(lanes->heights);
	g_hash_table_unref(lanes->pinned);
	g_hash_table_unref(lanes->hidden);
	g_hash_table_unref(lanes->folded);
	for (guint i = 0; i < 2; i++)
		g_array_unref(lanes->places[i]);
	g_free(lanes->wanted);
	g_free(lanes);
}

/* ---- names ---- */

/* A guest's name as plain text that is not longer than a label can show. */
static char *plain_name(const char *name)
{
	gsize size = strlen(name);
	GString *out = g_string_new(NULL);

	rs_trace_append_escaped(out, name, MIN(size, NAME_MAX_BYTES), NULL);
	if (size > NAME_MAX_BYTES)
		g_string_append(out, "…");
	return g_string_free(out, FALSE);
}

static gboolean label_matches(const char *label, const char *wanted)
{
	g_autofree char *folded = g_utf8_casefold(label, -1);

	return strstr(folded, wanted) != NULL;
}

/* Takes `label`. TRUE: the lane had another one. */
static gboolean set_label(RsViewerLanes *lanes, RsViewerLane *lane, char *label)
{
	if (g_strcmp0(lane->label, label) == 0) {
		g_free(label);
		return FALSE;
	}
	g_free(lane->label);
	lane->label = label;
	lane->matches = !lanes->wanted || label_matches(label, lanes->wanted);
	return TRUE;
}

void rs_viewer_lanes_name_task(RsViewerLanes *lanes, RsViewerLane *lane,
			       const RsTraceTimeline *timeline)
{
	const RsTraceTimelineTask *task = rs_trace_timeline_task(timeline, lane->number);
	const gboolean matched = lane->matches;
	g_autofree char *comm = NULL;

	if (lane->kind != RS_VIEWER_LANE_TASK || !task)
		return;
	comm = plain_name(task->comm ? task->comm : "");
	set_label(lanes, lane, g_strdup_printf("%s %u", comm, task->pid));
	if (matched != lane->matches)
		lanes->stale = TRUE;
}

static gboolean name_source(RsViewerLanes *lanes, RsViewerLaneGroup *group,
			    const RsTraceTimeline *timeline)
{
	const RsTraceTimelineSource *source =
		rs_trace_timeline_source_of(timeline, group->heading->source);

	if (!source || !source->name || !*source->name)
		return set_label(lanes, group->heading,
				 g_strdup_printf(_("Source %u"), group->heading->source + 1));
	return set_label(lanes, group->heading, plain_name(source->name));
}

/* ---- what the trace has ---- */

static RsViewerLaneGroup *group_of(RsViewerLanes *lanes, guint source)
{
	RsViewerLaneGroup *group;

	/* Indices count from 0, and a timeline has no more sources than rings. */
	if (source >= RS_TRACE_TIMELINE_RINGS)
		source = RS_TRACE_TIMELINE_RINGS - 1;
	if (source >= lanes->groups->len)
		g_ptr_array_set_size(lanes->groups, (gint)source + 1);
	group = lanes->groups->pdata[source];
	if (group)
		return group;
	group = g_new0(RsViewerLaneGroup, 1);
	group->rings = g_ptr_array_new();
	group->tasks = g_ptr_array_new();
	group->heading = lane_new(RS_VIEWER_LANE_SOURCE, source, source);
	group->tasks_heading = lane_new(RS_VIEWER_LANE_TASKS, source, source);
	set_label(lanes, group->tasks_heading, g_strdup(_("Tasks")));
	rs_viewer_lanes_recall(lanes, group->heading);
	rs_viewer_lanes_recall(lanes, group->tasks_heading);
	lanes->groups->pdata[source] = group;
	return group;
}

static gint compare(gconstpointer a, gconstpointer b)
{
	const RsViewerLane *x = *(RsViewerLane *const *)a, *y = *(RsViewerLane *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

void rs_viewer_lanes_sort(GPtrArray *group)
{
	g_ptr_array_sort(group, compare);
}

static void add_ring(RsViewerLanes *lanes, const RsTraceTimelineRing *ring)
{
	RsViewerLaneGroup *group = group_of(lanes, ring->source);
	RsViewerLane *lane = lane_new(RS_VIEWER_LANE_RING, ring->source, lanes->n_rings++);

	lane->ring = ring->ring;
	set_label(lanes, lane, g_strdup_printf(_("CPU %u"), ring->ring));
	rs_viewer_lanes_recall(lanes, lane);
	g_ptr_array_add(group->rings, lane);
}

/* TRUE: it has a place in the order that the user made. */
static gboolean add_task(RsViewerLanes *lanes, const RsTraceTimelineTask *task,
			 const RsTraceTimeline *timeline)
{
	RsViewerLaneGroup *group = group_of(lanes, task->machine);
	RsViewerLane *lane = lane_new(RS_VIEWER_LANE_TASK, task->machine, lanes->n_tasks++);

	lane->pid = task->pid;
	lane->boot = task->boot;
	rs_viewer_lanes_name_task(lanes, lane, timeline);
	rs_viewer_lanes_recall(lanes, lane);
	g_ptr_array_add(group->tasks, lane);
	return lane->rank != G_MAXUINT;
}

static void sort_groups(RsViewerLanes *lanes, gboolean rings, gboolean tasks)
{
	for (guint i = 0; i < lanes->groups->len; i++) {
		const RsViewerLaneGroup *group = lanes->groups->pdata[i];

		if (group && rings)
			rs_viewer_lanes_sort(group->rings);
		if (group && tasks)
			rs_viewer_lanes_sort(group->tasks);
	}
}

gboolean rs_viewer_lanes_sync(RsViewerLanes *lanes, const RsTraceTimeline *timeline)
{
	const RsTraceTimelineRing *ring;
	const RsTraceTimelineTask *task;
	const guint n_rings = lanes->n_rings, n_tasks = lanes->n_tasks;
	gboolean changed = FALSE, has_place = FALSE;

	while ((ring = rs_trace_timeline_ring(timeline, lanes->n_rings)))
		add_ring(lanes, ring);
	while ((task = rs_trace_timeline_task(timeline, lanes->n_tasks)))
		has_place |= add_task(lanes, task, timeline);
	/* Tasks come in their order, in which there may be tens of thousands. */
	sort_groups(lanes, n_rings != lanes->n_rings, has_place);
	for (guint i = 0; i < lanes->groups->len; i++)
		if (lanes->groups->pdata[i])
			changed |= name_source(lanes, lanes->groups->pdata[i], timeline);
	if (!changed && n_rings == lanes->n_rings && n_tasks == lanes->n_tasks)
		return FALSE;
	lanes->stale = TRUE;
	return TRUE;
}

/* ---- what the user chose ---- */

RsViewerLane *rs_viewer_lanes_choose(RsViewerLanes *lanes, RsViewerLaneKind kind, const char *text)
{
	RsViewerLane *lane;

	for (guint i = 0; i < lanes->chosen->len; i++) {
		lane = lanes->chosen->pdata[i];
		if (lane->kind == kind && strcmp(lane->text, text) == 0)
			return lane;
	}
	if (lanes->chosen->len >= RS_VIEWER_LANES_CHOSEN || strlen(text) > TEXT_MAX ||
	    !g_utf8_validate(text, -1, NULL))
		return NULL;
	lane = lane_new(kind, 0, lanes->chosen->len);
	lane->text = g_strdup(text);
	set_label(lanes, lane, rs_trace_escape(text, -1, NULL));
	rs_viewer_lanes_recall(lanes, lane);
	g_ptr_array_add(lanes->chosen, lane);
	lanes->stale = TRUE;
	return lane;
}

void rs_viewer_lanes_remove(RsViewerLanes *lanes, RsViewerLane *lane)
{
	if (!g_ptr_array_remove(lanes->chosen, lane))
		return;
	g_ptr_array_remove(lanes->pins, lane);
	lane_free(lanes, lane);
	lanes->stale = TRUE;
}

const GPtrArray *rs_viewer_lanes_chosen(const RsViewerLanes *lanes)
{
	return lanes->chosen;
}

static void match_one(RsViewerLane *lane, gpointer data)
{
	RsViewerLanes *lanes = data;

	lane->matches = !lanes->wanted || label_matches(lane->label, lanes->wanted);
}

void rs_viewer_lanes_find(RsViewerLanes *lanes, const char *text)
{
	g_free(lanes->wanted);
	lanes->wanted = *text ? g_utf8_casefold(text, -1) : NULL;
	rs_viewer_lanes_each(lanes, match_one, lanes);
	lanes->stale = TRUE;
}

void rs_viewer_lanes_pin(RsViewerLanes *lanes, RsViewerLane *lane, gboolean pinned)
{
	if (rs_viewer_lane_is_heading(lane) || lane->pinned == pinned)
		return;
	lane->pinned = pinned;
	if (pinned)
		g_ptr_array_add(lanes->pins, lane);
	else
		g_ptr_array_remove(lanes->pins, lane);
	lanes->stale = TRUE;
}

void rs_viewer_lanes_hide(RsViewerLanes *lanes, RsViewerLane *lane, gboolean hidden)
{
	lane->hidden = hidden;
	lanes->stale = TRUE;
}

void rs_viewer_lanes_fold(RsViewerLanes *lanes, RsViewerLane *heading, gboolean folded)
{
	heading->folded = folded;
	lanes->stale = TRUE;
}

void rs_viewer_lanes_set_height(RsViewerLanes *lanes, RsViewerLane *lane, guint height)
{
	if (rs_viewer_lane_is_heading(lane))
		return;
	lane->height = CLAMP(height, RS_VIEWER_LANE_LOW, RS_VIEWER_LANE_HIGH);
	lanes->stale = TRUE;
}

static gboolean is_seen(const RsViewerLane *lane)
{
	return lane->matches && !lane->hidden;
}

gboolean rs_viewer_lanes_move(RsViewerLanes *lanes, RsViewerLane *lane, gboolean down)
{
	RsViewerLaneGroup *group = NULL;
	GPtrArray *among;
	guint at, to;

	if (rs_viewer_lane_is_heading(lane))
		return FALSE;
	if (!rs_viewer_lane_is_chosen(lane))
		group = group_of(lanes, lane->source);
	among = lane->pinned                        ? lanes->pins
		: !group                            ? lanes->chosen
		: lane->kind == RS_VIEWER_LANE_RING ? group->rings
						    : group->tasks;
	if (!g_ptr_array_find(among, lane, &at))
		return FALSE;
	to = at;
	do {
		if (down ? to + 1 >= among->len : to == 0)
			return FALSE;
		to = down ? to + 1 : to - 1;
	} while (!is_seen(among->pdata[to]) ||
		 ((RsViewerLane *)among->pdata[to])->pinned != lane->pinned);
	g_ptr_array_remove_index(among, at);
	g_ptr_array_insert(among, (gint)to, lane);
	if (!lane->pinned)
		for (guint i = 0; i < among->len; i++)
			((RsViewerLane *)among->pdata[i])->rank = i;
	lanes->stale = TRUE;
	return TRUE;
}

static void show_one(RsViewerLane *lane, gpointer data)
{
	lane->hidden = lane->folded = FALSE;
	lane->matches = TRUE;
}

void rs_viewer_lanes_show_all(RsViewerLanes *lanes)
{
	g_clear_pointer(&lanes->wanted, g_free);
	g_hash_table_remove_all(lanes->hidden);
	g_hash_table_remove_all(lanes->folded);
	rs_viewer_lanes_each(lanes, show_one, NULL);
	lanes->stale = TRUE;
}

static void count_one(RsViewerLane *lane, gpointer data)
{
	*(guint *)data += lane->hidden;
}

guint rs_viewer_lanes_n_hidden(const RsViewerLanes *lanes)
{
	guint n = 0;

	rs_viewer_lanes_each((RsViewerLanes *)lanes, count_one, &n);
	return n;
}
