/* SPDX-License-Identifier: MIT */
/*
 * An event as an expectation names it, "GLOB" or "GLOB: EXPR", looked for among records: whether a
 * record is so, and if none is, which one comes nearest. Trust: records are hostile. One thread at
 * a time.
 */
#ifndef RS_TRACE_MATCH_H
#define RS_TRACE_MATCH_H

#include "analysis/rs-trace-sample.h"
#include "filter/rs-trace-event-glob.h"
#include "filter/rs-trace-selection.h"

G_BEGIN_DECLS

/* The records that are so. NULL: RS_TRACE_ERROR_SELECTION. */
RsTraceSelection *rs_trace_match_select(const char *event, GError **error);
/* The glob alone. NULL: likewise. */
RsTraceEventGlob *rs_trace_match_glob(const char *event, GError **error);

typedef struct _RsTraceMatch RsTraceMatch;

/* NULL: RS_TRACE_ERROR_SELECTION. */
RsTraceMatch *rs_trace_match_new(const char *event, GError **error);
/* Accepts NULL. */
void rs_trace_match_free(RsTraceMatch *match);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceMatch, rs_trace_match_free)

/* The trace has this event, whether it has records or not. TRUE: the glob matches it. */
gboolean rs_trace_match_know(RsTraceMatch *match, const RsTraceOrigin *origin,
			     const RsTraceEvent *event);

typedef enum {
	RS_TRACE_MATCH_SO,
	RS_TRACE_MATCH_NEAREST, /* not so, but nearer than all before */
	RS_TRACE_MATCH_NOT,
} RsTraceMatchResult;

/* A loss or a boot is never so. */
RsTraceMatchResult rs_trace_match_look(RsTraceMatch *match, const RsTraceSample *sample);
/*
 * Whether the expression fits the events that the trace has. FALSE: RS_TRACE_ERROR_SELECTION; once
 * it does not, no record is so.
 */
gboolean rs_trace_match_check(const RsTraceMatch *match, GError **error);

/* The glob, as it was given. The match's. */
const char *rs_trace_match_name(const RsTraceMatch *match);
/* How many of the records were of the event, so or not. */
guint64 rs_trace_match_n_of_event(const RsTraceMatch *match);
/* The term that the nearest record lacks. NULL: there are not several. The match's. */
const char *rs_trace_match_missing(const RsTraceMatch *match);

G_END_DECLS

#endif
