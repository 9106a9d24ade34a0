/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-diff.h"

#include <math.h>
#include <string.h>

static void row_free(gpointer data)
{
	g_free(((RsTraceDiffRow *)data)->label);
	g_free(data);
}

static double change_of(double a, double b)
{
	if (a == b)
		return 0;
	return a ? (b - a) / a : INFINITY;
}

/* `has`: whether the traces have any of it. */
static void set_change(RsTraceDiffRow *row, guint64 has_a, guint64 has_b)
{
	row->is_new = !has_a && has_b;
	row->is_gone = has_a && !has_b;
	if (row->is_new)
		row->change = INFINITY;
	else if (row->is_gone)
		row->change = -1;
	else
		row->change = change_of(row->values[0], row->values[1]);
}

/* A trace of no length has no rates. */
static void set_change_of_event(RsTraceDiffRow *row)
{
	set_change(row, row->counts[0], row->counts[1]);
	if (row->counts[0] && row->counts[1] && (!row->values[0] || !row->values[1]))
		row->change = change_of((double)row->counts[0], (double)row->counts[1]);
}

static RsTraceDiffRow *add(GPtrArray *rows, RsTraceDiffKind kind, const char *label)
{
	RsTraceDiffRow *row = g_new0(RsTraceDiffRow, 1);

	row->kind = kind;
	row->label = g_strdup(label);
	g_ptr_array_add(rows, row);
	return row;
}

static int compare(gconstpointer a, gconstpointer b)
{
	const RsTraceDiffRow *x = *(RsTraceDiffRow *const *)a, *y = *(RsTraceDiffRow *const *)b;
	guint64 nx = MAX(x->counts[0], x->counts[1]), ny = MAX(y->counts[0], y->counts[1]);

	if (fabs(x->change) != fabs(y->change))
		return fabs(x->change) > fabs(y->change) ? -1 : 1;
	if (nx != ny)
		return nx > ny ? -1 : 1;
	return g_strcmp0(x->label, y->label);
}

static void take(GPtrArray *rows, GHashTable *by_name, const RsTraceStat *stat, guint which)
{
	g_autoptr(GPtrArray) events = rs_trace_stat_events(stat);

	for (guint i = 0; i < events->len; i++) {
		const RsTraceStatRow *event = events->pdata[i];
		RsTraceDiffRow *row = g_hash_table_lookup(by_name, event->label);

		if (!row) {
			row = add(rows, RS_TRACE_DIFF_EVENT, event->label);
			g_hash_table_insert(by_name, row->label, row);
		}
		row->counts[which] += event->counts.events;
		row->values[which] =
			rs_trace_stat_rate(row->counts[which], rs_trace_stat_span(stat));
	}
}

static double share_lost(const RsTraceStatCounts *total)
{
	return total->lost ? (double)total->lost / ((double)total->lost + (double)total->events)
			   : 0;
}

GPtrArray *rs_trace_diff_stat(const RsTraceStat *a, const RsTraceStat *b)
{
	const RsTraceStatCounts *totals[2] = {rs_trace_stat_total(a), rs_trace_stat_total(b)};
	g_autoptr(GHashTable) by_name = g_hash_table_new(g_str_hash, g_str_equal);
	GPtrArray *rows = g_ptr_array_new_with_free_func(row_free);

	take(rows, by_name, a, 0);
	take(rows, by_name, b, 1);
	if (totals[0]->lost || totals[1]->lost) {
		RsTraceDiffRow *row = add(rows, RS_TRACE_DIFF_LOST, NULL);

		for (guint i = 0; i < 2; i++) {
			row->counts[i] = totals[i]->lost;
			row->values[i] = share_lost(totals[i]);
		}
	}
	for (guint i = 0; i < rows->len; i++) {
		RsTraceDiffRow *row = rows->pdata[i];

		if (row->kind == RS_TRACE_DIFF_EVENT)
			set_change_of_event(row);
		else
			set_change(row, row->counts[0], row->counts[1]);
	}
	g_ptr_array_sort(rows, compare);
	return rows;
}

static double figure(const RsTraceDistribution *ns, guint which)
{
	static const double percents[] = {50, 90, 95, 99, 99.9};

	if (!rs_trace_distribution_count(ns))
		return NAN;
	if (which == 0)
		return (double)rs_trace_distribution_least(ns);
	if (which == 1)
		return rs_trace_distribution_mean(ns);
	if (which < 2 + G_N_ELEMENTS(percents))
		return (double)rs_trace_distribution_percentile(ns, percents[which - 2]);
	return (double)rs_trace_distribution_greatest(ns);
}

GPtrArray *rs_trace_diff_latency(const RsTraceLatency *a, const RsTraceLatency *b)
{
	static const char *const names[] = {"min", "mean", "p50",   "p90",
					    "p95", "p99",  "p99.9", "max"};
	GPtrArray *rows = g_ptr_array_new_with_free_func(row_free);
	RsTraceLatencyResult of[2];
	guint64 pairs[2];

	rs_trace_latency_result(a, &of[0]);
	rs_trace_latency_result(b, &of[1]);
	for (guint i = 0; i < 2; i++)
		pairs[i] = rs_trace_distribution_count(of[i].ns);
	if (!pairs[0] && !pairs[1])
		return rows;
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		RsTraceDiffRow *row = add(rows, RS_TRACE_DIFF_LATENCY, names[i]);

		row->values[0] = figure(of[0].ns, i);
		row->values[1] = figure(of[1].ns, i);
		set_change(row, pairs[0], pairs[1]);
	}
	return rows;
}

const RsTraceDiffRow *rs_trace_diff_exceeds(const GPtrArray *rows, double change)
{
	for (guint i = 0; i < rows->len; i++) {
		const RsTraceDiffRow *row = rows->pdata[i];
		gboolean lacks = row->kind != RS_TRACE_DIFF_LOST && (row->is_new || row->is_gone);

		if (lacks || fabs(row->change) > change)
			return row;
	}
	return NULL;
}
