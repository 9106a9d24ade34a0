/* SPDX-License-Identifier: MIT */
/*
 * What a stretch of a document's time holds, in figures: events, losses, which tasks had the vCPUs,
 * how long it took from one event to another, and what was inside what. It reads the stretch on a
 * thread of its own.
 *
 * Thread: main. Trust: as rs-trace-document.h.
 */
#ifndef RS_TRACE_MEASURE_H
#define RS_TRACE_MEASURE_H

#include "analysis/rs-trace-latency.h"
#include "analysis/rs-trace-stat.h"
#include "document/rs-trace-document.h"
#include "document/rs-trace-flame.h"

G_BEGIN_DECLS

typedef struct {
	guint64 from, until;        /* [from, until), of it what the trace has by now */
	const char *const *filters; /* as of rs_trace_document_set_filter(); NULL: all records */
	/* "BEGIN..END", globs of events, whose latency is measured; NULL: none */
	const char *pair;
	const char *key; /* as rs_trace_latency_new() has it; NULL: the task */
} RsTraceMeasureConfig;

/* How long a task had a vCPU. */
typedef struct {
	const RsTraceTimelineTask *task; /* NULL: nobody knows who had it */
	guint64 ns;                      /* of all vCPUs together */
} RsTraceMeasureTask;

typedef struct {
	guint64 from, until;
	RsTraceStat *stat;
	GArray *tasks;   /* RsTraceMeasureTask, the longest first */
	guint64 vcpu_ns; /* the stretch times the vCPUs that the trace has: not the host's cores */
	RsTraceLatency *latency; /* NULL: it was not asked for */
	RsTraceFlame *slices;
	RsTraceFlame *stacks;
	guint64 n_stacks;          /* records with a call stack */
	RsTraceTimeline *timeline; /* to which the tasks belong */
} RsTraceMeasure;

/* NULL is accepted. */
void rs_trace_measure_free(RsTraceMeasure *measure);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceMeasure, rs_trace_measure_free)

/* How far it is, 0 to 1. */
typedef void (*RsTraceMeasureProgress)(double share, gpointer data);

/*
 * Errors: RS_TRACE_ERROR_SELECTION, a filter, the pair or the key cannot be read; those of the
 * files; G_IO_ERROR_CANCELLED. `progress` may be NULL. It is not called once the cancellable is
 * cancelled, or after `done`, which gets no source object.
 */
void rs_trace_document_measure_async(RsTraceDocument *document, const RsTraceMeasureConfig *config,
				     GCancellable *cancellable, RsTraceMeasureProgress progress,
				     GAsyncReadyCallback done, gpointer data);
RsTraceMeasure *rs_trace_document_measure_finish(GAsyncResult *result, GError **error);

G_END_DECLS

#endif
