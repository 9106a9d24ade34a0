/* SPDX-License-Identifier: MIT */
/*
 * Whether a trace is as it was expected. It is read once, from its first record to its last:
 *
 *	rs_trace_verdict_new()
 *	rs_trace_verdict_add() each record, losses too
 *	rs_trace_verdict_finish()
 *
 * A record has a number, from 0 on, in the order of the reader, by which a finding names it. What
 * is kept of a trace is bounded: an expectation with more than RS_TRACE_VERDICT_OPEN events that
 * wait for their partners fails. Trust: records are hostile. One thread at a time.
 */
#ifndef RS_TRACE_VERDICT_H
#define RS_TRACE_VERDICT_H

#include "analysis/rs-trace-sample.h"
#include "expect/rs-trace-expectation.h"

G_BEGIN_DECLS

#define RS_TRACE_VERDICT_OPEN 65536u
#define RS_TRACE_VERDICT_NONE G_MAXUINT64
/*
 * Records that a vCPU can be writing at once, each in the middle of another: of a task, interrupts,
 * an NMI, or of threads that stand still. Of a guest that was stopped so many may be lost.
 */
#define RS_TRACE_VERDICT_WRITING 64u

typedef enum {
	RS_TRACE_FINDING_MET,
	RS_TRACE_FINDING_UNMET,
	RS_TRACE_FINDING_BROKEN, /* the spec is wrong: of a field that no event has, say */
} RsTraceFindingKind;

typedef struct {
	const char *name; /* the expectation's, and valid as long as it; or "no loss" */
	guint line;       /* of the spec; 0: nowhere */
	RsTraceFindingKind kind;
	char *why;        /* one line, for a terminal; NULL: it is met */
	guint64 record;   /* where to look: the culprit, or the nearest miss */
	gboolean nearest; /* it is the nearest miss */
} RsTraceFinding;

/* How the guest ended. */
typedef struct {
	const char *serial; /* what it wrote; NULL: nobody knows */
	gsize serial_size;
	gboolean serial_cut; /* it wrote more */
	/*
	 * It was stopped at a moment of ours, perhaps in the middle of a record: what a ring lost
	 * behind its last record does not count.
	 */
	gboolean stopped;
	/*
	 * Until when the guest ran for sure, on the clock of records; 0: nobody knows. It may have
	 * been silent at the end.
	 */
	guint64 until_ns;
	guint64 lost;       /* events that are in no trace, besides its losses */
	const char *damage; /* what is wrong with the trace itself; NULL: nothing */
	gboolean exited;    /* with this code; FALSE: it did not end by itself */
	guint code;
	/* As `--result` names it (docs/json.md), and what the guest said to it. NULL: not known. */
	const char *how, *text;
	const char *end; /* how, in words: "it was stopped after 10 s" */
} RsTraceRunEnd;

typedef struct _RsTraceVerdict RsTraceVerdict;

/* `expectations`: as rs_trace_expectations_new(), referenced. `may_lose`: losses do not matter. */
RsTraceVerdict *rs_trace_verdict_new(GPtrArray *expectations, gboolean may_lose);
/* Accepts NULL. */
void rs_trace_verdict_free(RsTraceVerdict *verdict);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceVerdict, rs_trace_verdict_free)

/*
 * The trace has this event, whether it has records or not: to be told before the end. `origin`
 * NULL: of a source without a name.
 */
void rs_trace_verdict_know(RsTraceVerdict *verdict, const RsTraceOrigin *origin,
			   const RsTraceEvent *event);
void rs_trace_verdict_add(RsTraceVerdict *verdict, const RsTraceSample *sample);
/*
 * What was found of each expectation, in their order, and of losses: GPtrArray of RsTraceFinding,
 * to be unreffed. Once, at the end.
 */
GPtrArray *rs_trace_verdict_finish(RsTraceVerdict *verdict, const RsTraceRunEnd *end);

G_END_DECLS

#endif
