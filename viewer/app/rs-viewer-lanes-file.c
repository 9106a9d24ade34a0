/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-lanes-private.h"

#include <string.h>

#define KEYS_MAX 8192u /* of a list in a file */

static const char *const kinds[] = {"source", "tasks", "cpu", "task", "events", "counter", "pair"};

char *rs_viewer_lane_key(const RsViewerLane *lane)
{
	if (rs_viewer_lane_is_chosen(lane))
		return g_strdup_printf("%s:%s", kinds[lane->kind], lane->text);
	if (lane->kind == RS_VIEWER_LANE_TASK)
		return g_strdup_printf("task:%u:%u:%u", lane->source, lane->boot, lane->pid);
	if (lane->kind == RS_VIEWER_LANE_RING)
		return g_strdup_printf("cpu:%u:%u", lane->source, lane->ring);
	return g_strdup_printf("%s:%u", kinds[lane->kind], lane->source);
}

/* To its place among those that were loaded, whichever of them has come first. */
static void recall_pin(RsViewerLanes *lanes, RsViewerLane *lane, guint place)
{
	guint at = lanes->pins->len;

	if (!place || lane->pinned || rs_viewer_lane_is_heading(lane))
		return;
	while (at > 0 && ((const RsViewerLane *)lanes->pins->pdata[at - 1])->pin > place)
		at--;
	lane->pin = place;
	lane->pinned = TRUE;
	g_ptr_array_insert(lanes->pins, (gint)at, lane);
}

void rs_viewer_lanes_recall(RsViewerLanes *lanes, RsViewerLane *lane)
{
	g_autofree char *key = NULL;
	guint height, rank;

	if (g_hash_table_size(lanes->ranks) + g_hash_table_size(lanes->heights) +
		    g_hash_table_size(lanes->pinned) + g_hash_table_size(lanes->hidden) +
		    g_hash_table_size(lanes->folded) ==
	    0)
		return;
	key = rs_viewer_lane_key(lane);
	rank = GPOINTER_TO_UINT(g_hash_table_lookup(lanes->ranks, key));
	height = GPOINTER_TO_UINT(g_hash_table_lookup(lanes->heights, key));
	lane->rank = rank ? rank - 1 : G_MAXUINT;
	if (height)
		rs_viewer_lanes_set_height(lanes, lane, height - 1);
	lane->hidden = g_hash_table_contains(lanes->hidden, key);
	lane->folded = g_hash_table_contains(lanes->folded, key);
	recall_pin(lanes, lane, GPOINTER_TO_UINT(g_hash_table_lookup(lanes->pinned, key)));
	lanes->stale = TRUE;
}

/* ---- save ---- */

typedef struct {
	GPtrArray *hidden, *folded, *heights, *order;
} Saved;

static void save_one(RsViewerLane *lane, gpointer data)
{
	Saved *saved = data;

	if (lane->hidden && saved->hidden->len < KEYS_MAX)
		g_ptr_array_add(saved->hidden, rs_viewer_lane_key(lane));
	if (lane->folded && saved->folded->len < KEYS_MAX)
		g_ptr_array_add(saved->folded, rs_viewer_lane_key(lane));
	if (lane->height != rs_viewer_lane_usual_height(lane->kind) &&
	    saved->heights->len < KEYS_MAX) {
		g_autofree char *key = rs_viewer_lane_key(lane);

		g_ptr_array_add(saved->heights, g_strdup_printf("%u:%s", lane->height, key));
	}
	/* Each group comes in its order. */
	if (lane->rank != G_MAXUINT && saved->order->len < KEYS_MAX)
		g_ptr_array_add(saved->order, rs_viewer_lane_key(lane));
}

static void put(GKeyFile *file, const char *group, const char *name, GPtrArray *keys)
{
	if (keys->len > 0)
		g_key_file_set_string_list(file, group, name, (const char *const *)keys->pdata,
					   keys->len);
	else
		g_key_file_remove_key(file, group, name, NULL);
	g_ptr_array_unref(keys);
}

