/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-distribution.h"

#include <math.h>

#define SHIFT 7u
#define PER_OCTAVE (1u << SHIFT)
#define BUCKETS ((64 - SHIFT + 1) * PER_OCTAVE)

struct _RsTraceDistribution {
	guint64 count, least, greatest;
	double sum;
	guint64 buckets[BUCKETS];
};

RsTraceDistribution *rs_trace_distribution_new(void)
{
	return g_new0(RsTraceDistribution, 1);
}

void rs_trace_distribution_free(RsTraceDistribution *d)
{
	g_free(d);
}

/* Values below PER_OCTAVE have buckets of their own. */
static guint bucket_of(guint64 value)
{
	guint octave;

	if (value < PER_OCTAVE)
		return (guint)value;
	octave = 63u - (guint)__builtin_clzll(value);
	return (octave - SHIFT + 1) * PER_OCTAVE +
	       ((guint)(value >> (octave - SHIFT)) & (PER_OCTAVE - 1));
}

/* The value in the middle of a bucket. */
static guint64 value_of(guint bucket)
{
	guint shift;
	guint64 first;

	if (bucket < PER_OCTAVE)
		return bucket;
	shift = bucket / PER_OCTAVE - 1;
	first = (guint64)(PER_OCTAVE + bucket % PER_OCTAVE) << shift;
	return first + (((guint64)1 << shift) - 1) / 2;
}

void rs_trace_distribution_add(RsTraceDistribution *d, guint64 value)
{
	d->least = d->count ? MIN(d->least, value) : value;
	d->greatest = MAX(d->greatest, value);
	d->sum += (double)value;
	d->count++;
	d->buckets[bucket_of(value)]++;
}

guint64 rs_trace_distribution_count(const RsTraceDistribution *d)
{
	return d->count;
}

guint64 rs_trace_distribution_least(const RsTraceDistribution *d)
{
	return d->least;
}

guint64 rs_trace_distribution_greatest(const RsTraceDistribution *d)
{
	return d->greatest;
}

double rs_trace_distribution_mean(const RsTraceDistribution *d)
{
	return d->count ? d->sum / (double)d->count : 0;
}

guint64 rs_trace_distribution_percentile(const RsTraceDistribution *d, double percent)
{
	double wanted = ceil((double)d->count * percent / 100);
	guint64 seen = 0;

	if (!d->count)
		return 0;
	for (guint i = 0; i < BUCKETS; i++) {
		seen += d->buckets[i];
		if (seen && (double)seen >= wanted)
			return CLAMP(value_of(i), d->least, d->greatest);
	}
	return d->greatest;
}

guint64 rs_trace_distribution_octave(const RsTraceDistribution *d, guint n)
{
	guint64 from = n ? (guint64)1 << n : 0, last = ((guint64)2 << n) - 1, sum = 0;

	for (guint i = bucket_of(from); i <= bucket_of(n == 63 ? G_MAXUINT64 : last); i++)
		sum += d->buckets[i];
	return sum;
}
