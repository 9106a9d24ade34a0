/* SPDX-License-Identifier: MIT */
/*
 * What differs between two traces: how often each event comes in a second, what was lost, and how
 * long it took from one event to another. Any thread; nothing is kept.
 */
#ifndef RS_TRACE_DIFF_H
#define RS_TRACE_DIFF_H

#include "analysis/rs-trace-latency.h"
#include "analysis/rs-trace-stat.h"

G_BEGIN_DECLS

typedef enum {
	RS_TRACE_DIFF_EVENT,   /* `label`: its name; counts, and rates in events a second */
	RS_TRACE_DIFF_LOST,    /* records lost, and the share of all that they are, 0 to 1 */
	RS_TRACE_DIFF_LATENCY, /* `label`: what of it, "p99"; values in ns, no counts */
} RsTraceDiffKind;

typedef struct {
	RsTraceDiffKind kind;
	char *label; /* any bytes; NULL: of LOST */
	guint64 counts[2];
	double values[2]; /* a rate, a share, or ns; NAN: of a latency that this trace has not */
	/* How much more the second value is than the first, 0.5 is half as much again. Infinite if
	 * only the second trace has it, -1 if only the first one has. */
	double change;
	gboolean is_new, is_gone; /* only the second trace has it, only the first one */
} RsTraceDiffRow;

/*
 * Rows of events, and of losses if there are any, those that changed most first. To be unrefed.
 */
GPtrArray *rs_trace_diff_stat(const RsTraceStat *a, const RsTraceStat *b);
/* Rows of a latency: min, mean, p50, p90, p95, p99, p99.9, max. None if neither has a pair. */
GPtrArray *rs_trace_diff_latency(const RsTraceLatency *a, const RsTraceLatency *b);
/*
 * The first row whose value has changed by more than this in either direction; NULL: none. An event
 * or a latency that only one of the traces has exceeds everything.
 */
const RsTraceDiffRow *rs_trace_diff_exceeds(const GPtrArray *rows, double change);

G_END_DECLS

#endif
