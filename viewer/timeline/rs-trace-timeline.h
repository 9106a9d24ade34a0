/* SPDX-License-Identifier: MIT */
/*
 * A trace in memory, as a window needs it: which event was when on which vCPU, which task had it,
 * in which state each task was, and what was lost where; not what the events said. It takes a few
 * bytes for each event, and grows while the trace is read (docs/adr/0026-timeline.md).
 *
 * Threads: one thread takes records. Any other looks at the timeline between
 * rs_trace_timeline_lock() and rs_trace_timeline_unlock(). All functions that take a const
 * timeline want that, and so does all that its structs hold. The taking thread holds the lock for a
 * fraction of a millisecond at a time. What is there never goes away: rings, tasks and classes keep
 * their numbers and addresses as long as the timeline.
 *
 * Trust: records and names are hostile. All is bounded: RS_TRACE_TIMELINE_TASKS tasks,
 * RS_TRACE_TIMELINE_CLASSES classes and RS_TRACE_TIMELINE_RINGS rings. What comes after them
 * belongs to the last of each, "(other)". Names are any bytes.
 */
#ifndef RS_TRACE_TIMELINE_H
#define RS_TRACE_TIMELINE_H

#include <gio/gio.h>

#include "rs-trace-cmdline.h"
#include "rs-trace-decoder.h"
#include "timeline/rs-trace-series.h"

G_BEGIN_DECLS

#define RS_TRACE_TIMELINE_RINGS 16384u
#define RS_TRACE_TIMELINE_TASKS 65536u
#define RS_TRACE_TIMELINE_CLASSES 16384u
#define RS_TRACE_TIMELINE_FORMATS ((gsize)8 << 20) /* bytes of all classes' formats */

typedef struct _RsTraceTimeline RsTraceTimeline;

/* Numbers of classes that are no events. Those of events follow. */
enum {
	RS_TRACE_CLASS_LOSS,    /* events are missing here */
	RS_TRACE_CLASS_BOOT,    /* the guest's agent started again */
	RS_TRACE_CLASS_UNKNOWN, /* an event that nothing is known of */
	RS_TRACE_CLASS_EVENTS,  /* the first event */
};
/* No class, and so without a colour. */
#define RS_TRACE_CLASS_NONE RS_TRACE_TIMELINE_CLASSES

/* An event of any source, by its name. */
typedef struct {
	char *system, *name; /* "" of what is no event */
	char *label;         /* "system:name", "loss", "boot", "unknown" */
	/* As a Linux format file; NULL: of no event, or there was no room for it. */
	char *format;
	guint64 count;
	guint32 colour; /* 0xRRGGBB, from the label */
} RsTraceTimelineClass;

/* Tags of ring->tasks: 0, nobody knows; 1, idle; else the task with the number tag - 2. */
enum { RS_TRACE_TASK_TAG_UNKNOWN, RS_TRACE_TASK_TAG_IDLE, RS_TRACE_TASK_TAG_FIRST };

/* A vCPU of a source: a lane. */
typedef struct {
	guint source; /* RsTraceOrigin.index */
	guint ring;
	RsTraceSeries *events; /* points, by class: also losses and boots */
	RsTraceSeries *tasks;  /* spans: who had the vCPU, RS_TRACE_TASK_TAG_* */
	/*
	 * Spans, by class: how long that took of which a record tells when it ends. An event has it
	 * whose last field is a whole number of nanoseconds, by its name: "host_ns". What one
	 * record tells begins no earlier than what the one before it told has ended. Tag
	 * RS_TRACE_CLASS_NONE: nothing is told.
	 */
	RsTraceSeries *lasting;
	/* Spans by the index of an event, not by a time: whose it is, RS_TRACE_TASK_TAG_*. */
	RsTraceSeries *owners;
	/* Spans, tag 1: records of this time are missing, or may be. */
	RsTraceSeries *gaps;
	GArray *losses; /* RsTraceTimelineLoss, in order */
	GArray *boots;  /* RsTraceTimelineBoot, in order */
	guint64 lost;   /* the sum of them */
} RsTraceTimelineRing;

typedef struct {
	guint64 ns;     /* of the row: no later than the record behind it */
	guint64 since;  /* of the last record before it */
	guint64 lost;   /* events */
	guint64 own_ns; /* RsTraceRecord.ns */
} RsTraceTimelineLoss;

/* What there is to say of a boot, which only who reads a trace from its start can tell. */
typedef struct {
	guint64 ns;     /* of the row */
	guint64 own_ns; /* RsTraceRecord.ns */
	guint32 boot;
} RsTraceTimelineBoot;

/* Tags of task->states. */
typedef enum {
	RS_TRACE_STATE_UNKNOWN,
	RS_TRACE_STATE_RUNNING,
	RS_TRACE_STATE_RUNNABLE, /* it waits for a vCPU */
	RS_TRACE_STATE_BLOCKED,  /* it waits for something else */
	RS_TRACE_STATE_STOPPED,  /* by a signal or a tracer */
	RS_TRACE_STATE_DEAD,
	RS_TRACE_STATES,
} RsTraceTaskState;

/* 0xRRGGBB, or RS_TRACE_PALETTE_NONE. Needs no lock. */
guint32 rs_trace_timeline_state_colour(RsTraceTaskState state);

typedef struct {
	guint machine; /* index of the source whose pids it has */
	guint32 pid;
	guint32 tgid;          /* 0: not known */
	guint32 boot;          /* of the guest */
	char *comm;            /* as it was last known; "<...>": not known */
	guint32 colour;        /* 0xRRGGBB; by the pid, so that it is the same in each trace */
	RsTraceSeries *states; /* spans, RsTraceTaskState */
	guint64 first_ns, last_ns;
	guint64 events;
} RsTraceTimelineTask;

