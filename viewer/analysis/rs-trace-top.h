/* SPDX-License-Identifier: MIT */
/*
 * What goes on in a trace that is followed: how many events came and were lost in the latest
 * interval, and since the beginning, by event, source, vCPU and task; and what that cost the guest.
 * A loss is of a vCPU, and so of a source: nobody knows which events and tasks were lost.
 *
 * Memory is bounded: there are RS_TRACE_TOP_ROWS rows of each kind. When most of them are taken,
 * those of which nothing came in an interval are given up. What has no row is counted together, as
 * others. Trust: records are hostile. One thread at a time; a page is its owner's.
 */
#ifndef RS_TRACE_TOP_H
#define RS_TRACE_TOP_H

#include "analysis/rs-trace-sample.h"

G_BEGIN_DECLS

#define RS_TRACE_TOP_ROWS 4096u

typedef enum {
	RS_TRACE_TOP_EVENT,
	RS_TRACE_TOP_SOURCE,
	RS_TRACE_TOP_CPU,
	RS_TRACE_TOP_TASK,
	RS_TRACE_TOP_KINDS
} RsTraceTopBy;

typedef enum {
	RS_TRACE_TOP_RATE, /* events in the interval, and those lost */
	RS_TRACE_TOP_TOTAL,
	RS_TRACE_TOP_LOST,
	RS_TRACE_TOP_NAME,
	RS_TRACE_TOP_SORTS
} RsTraceTopSort;

typedef struct {
	guint64 events;
	guint64 lost;    /* not of an event or a task */
	guint64 unknown; /* of both, those of sources where the cost of an event is not known */
	double cost_ns;  /* of the others: what they took */
} RsTraceTopCounts;

typedef struct {
	char *label;    /* name of an event, task or source; of a vCPU its source's; any bytes */
	char *source;   /* name of the source of a vCPU or a task; else NULL */
	guint32 number; /* of the source; 0: of an event */
	guint cpu;
	guint32 pid;
	gboolean is_other;
	guint others; /* rows that are summed up here, besides what had no row */
	RsTraceTopCounts now, all;
} RsTraceTopRow;

typedef struct {
	guint64 interval_ns; /* length of the latest interval; 0: nothing was added yet */
	RsTraceTopCounts now, all;
	GPtrArray *rows[RS_TRACE_TOP_KINDS]; /* of RsTraceTopRow, in no order */
} RsTraceTopPage;

typedef struct _RsTraceTop RsTraceTop;

/*
 * `cost`: how many ns an event takes in the source of that number; negative: nobody knows. Called
 * once for each source, by rs_trace_top_add().
 */
RsTraceTop *rs_trace_top_new(double (*cost)(guint32 number, gpointer data), gpointer data);
/* Accepts NULL. */
void rs_trace_top_free(RsTraceTop *top);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceTop, rs_trace_top_free)

/* The sample's record has an origin. */
void rs_trace_top_add(RsTraceTop *top, const RsTraceSample *item);
/* Ends an interval. `now_ns`: of any clock that does not go back, always of the same. */
RsTraceTopPage *rs_trace_top_take(RsTraceTop *top, guint64 now_ns);
/* Accepts NULL. */
void rs_trace_top_page_free(RsTraceTopPage *page);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceTopPage, rs_trace_top_page_free)

/*
 * The first `max` rows (0: all) in that order, RsTraceTopRow; to be unrefed. What is left is one
 * more row, the last, if there is something.
 */
GPtrArray *rs_trace_top_rows(const RsTraceTopPage *page, RsTraceTopBy by, RsTraceTopSort sort,
			     guint max);

G_END_DECLS

#endif
