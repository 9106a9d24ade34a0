/* SPDX-License-Identifier: MIT */
/* What the files of the lanes share. */
#ifndef RS_VIEWER_LANES_PRIVATE_H
#define RS_VIEWER_LANES_PRIVATE_H

#include "app/rs-viewer-lanes.h"

G_BEGIN_DECLS

/* What belongs to a source. */
typedef struct {
	RsViewerLane *heading, *tasks_heading;
	GPtrArray *rings, *tasks; /* RsViewerLane, in the order in which they are seen */
} RsViewerLaneGroup;

struct _RsViewerLanes {
	GDestroyNotify free_strip;
	GPtrArray *groups; /* RsViewerLaneGroup, by RsTraceOrigin.index; NULL: none yet */
	GPtrArray *chosen; /* RsViewerLane, likewise ordered */
	GPtrArray *pins;   /* those that are pinned, in the order of that; not owned */
	guint n_rings, n_tasks;
	char *wanted; /* what is searched for, folded; NULL: nothing */
	/* Of lanes that may yet come: key -> what was loaded, plus 1. */
	GHashTable *ranks, *heights;
	GHashTable *pinned, *hidden, *folded;
	GArray *places[2]; /* RsViewerPlace; [1]: of those that are pinned */
	guint total[2];
	gboolean stale; /* places are to be computed anew */
};

/* Calls the lane as its task is called now. What is no task's stays as it is. */
void rs_viewer_lanes_name_task(RsViewerLanes *lanes, RsViewerLane *lane,
			       const RsTraceTimeline *timeline);
/* What the lane is called in a file. */
char *rs_viewer_lane_key(const RsViewerLane *lane);
/* Gives a new lane what was loaded for it. */
void rs_viewer_lanes_recall(RsViewerLanes *lanes, RsViewerLane *lane);
/* Calls it for each lane that there is. */
void rs_viewer_lanes_each(RsViewerLanes *lanes, void (*func)(RsViewerLane *lane, gpointer data),
			  gpointer data);
/* By rank, and then by number. */
void rs_viewer_lanes_sort(GPtrArray *group);

G_END_DECLS

#endif
