/* SPDX-License-Identifier: MIT */
/*
 * Which lanes a timeline has, in which order, and where each lies: vCPUs and tasks by their source,
 * and lanes that the user has chosen. There may be tens of thousands of them; only their places are
 * computed here, and nothing of GTK is needed for it.
 *
 * From the top: lanes that are pinned, which do not scroll, and then the rest, with headings that
 * fold what is below them.
 *
 * Thread: main. Lanes live as long as their list, chosen ones until they are removed. Trust: names
 * are of guests, and become plain text of a bounded length. A saved order may say anything.
 */
#ifndef RS_VIEWER_LANES_H
#define RS_VIEWER_LANES_H

#include "timeline/rs-trace-timeline.h"

G_BEGIN_DECLS

typedef enum {
	RS_VIEWER_LANE_SOURCE, /* a heading: what a source has follows */
	RS_VIEWER_LANE_TASKS,  /* a heading: its tasks follow */
	RS_VIEWER_LANE_RING,
	RS_VIEWER_LANE_TASK,
	/* Chosen ones: */
	RS_VIEWER_LANE_EVENTS,  /* "GLOB" or "GLOB: EXPR" */
	RS_VIEWER_LANE_COUNTER, /* "system:event.field" */
	RS_VIEWER_LANE_PAIR,    /* "BEGIN..END", two globs */
} RsViewerLaneKind;

#define RS_VIEWER_LANES_CHOSEN 64u
#define RS_VIEWER_LANE_LOW 16u   /* pixels */
#define RS_VIEWER_LANE_HIGH 800u /* likewise */

typedef struct {
	RsViewerLaneKind kind;
	char *label;       /* for people; escaped */
	char *text;        /* of a chosen lane: what was asked for */
	guint source;      /* RsTraceOrigin.index: of a ring or heading; of a task: its machine */
	guint number;      /* of the ring or task in the timeline */
	guint32 ring;      /* of a ring: its number in its source */
	guint32 pid, boot; /* of a task */
	guint height;      /* pixels */
	guint rank;        /* in the order that the user made; G_MAXUINT: none */
	guint pin;         /* its place among pinned lanes that were loaded, from 1 on; 0: none */
	gboolean pinned, hidden, folded;
	gboolean matches; /* what is searched for */
	gpointer strip;   /* of whoever draws it */
} RsViewerLane;

static inline gboolean rs_viewer_lane_is_heading(const RsViewerLane *lane)
{
	return lane->kind <= RS_VIEWER_LANE_TASKS;
}

static inline gboolean rs_viewer_lane_is_chosen(const RsViewerLane *lane)
{
	return lane->kind >= RS_VIEWER_LANE_EVENTS;
}

/* Of a lane that nobody has made higher or lower. */
guint rs_viewer_lane_usual_height(RsViewerLaneKind kind);

typedef struct {
	RsViewerLane *lane;
	guint y;
} RsViewerPlace;

typedef struct _RsViewerLanes RsViewerLanes;

/* `free_strip` frees what lanes have as their strip. */
RsViewerLanes *rs_viewer_lanes_new(GDestroyNotify free_strip);
void rs_viewer_lanes_free(RsViewerLanes *lanes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsViewerLanes, rs_viewer_lanes_free)

/* Takes in what is new. The caller holds the lock. TRUE: places have changed. */
gboolean rs_viewer_lanes_sync(RsViewerLanes *lanes, const RsTraceTimeline *timeline);
/*
 * Tasks whose lanes are seen in that stretch may have other names by now, and what is searched for
 * may not be in them any more. The caller holds the lock. TRUE: places have changed.
 */
gboolean rs_viewer_lanes_name_tasks(RsViewerLanes *lanes, gboolean pinned, double top,
				    double height, const RsTraceTimeline *timeline);

/*
 * The same text again is the same lane. NULL: there are RS_VIEWER_LANES_CHOSEN already, or the text
 * is too long, or not UTF-8.
 */
RsViewerLane *rs_viewer_lanes_choose(RsViewerLanes *lanes, RsViewerLaneKind kind, const char *text);
void rs_viewer_lanes_remove(RsViewerLanes *lanes, RsViewerLane *lane);
/* Chosen lanes, in their order. */
const GPtrArray *rs_viewer_lanes_chosen(const RsViewerLanes *lanes);

/* Only lanes whose name has this in it, in upper or lower case; "": all. */
void rs_viewer_lanes_find(RsViewerLanes *lanes, const char *text);
void rs_viewer_lanes_pin(RsViewerLanes *lanes, RsViewerLane *lane, gboolean pinned);
void rs_viewer_lanes_hide(RsViewerLanes *lanes, RsViewerLane *lane, gboolean hidden);
void rs_viewer_lanes_fold(RsViewerLanes *lanes, RsViewerLane *heading, gboolean folded);
void rs_viewer_lanes_set_height(RsViewerLanes *lanes, RsViewerLane *lane, guint height);
/* Up or down by one place among those that are seen of its group. FALSE: there is no such place. */
gboolean rs_viewer_lanes_move(RsViewerLanes *lanes, RsViewerLane *lane, gboolean down);
/* None is hidden or folded, and nothing is searched for. */
void rs_viewer_lanes_show_all(RsViewerLanes *lanes);
guint rs_viewer_lanes_n_hidden(const RsViewerLanes *lanes);

/* Those that are seen, from the top. Valid until anything changes. */
const RsViewerPlace *rs_viewer_lanes_places(RsViewerLanes *lanes, gboolean pinned, guint *n);
/* Of all of them. */
guint rs_viewer_lanes_height(RsViewerLanes *lanes, gboolean pinned);
/* Which place `y` is in; G_MAXUINT: none. */
guint rs_viewer_lanes_at(RsViewerLanes *lanes, gboolean pinned, double y);

/* What the user chose, to a group of a file, and back. Loading forgets what was before. */
void rs_viewer_lanes_save(RsViewerLanes *lanes, GKeyFile *file, const char *group);
void rs_viewer_lanes_load(RsViewerLanes *lanes, GKeyFile *file, const char *group);

G_END_DECLS

#endif
