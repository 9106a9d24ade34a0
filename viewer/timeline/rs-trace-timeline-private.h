/* SPDX-License-Identifier: MIT */
/* What the files of the timeline share. */
#ifndef RS_TRACE_TIMELINE_PRIVATE_H
#define RS_TRACE_TIMELINE_PRIVATE_H

#include "timeline/rs-trace-timeline.h"

G_BEGIN_DECLS

#define BATCH 8192u   /* notes that are gathered before the lock is taken */
#define CACHE 256u    /* classes that are found without a hash */
#define ASK_TASK 256u /* records of a ring after which its task's name is asked for anew */

/* What is to be written down under the lock. */
typedef struct {
	enum {
		NOTE_EVENT, /* of ring `target`: tag is its class, task its owner's tag */
		NOTE_RUNS,  /* of ring `target`: tag is a task's */
		NOTE_LASTS, /* of ring `target`: tag is its class, since when it lasted up to ns */
		NOTE_GAP,   /* of ring `target`: tag */
		NOTE_LOSS,  /* of ring `target`: since, lost, own_ns */
		NOTE_BOOT,  /* of ring `target`: tag is the boot's number; own_ns */
		NOTE_STATE, /* of task `target`: tag */
	} kind;
	guint target;
	guint32 tag, task;
	guint64 ns, since, lost, own_ns;
} RsTraceTimelineNote;

/* A ring as the taking thread knows it. */
typedef struct {
	guint number;
	guint64 last_ns;   /* of its last record */
	guint64 last_runs; /* when the latest of its tasks began */
	guint64 lasted;    /* when the latest of what lasts on it ended */
	guint32 tag;       /* the task that has it */
	guint32 pid, boot; /* of the last event, to which `own` belongs */
	guint32 own;       /* tag of that event's task */
	guint unasked;     /* records since its task was asked for; G_MAXUINT: never */
	gboolean in_gap;
} RsTraceTakenRing;

/* A source likewise. */
typedef struct {
	guint number;
	guint machine;
	GPtrArray *rings; /* RsTraceTakenRing, by ring; NULL: none yet */
} RsTraceTakenSource;

/* What an event tells of tasks. Fields are NULL if there are none. */
typedef struct {
	guint64 unique; /* 0: free */
	guint class;
	const RsTraceField *next_pid, *next_comm, *prev_state; /* of a switch */
	const RsTraceField *woken;                             /* of a wake-up */
	const RsTraceField *duration;                          /* how long what it tells of took */
} RsTraceTakenClass;

typedef struct {
	guint machine;
	guint32 pid, boot;
	guint32 tag; /* of the task */
} RsTraceTaskKey;

struct _RsTraceTimeline {
	gatomicrefcount refs;
	GMutex lock;
	RsTracePalette class_palette, task_palette, state_palette, gap_palette;
	GPtrArray *sources, *rings, *tasks, *classes; /* that others see; only grow */
	guint64 first_ns, end_ns;
	guint64 lost;
	guint64 live_end; /* atomic */

	/* Of the taking thread: */
	GPtrArray *taken;      /* RsTraceTakenSource by RsTraceOrigin.index */
	GHashTable *by_unique; /* RsTraceTakenClass */
	GHashTable *by_label;  /* of classes -> number + 1 */
	GHashTable *by_task;   /* RsTraceTaskKey */
	RsTraceTakenClass *cache[CACHE];
	GArray *states; /* guint8: of each task, its latest state */
	guint n_rings;
	gsize formats; /* bytes of the classes' formats */
	GArray *notes; /* RsTraceTimelineNote */
};

G_END_DECLS

#endif
