/* SPDX-License-Identifier: MIT */
/*
 * Values by time, which does not go back. Values are gathered in the run's tail. A full tail is
 * sealed when another value comes: its times become differences, and its values what they are above
 * the least one. Bounds of blocks, and of many blocks together, are kept aside.
 *
 * Threads: none looks while one appends. Trust: any value but NaN.
 */
#ifndef RS_TRACE_RUN_PRIVATE_H
#define RS_TRACE_RUN_PRIVATE_H

#include <glib.h>

G_BEGIN_DECLS

#define RS_TRACE_RUN_BLOCK 128u

typedef struct _RsTraceRun RsTraceRun;

typedef struct {
	double least, most; /* least > most: of nothing */
} RsTraceBounds;

/* Times of a block. */
typedef struct {
	guint block;       /* G_MAXUINT: none */
	const guint64 *ns; /* the tail's, or these: */
	guint64 sealed[RS_TRACE_RUN_BLOCK];
} RsTraceRunSlot;

/* Where a run is looked at: two blocks, as of a stretch's begin and end. Nothing is to be freed. */
typedef struct {
	const RsTraceRun *run;
	RsTraceRunSlot slots[2];
	guint last; /* slot that was used last */
} RsTraceRunLook;

RsTraceRun *rs_trace_run_new(void);
void rs_trace_run_free(RsTraceRun *run);
/* `ns` is not before rs_trace_run_last_ns(). */
void rs_trace_run_append(RsTraceRun *run, guint64 ns, double value);

/* 0: it is empty. */
guint64 rs_trace_run_last_ns(const RsTraceRun *run);
guint64 rs_trace_run_count(const RsTraceRun *run);
/* Bytes of memory, about. */
gsize rs_trace_run_size(const RsTraceRun *run);

/* It is good until something is appended. */
void rs_trace_run_look(RsTraceRunLook *look, const RsTraceRun *run);
/* How many are earlier than `ns`. */
guint64 rs_trace_run_rank(RsTraceRunLook *look, guint64 ns);
/* `index` is less than rs_trace_run_count(). */
double rs_trace_run_value(RsTraceRunLook *look, guint64 index, guint64 *ns);
/* By values [from, until). */
void rs_trace_run_widen(const RsTraceRun *run, guint64 from, guint64 until, RsTraceBounds *bounds);

void rs_trace_bounds_widen(RsTraceBounds *bounds, double value);
/* How many of the `n` times, which do not go back, are earlier than `ns`. */
guint rs_trace_rank_of(const guint64 *times, guint n, guint64 ns);

G_END_DECLS

#endif
