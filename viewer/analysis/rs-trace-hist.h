/* SPDX-License-Identifier: MIT */
/*
 * How the values of a column are spread: amounts in buckets of a power of two, all else by what it
 * is (text, symbol, pid, cpu, pointer). For the whole trace, or for each value of another column.
 *
 * Memory is bounded: RS_TRACE_HIST_KEYS values, or with groups RS_TRACE_HIST_GROUPS of them with
 * RS_TRACE_HIST_GROUP_KEYS values each; what comes after them is "(other)". Trust: as
 * rs-trace-column.h. One thread at a time.
 */
#ifndef RS_TRACE_HIST_H
#define RS_TRACE_HIST_H

#include "analysis/rs-trace-sample.h"

G_BEGIN_DECLS

#define RS_TRACE_HIST_KEYS 8192u
#define RS_TRACE_HIST_FEW 16u
#define RS_TRACE_HIST_GROUPS 128u
#define RS_TRACE_HIST_GROUP_KEYS 256u

typedef struct _RsTraceHist RsTraceHist;

/* Amounts in a bucket, or what `label` says. */
typedef struct {
	char *label; /* any bytes: escape before printing. NULL: a bucket */
	gboolean is_other;
	/* Of a bucket, the least and the greatest amount without their sign. */
	gboolean is_negative;
	guint64 low, high;
	guint64 count;
} RsTraceHistRow;

typedef struct {
	char *label; /* of the other column's value; any bytes. NULL: the whole trace */
	gboolean is_other;
	guint64 count;
	/* Of amounts, if there were any: */
	guint64 amounts;
	double mean, least, greatest;
	GArray *rows; /* of RsTraceHistRow: buckets in order, then the most frequent value first */
} RsTraceHistGroup;

/* `by` may be NULL. NULL: RS_TRACE_ERROR_SELECTION. */
RsTraceHist *rs_trace_hist_new(const char *field, const char *by, GError **error);
/* Accepts NULL. */
void rs_trace_hist_free(RsTraceHist *hist);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceHist, rs_trace_hist_free)

/*
 * While there are no more than RS_TRACE_HIST_FEW different amounts, each has a row of its own, and
 * not a bucket.
 */
void rs_trace_hist_set_few(RsTraceHist *hist);
void rs_trace_hist_add(RsTraceHist *hist, const RsTraceSample *item);
/*
 * All groups, that with the most values first and the others last; to be unrefed. FALSE: it is of a
 * field that no event has had.
 */
gboolean rs_trace_hist_result(const RsTraceHist *hist, GPtrArray **groups, GError **error);
/*
 * Of a result: leaves each group's `max` most frequent values that are no amounts (0: all), and
 * sums up the rest in "(other)".
 */
void rs_trace_hist_fold(GPtrArray *groups, guint max);

G_END_DECLS

#endif