typedef struct {
	guint index; /* RsTraceOrigin.index */
	char *name;  /* escaped; may be "" */
	guint machine;
	guint32 number; /* in its session; 0: not known */
	gboolean is_named;
	gboolean has_vcpus; /* its rings are vCPUs: it is no process that joined, nor the host */
} RsTraceTimelineSource;

RsTraceTimeline *rs_trace_timeline_new(void);
RsTraceTimeline *rs_trace_timeline_ref(RsTraceTimeline *timeline);
/* Any thread. NULL is accepted. */
void rs_trace_timeline_unref(RsTraceTimeline *timeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceTimeline, rs_trace_timeline_unref)
/* Any thread. There is one reference to it, the caller's. */
gboolean rs_trace_timeline_is_alone(const RsTraceTimeline *timeline);

/* ---- the taking thread ---- */

/*
 * Whether rs_trace_timeline_take() is to be told the record's task: to find that takes time, and
 * most records have the task of the one before them.
 */
gboolean rs_trace_timeline_wants_task(const RsTraceTimeline *timeline, const RsTraceRecord *record);
/*
 * When a record is in a timeline: at its time, but no earlier than the one before it of its ring.
 * That one's is `last_ns`, 0 if there is none. Needs no timeline.
 */
guint64 rs_trace_timeline_time_of(const RsTraceRecord *record, guint64 last_ns);
/*
 * The next record, in the order of time. It may be seen only after rs_trace_timeline_flush(), which
 * this calls from time to time. `task` NULL: as before.
 */
void rs_trace_timeline_take(RsTraceTimeline *timeline, const RsTraceRecord *record,
			    const RsTraceTask *task);
void rs_trace_timeline_flush(RsTraceTimeline *timeline);
/* Nothing happened up to then, as far as one can know: of a live trace. Needs no lock. */
void rs_trace_timeline_set_end(RsTraceTimeline *timeline, guint64 ns);

/* ---- all threads ---- */

void rs_trace_timeline_lock(const RsTraceTimeline *timeline);
void rs_trace_timeline_unlock(const RsTraceTimeline *timeline);

/* Times of the first record and behind the last; both 0 if there is none. */
void rs_trace_timeline_span(const RsTraceTimeline *timeline, guint64 *first_ns, guint64 *end_ns);
/* Bytes of memory, about. */
gsize rs_trace_timeline_size(const RsTraceTimeline *timeline);

/* Of all rings. */
guint64 rs_trace_timeline_lost(const RsTraceTimeline *timeline);

/* Each has numbers from 0 on. NULL: there is none of that number. */
const RsTraceTimelineSource *rs_trace_timeline_source(const RsTraceTimeline *timeline, guint n);
const RsTraceTimelineRing *rs_trace_timeline_ring(const RsTraceTimeline *timeline, guint n);
const RsTraceTimelineTask *rs_trace_timeline_task(const RsTraceTimeline *timeline, guint n);
const RsTraceTimelineClass *rs_trace_timeline_class(const RsTraceTimeline *timeline, guint n);
/* The source of that index; NULL: none. */
const RsTraceTimelineSource *rs_trace_timeline_source_of(const RsTraceTimeline *timeline,
							 guint index);
/*
 * Whose event that is, RS_TRACE_TASK_TAG_*: of losses, boots and what is not there nobody's. Events
 * of several tasks may have one time, so that ring->tasks does not say it.
 */
guint32 rs_trace_timeline_owner(const RsTraceTimelineRing *ring, guint64 index);
/*
 * The events of a task, from all vCPUs: points, by class. Made anew at each call, up to a few
 * hundred ms of work for a hundred million events: not for the main loop. Takes the lock by itself.
 * Once it is cancelled (NULL: never), it returns what it has by then.
 * The timeline must outlive what it returns, which is looked at under the lock, like all else.
 */
RsTraceSeries *rs_trace_timeline_task_events(const RsTraceTimeline *timeline, guint task,
					     GCancellable *cancellable);
/* The number of the ring's first loss that is not earlier than `ns`. Wants the lock. */
guint rs_trace_timeline_loss_rank(const RsTraceTimelineRing *ring, guint64 ns);

/* ---- rows: all records of all rings, in the order of time ---- */

typedef struct {
	guint ring;    /* number */
	guint64 index; /* in the ring's events */
	guint64 ns;
	guint32 class;
	/* So many records of its ring and class with the same time are before it. */
	guint nth;
} RsTraceTimelineRow;

/* Too many are before it to be counted, so that nobody can say which record it is. */
#define RS_TRACE_TIMELINE_NTH_UNKNOWN G_MAXUINT

guint64 rs_trace_timeline_n_rows(const RsTraceTimeline *timeline);
/* How many rows are earlier than `ns`. */
guint64 rs_trace_timeline_rank(const RsTraceTimeline *timeline, guint64 ns);
/* Fills up to `n` rows from number `first` on, and returns how many. */
guint rs_trace_timeline_rows(const RsTraceTimeline *timeline, guint64 first, guint n,
			     RsTraceTimelineRow *out);
/* The number of the row that this item of a ring has. */
guint64 rs_trace_timeline_row_of(const RsTraceTimeline *timeline, guint ring, guint64 index);
/*
 * The next row from `from` on whose class is set in `wanted`; backwards likewise. G_MAXUINT64:
 * there is none.
 */
guint64 rs_trace_timeline_find(const RsTraceTimeline *timeline, guint64 from, gboolean forward,
			       const guint32 *wanted, guint n_wanted);

/* The task that has a tag of ring->tasks; NULL: idle, or nobody knows. */
const RsTraceTimelineTask *rs_trace_timeline_task_of_tag(const RsTraceTimeline *timeline,
							 guint32 tag);

G_END_DECLS

#endif
