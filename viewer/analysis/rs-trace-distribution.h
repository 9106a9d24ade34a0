/* SPDX-License-Identifier: MIT */
/*
 * How numbers are spread, in a fixed amount of memory (60 KiB): each factor of two is divided into
 * 128 equal buckets. So a percentile is wrong by 0.4 % at most; count, sum, least and greatest are
 * exact. One thread at a time.
 */
#ifndef RS_TRACE_DISTRIBUTION_H
#define RS_TRACE_DISTRIBUTION_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct _RsTraceDistribution RsTraceDistribution;

RsTraceDistribution *rs_trace_distribution_new(void);
/* Accepts NULL. */
void rs_trace_distribution_free(RsTraceDistribution *distribution);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceDistribution, rs_trace_distribution_free)

void rs_trace_distribution_add(RsTraceDistribution *distribution, guint64 value);

guint64 rs_trace_distribution_count(const RsTraceDistribution *distribution);
/* These are 0 if nothing was added. */
guint64 rs_trace_distribution_least(const RsTraceDistribution *distribution);
guint64 rs_trace_distribution_greatest(const RsTraceDistribution *distribution);
double rs_trace_distribution_mean(const RsTraceDistribution *distribution);
/*
 * The least value that is not less than `percent` (0 to 100) of all values: of 1, 2, 3 and 4 the
 * 50th percentile is 2.
 */
guint64 rs_trace_distribution_percentile(const RsTraceDistribution *distribution, double percent);
/* How many values lie in [2^n, 2^(n+1)); of n 0 those that are 0 or 1. */
guint64 rs_trace_distribution_octave(const RsTraceDistribution *distribution, guint n);

G_END_DECLS

#endif
