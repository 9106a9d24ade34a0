/* SPDX-License-Identifier: MIT */
/*
 * What is drawn of one lane: rows of pixels that are stretched to bands, and the names that are
 * written in them. It is made for one stretch of time and one width, and kept until these change.
 *
 * Thread: main.
 */
#ifndef RS_VIEWER_STRIP_H
#define RS_VIEWER_STRIP_H

#include "app/rs-viewer-lanes.h"
#include "app/rs-viewer-pairs.h"
#include "document/rs-trace-document.h"

#include <gdk/gdk.h>

G_BEGIN_DECLS

/* What all lanes of a frame have in common. */
typedef struct {
	guint64 from, until;         /* what is shown */
	guint64 first, end;          /* of the whole trace */
	guint width;                 /* in pixels of the device */
	double scale;                /* pixels of the device for each of the widget */
	guint n;                     /* columns */
	guint64 *edges;              /* n + 1 of them */
	RsTraceShade *shades;        /* room for n */
	RsTraceShade *more;          /* likewise */
	guint8 *marks;               /* likewise */
	RsTraceValueColumn *columns; /* likewise */
	guint stamp;                 /* another one for each frame that is not as the one before */
	RsTraceTimeline *all, *shown;
} RsViewerFrame;

/* A name in a band, in pixels of the widget. */
typedef struct {
	float x, width;
	char *text;       /* plain */
	gboolean on_dark; /* what is behind it */
} RsViewerStripName;

typedef struct {
	guint stamp;        /* of the frame it was made for; 0: none */
	guint seen;         /* the last frame that it was in */
	GdkTexture *events; /* NULL: nothing is there */
	GdkTexture *spans;
	GdkTexture *lasting;  /* of a vCPU: what its events say how long it took */
	gboolean has_lasting; /* anywhere in the trace */
	GdkTexture *loss;
	GdkTexture *haze; /* the same, so that what is behind it shines through */
	GPtrArray *rows;  /* GdkTexture of each row of slices, or NULL; NULL: there are none */
	GArray *names;    /* RsViewerStripName, of spans */
	guint64 lost;     /* events, of a vCPU */
	/* Of a task: its events, gathered on a thread. They belong to `of`, under whose lock they
	 * are looked at. */
	RsTraceTimeline *of;
	RsTraceSeries *task_events;
	guint64 n_gathered; /* events of the task when they were gathered */
	gint64 next_gather; /* monotonic time before which it is not done again */
	guint missed;       /* canvas->n_changes when the task was not among: */
	guint n_tasks;      /* so many of what is shown */
	gboolean is_busy;   /* somebody gathers, pairs or reads for it */
	/* Of a chosen lane: records that match. */
	RsTraceTimeline *pick;
	char *error;           /* why it cannot be shown */
	gboolean pick_failed;  /* `error` is what the pick lacks so far */
	RsTraceValues *values; /* of a counter: those that came so far */
	double least, most;    /* in what is shown, if there is any */
	gboolean has_values;
	RsViewerPairs *pairs;      /* of a pair */
	guint64 shared;            /* slices of it that share the last row */
	guint64 given_up;          /* whose ends are missing */
	guint fitted;              /* height that the lane was given for its rows; 0: none */
	GCancellable *cancellable; /* when it is freed */
} RsViewerStrip;

RsViewerStrip *rs_viewer_strip_of(RsViewerLane *lane);
void rs_viewer_strip_free(gpointer strip);
/* Forgets what was drawn, not what was gathered. */
void rs_viewer_strip_drop(RsViewerStrip *strip);

/* Needs the lock of frame->all: vCPUs' tasks, tasks' states, and losses. */
void rs_viewer_strip_draw_spans(RsViewerLane *lane, const RsViewerFrame *frame);
/* Needs the lock of frame->shown: events of vCPUs and tasks. */
void rs_viewer_strip_draw_events(RsViewerLane *lane, const RsViewerFrame *frame);
/* Of a chosen lane. Takes the lock of its own timeline. */
void rs_viewer_strip_draw_chosen(RsViewerLane *lane, const RsViewerFrame *frame);

/* The ring of that source in a timeline, which is locked; NULL: it has none (yet). */
const RsTraceTimelineRing *rs_viewer_strip_ring(const RsTraceTimeline *timeline,
						const RsViewerLane *lane, guint *number);
/* Likewise the task. NULL: *number is how many tasks there are. */
const RsTraceTimelineTask *rs_viewer_strip_task(const RsTraceTimeline *timeline,
						const RsViewerLane *lane, guint *number);

G_END_DECLS

#endif
