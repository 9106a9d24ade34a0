/* SPDX-License-Identifier: MIT */
/*
 * What a trace holds: how many records of each event, when the first and the last one was, and what
 * each vCPU recorded and lost. A loss is of a vCPU: nobody knows which events were lost.
 *
 * Memory is bounded: RS_TRACE_STAT_EVENTS events and RS_TRACE_STAT_CPUS vCPUs have a row of their
 * own, the rest together has one. Events of one name are one event, whatever their source. Trust:
 * records are hostile. One thread at a time.
 */
#ifndef RS_TRACE_STAT_H
#define RS_TRACE_STAT_H

#include "analysis/rs-trace-sample.h"

G_BEGIN_DECLS

#define RS_TRACE_STAT_EVENTS 16384u
#define RS_TRACE_STAT_CPUS 16384u

/* Of an event, a vCPU, or all of them. */
typedef struct {
	guint64 events;
	guint64 lost;     /* not of an event */
	guint64 gaps;     /* in how many places they were lost */
	guint64 first_ns; /* of the events; 0 if there are none */
	guint64 last_ns;
} RsTraceStatCounts;

typedef struct {
	char *label; /* "system:name", "#ID" of an unknown event, a source's name; any bytes */
	gboolean is_other;
	guint source_index; /* of a vCPU */
	guint cpu;          /* likewise */
	RsTraceStatCounts counts;
} RsTraceStatRow;

typedef struct _RsTraceStat RsTraceStat;

RsTraceStat *rs_trace_stat_new(void);
/* Accepts NULL. */
void rs_trace_stat_free(RsTraceStat *stat);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceStat, rs_trace_stat_free)

void rs_trace_stat_add(RsTraceStat *stat, const RsTraceSample *item);

const RsTraceStatCounts *rs_trace_stat_total(const RsTraceStat *stat);
/*
 * What was read of the trace, if that is more than what was added: rates are counted over it, so
 * that a choice of records does not change them.
 */
void rs_trace_stat_set_span(RsTraceStat *stat, guint64 first_ns, guint64 last_ns);
/* Its length in ns; without it, that from the first record that was added to the last. */
guint64 rs_trace_stat_span(const RsTraceStat *stat);
/* RsTraceStatRow; the most frequent event first; to be unrefed. */
GPtrArray *rs_trace_stat_events(const RsTraceStat *stat);
/* RsTraceStatRow; by source and number; to be unrefed. */
GPtrArray *rs_trace_stat_cpus(const RsTraceStat *stat);
/* How many of a second of `span`; 0 if it is none. */
double rs_trace_stat_rate(guint64 count, guint64 span);

G_END_DECLS

#endif
