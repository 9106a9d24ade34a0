/* SPDX-License-Identifier: MIT */
/*
 * How long it takes from one event to another. A record of BEGIN and the next record of END with
 * the same key are a pair. The key is a column of each event (EVENT.FIELD), and the source: without
 * one it is the task that both are from.
 *
 * A pair between whose records the source has lost records may be no pair: it is counted apart. A
 * BEGIN that is followed by another of its key has no partner, and so has one without an END. If
 * END is no later than BEGIN by the clock, the pair took no time.
 *
 * RS_TRACE_LATENCY_OPEN pairs can be open at a time, and half as many in any case. A BEGIN beyond
 * that is refused, and counted. Pairs may be told apart in RS_TRACE_LATENCY_GROUPS groups; all
 * after them are of "(other)". Trust: as rs-trace-column.h. One thread at a time.
 */
#ifndef RS_TRACE_LATENCY_H
#define RS_TRACE_LATENCY_H

#include "analysis/rs-trace-distribution.h"
#include "analysis/rs-trace-sample.h"

G_BEGIN_DECLS

#define RS_TRACE_LATENCY_OPEN 32768u
#define RS_TRACE_LATENCY_GROUPS 128u

typedef struct _RsTraceLatency RsTraceLatency;

/*
 * `pair`: "BEGIN..END", globs of events. `key`: "FIELD" of both, "FIELD..FIELD" of each; NULL: the
 * task. NULL: RS_TRACE_ERROR_SELECTION.
 */
RsTraceLatency *rs_trace_latency_new(const char *pair, const char *key, GError **error);
/*
 * Tells pairs apart, too, by a column of BEGIN, or of END if BEGIN has no such column. Before
 * anything is added. FALSE: RS_TRACE_ERROR_SELECTION.
 */
gboolean rs_trace_latency_group_by(RsTraceLatency *latency, const char *column, GError **error);
/* Accepts NULL. */
void rs_trace_latency_free(RsTraceLatency *latency);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceLatency, rs_trace_latency_free)

/* Losses matter, so all records that are wanted are to be added. */
void rs_trace_latency_add(RsTraceLatency *latency, const RsTraceSample *item);

typedef struct {
	const RsTraceDistribution *ns; /* of pairs without a loss between; the latency's */
	guint64 newest;                /* of these, what the last one took */
	guint64 spanning;              /* pairs with a loss between */
	guint64 begins, ends;          /* records without a partner */
	guint64 refused;
	guint64 without_key; /* records that lack the key */
} RsTraceLatencyResult;

void rs_trace_latency_result(const RsTraceLatency *latency, RsTraceLatencyResult *out);
/* Of how many keys a pair began at `ns` or before, without a loss since, and has not ended. */
guint64 rs_trace_latency_open_since(const RsTraceLatency *latency, guint64 ns);

typedef struct {
	const char *label; /* any bytes: escape before printing; the latency's */
	gboolean is_other;
	const RsTraceDistribution *ns; /* likewise */
} RsTraceLatencyGroup;

/*
 * All groups, that with the most pairs first and the others last, as RsTraceLatencyGroup; to be
 * unrefed. Empty without rs_trace_latency_group_by(). NULL: no event has had such a column.
 */
GArray *rs_trace_latency_groups(const RsTraceLatency *latency, GError **error);

G_END_DECLS

#endif
