/* SPDX-License-Identifier: MIT */
/*
 * What a timeline shows of a trace: tracks, slices on them, and counters. For the formats that are
 * made of these.
 *
 *   - Each task has a track. Its events lie there. Those of pid 0, which every vCPU has its own of,
 *     lie on a track of the vCPU.
 *   - An event begins a slice if its name is X_begin, X_enter or X_entry, and ends one if it is
 *     X_end (of X_begin) or X_exit (of the others). X may be empty: enter and exit of a system. A
 *     user may name other pairs. All others are instants.
 *   - The end of a slice ends those that began inside it, and an end whose slice did not begin on
 *     the task's track is an instant. So slices are nested, whatever is lost. All slices of a task
 *     end at its task:exit, sched:process_exit or sched:sched_process_exit.
 *   - Inside RS_SPANS_DEPTH slices of a track, begins and their ends are instants.
 *   - sched:switch (or sched:sched_switch) also tells which task runs on a vCPU, which is a slice
 *     on the vCPU's track.
 *   - An integer field `value` of an event is a counter if it is the event's only integer, and so
 *     is each field that a user names.
 *
 * Names are those of a schema, so they need no escape.
 */
#ifndef RS_TRACE_SPANS_H
#define RS_TRACE_SPANS_H

#include "rs-trace-exporter.h"

typedef enum { RS_SPAN_INSTANT, RS_SPAN_BEGIN, RS_SPAN_END } RsSpanPhase;

/* What an event is in a timeline. */
typedef struct {
	char *name;         /* "system:event" */
	RsSpanPhase phase;  /* of most of its records: see rs_spans_step() */
	char *span;         /* the slice's name, "system:X"; NULL: it is an instant */
	guint64 span_id;    /* which is the same for begin and end */
	gboolean is_last;   /* the task ends */
	gint next_pid;      /* of a switch: index of the field; -1: it is none */
	gint next_comm;     /* likewise; -1: there is none */
	gint counter;       /* index of the field; -1: it counts nothing */
	char *counter_name; /* "system:event.field" */
	guint32 counter_id; /* that no counter of another name has */
	gpointer data;      /* the format's; freed by the function that rs_spans_new() got */
} RsSpanClass;

/* What a record is on its track. `processes` are valid until the next step. */
typedef struct {
	RsSpanPhase phase;
	guint inside;            /* slices that are to be ended before it */
	const gint32 *processes; /* in which those began, the outermost first */
	gint32 process;          /* in which it is: of an end, that of its begin */
} RsSpanStep;

#define RS_SPANS_DEPTH 32u

typedef struct _RsSpans RsSpans;

/* G_IO_ERROR_INVALID_ARGUMENT: what the user asked for cannot be read. */
RsSpans *rs_spans_new(const RsTraceExportConfig *config, GDestroyNotify free_data, GError **error);
/* NULL is accepted. */
void rs_spans_free(RsSpans *spans);

/* The event's class, which may be new, and then has no data. Valid until the next call. */
RsSpanClass *rs_spans_class(RsSpans *spans, const RsTraceEvent *event);
/* What a record of that class is on this track. `process`: any number, which the step tells. */
RsSpanStep rs_spans_step(RsSpans *spans, guint64 track, gint32 process, const RsSpanClass *class);
/* Nothing is open on the track any more, without an end. */
void rs_spans_drop(RsSpans *spans, guint64 track);
/* How many slices were too deep until now. */
guint64 rs_spans_too_deep(const RsSpans *spans);

/* An integer field's value. FALSE: the record lacks it. */
gboolean rs_spans_value(const RsTraceRecord *record, gint field, guint64 *value);
/* The name in a field, as UTF-8, or, if there is none, the pid: a new string. */
char *rs_spans_comm(const RsTraceRecord *record, gint field, guint64 pid);

/* ---- tracks ---- */

typedef enum {
	RS_TRACK_SOURCE = 1,
	RS_TRACK_CPU,     /* number: of the ring */
	RS_TRACK_IDLE,    /* likewise: of its idle task */
	RS_TRACK_TASK,    /* pid */
	RS_TRACK_PROCESS, /* tgid */
	RS_TRACK_COUNTER, /* RsSpanClass.counter_id */
} RsTrackKind;

/* A number that no other track has, other than 0. */
static inline guint64 rs_track(RsTrackKind kind, guint source_index, guint32 number)
{
	return (guint64)kind << 56 | (guint64)(source_index & 0xffffff) << 32 | number;
}

/* What a viewer was told of tracks, of which it forgets some if they are very many. */
GHashTable *rs_tracks_new(void);
/*
 * Whether the track is to be told, as it is new, or has another name or thread group than before.
 * From now on it is told. Tracks that cannot change have the group 0 and the name "".
 */
gboolean rs_tracks_is_news(GHashTable *tracks, guint64 track, guint32 group, const char *name);

/* The track of an event. */
static inline guint64 rs_track_of(const RsTraceExportItem *item)
{
	const RsTraceRecord *record = item->record;

	return record->pid ? rs_track(RS_TRACK_TASK, item->source_index, record->pid)
			   : rs_track(RS_TRACK_IDLE, item->source_index, record->ring);
}

/*
 * A pid for a viewer that knows one machine only: in the first source it is that of the guest, in
 * source n it is n * 2^22 more. `machine`: of the origin. Not negative as an int32.
 */
static inline gint32 rs_track_pid(guint machine, guint32 pid)
{
	if (!machine)
		return (gint32)(pid & 0x7fffffff);
	return (gint32)((machine & 0x1ff) << 22 | (pid & 0x3fffff));
}

#endif