void rs_viewer_lanes_save(RsViewerLanes *lanes, GKeyFile *file, const char *group)
{
	Saved saved = {.hidden = g_ptr_array_new_with_free_func(g_free),
		       .folded = g_ptr_array_new_with_free_func(g_free),
		       .heights = g_ptr_array_new_with_free_func(g_free),
		       .order = g_ptr_array_new_with_free_func(g_free)};
	GPtrArray *chosen = g_ptr_array_new_with_free_func(g_free);
	GPtrArray *pinned = g_ptr_array_new_with_free_func(g_free);

	rs_viewer_lanes_each(lanes, save_one, &saved);
	for (guint i = 0; i < lanes->chosen->len; i++)
		g_ptr_array_add(chosen, rs_viewer_lane_key(lanes->chosen->pdata[i]));
	for (guint i = 0; i < MIN(lanes->pins->len, KEYS_MAX); i++)
		g_ptr_array_add(pinned, rs_viewer_lane_key(lanes->pins->pdata[i]));
	put(file, group, "lanes", chosen);
	put(file, group, "pinned", pinned);
	put(file, group, "hidden", saved.hidden);
	put(file, group, "folded", saved.folded);
	put(file, group, "heights", saved.heights);
	put(file, group, "order", saved.order);
}

/* ---- load ---- */

static GStrv get(GKeyFile *file, const char *group, const char *name)
{
	GStrv list = g_key_file_get_string_list(file, group, name, NULL, NULL);

	return list ? list : g_new0(char *, 1);
}

static void load_set(GHashTable *set, GKeyFile *file, const char *group, const char *name)
{
	g_auto(GStrv) keys = get(file, group, name);

	g_hash_table_remove_all(set);
	for (guint i = 0; keys[i] && i < KEYS_MAX; i++)
		if (!g_hash_table_contains(set, keys[i]))
			g_hash_table_insert(set, g_strdup(keys[i]), GUINT_TO_POINTER(i + 1));
}

static void load_heights(RsViewerLanes *lanes, GKeyFile *file, const char *group)
{
	g_auto(GStrv) items = get(file, group, "heights");

	g_hash_table_remove_all(lanes->heights);
	for (guint i = 0; items[i] && i < KEYS_MAX; i++) {
		const char *colon = strchr(items[i], ':');
		const guint64 height = g_ascii_strtoull(items[i], NULL, 10);

		if (colon)
			g_hash_table_insert(
				lanes->heights, g_strdup(colon + 1),
				GUINT_TO_POINTER(1 + (guint)MIN(height, RS_VIEWER_LANE_HIGH)));
	}
}

static void load_chosen(RsViewerLanes *lanes, GKeyFile *file, const char *group)
{
	g_auto(GStrv) keys = get(file, group, "lanes");

	while (lanes->chosen->len > 0)
		rs_viewer_lanes_remove(lanes, lanes->chosen->pdata[0]);
	for (guint i = 0; keys[i]; i++)
		for (RsViewerLaneKind kind = RS_VIEWER_LANE_EVENTS; kind < G_N_ELEMENTS(kinds);
		     kind++)
			if (g_str_has_prefix(keys[i], kinds[kind]) &&
			    keys[i][strlen(kinds[kind])] == ':')
				rs_viewer_lanes_choose(lanes, kind,
						       keys[i] + strlen(kinds[kind]) + 1);
}

static void reset_one(RsViewerLane *lane, gpointer data)
{
	lane->hidden = lane->folded = lane->pinned = FALSE;
	lane->rank = G_MAXUINT;
	lane->pin = 0;
	lane->height = rs_viewer_lane_usual_height(lane->kind);
	rs_viewer_lanes_recall(data, lane);
}

void rs_viewer_lanes_load(RsViewerLanes *lanes, GKeyFile *file, const char *group)
{
	load_set(lanes->pinned, file, group, "pinned");
	load_set(lanes->hidden, file, group, "hidden");
	load_set(lanes->folded, file, group, "folded");
	load_set(lanes->ranks, file, group, "order");
	load_heights(lanes, file, group);
	load_chosen(lanes, file, group);
	g_ptr_array_set_size(lanes->pins, 0);
	rs_viewer_lanes_each(lanes, reset_one, lanes);
	for (guint i = 0; i < lanes->groups->len; i++) {
		const RsViewerLaneGroup *group_at = lanes->groups->pdata[i];

		if (!group_at)
			continue;
		rs_viewer_lanes_sort(group_at->rings);
		rs_viewer_lanes_sort(group_at->tasks);
	}
	rs_viewer_lanes_sort(lanes->chosen);
	lanes->stale = TRUE;
}
