/* SPDX-License-Identifier: MIT */
/* How figures look, see figures.h. */
#include "cli/figures.h"
#include "cli/json_line.h"

#include <string.h>

static const struct {
	const char *name, *key;
	double percent;
} PERCENTILES[] = {{"p50", "p50", 50},
		   {"p90", "p90", 90},
		   {"p95", "p95", 95},
		   {"p99", "p99", 99},
		   {"p99.9", "p99_9", 99.9}};

/* ---- counts ---- */

static void counts_json(GString *out, const RsTraceStatCounts *counts, uint64_t span)
{
	rs_json_number(out, "events", counts->events);
	rs_json_real(out, "rate", rs_trace_stat_rate(counts->events, span));
	rs_json_number(out, "first_ns", counts->first_ns);
	rs_json_number(out, "last_ns", counts->last_ns);
}

static void stat_json(const RsTraceStat *stat, GPtrArray *events, GPtrArray *cpus, GString *out)
{
	const RsTraceStatCounts *total = rs_trace_stat_total(stat);
	const uint64_t span = rs_trace_stat_span(stat);

	for (guint i = 0; i < events->len; i++) {
		const RsTraceStatRow *row = events->pdata[i];

		rs_json_begin(out);
		rs_json_text(out, "stat", "event");
		rs_json_text(out, "name", row->label);
		if (row->is_other)
			rs_json_true(out, "other");
		counts_json(out, &row->counts, span);
		rs_json_end(out);
	}
	for (guint i = 0; i < cpus->len; i++) {
		const RsTraceStatRow *row = cpus->pdata[i];

		rs_json_begin(out);
		rs_json_text(out, "stat", "cpu");
		rs_json_text(out, "source", row->label);
		if (row->is_other)
			rs_json_true(out, "other");
		rs_json_number(out, "source_index", row->source_index);
		rs_json_number(out, "cpu", row->cpu);
		counts_json(out, &row->counts, span);
		rs_json_number(out, "lost", row->counts.lost);
		rs_json_number(out, "gaps", row->counts.gaps);
		rs_json_end(out);
	}
	rs_json_begin(out);
	rs_json_text(out, "stat", "total");
	counts_json(out, total, span);
	rs_json_number(out, "lost", total->lost);
	rs_json_number(out, "gaps", total->gaps);
	rs_json_number(out, "span_ns", span);
	rs_json_end(out);
}

static void counts_text(GString *out, const RsTraceStatCounts *counts, uint64_t span)
{
	g_string_append_printf(out, "%12" G_GUINT64_FORMAT " %12.1f %14.6f %14.6f", counts->events,
			       rs_trace_stat_rate(counts->events, span),
			       (double)counts->first_ns / 1e9, (double)counts->last_ns / 1e9);
}

/* The widest label, as far as a column can be. */
static unsigned label_width(const GPtrArray *rows, unsigned least)
{
	for (guint i = 0; i < rows->len; i++) {
		const RsTraceStatRow *row = rows->pdata[i];

		least = MAX(least, MIN((unsigned)strlen(row->label), 48));
	}
	return least;
}

static void stat_text(const RsTraceStat *stat, GPtrArray *events, GPtrArray *cpus, GString *out)
{
	const RsTraceStatCounts *total = rs_trace_stat_total(stat);
	const uint64_t span = rs_trace_stat_span(stat);
	unsigned width = label_width(events, 5);

	g_string_append_printf(out, "%-*s %12s %12s %14s %14s\n", (int)width, "EVENT", "COUNT",
			       "RATE/S", "FIRST", "LAST");
	for (guint i = 0; i < events->len; i++) {
		const RsTraceStatRow *row = events->pdata[i];

		rs_cli_append_cell(out, row->label, width);
		g_string_append_c(out, ' ');
		counts_text(out, &row->counts, span);
		g_string_append_c(out, '\n');
	}
	width = label_width(cpus, 6);
	g_string_append_printf(out, "\n%-*s %5s %12s %12s %14s %14s %12s %8s\n", (int)width,
			       "SOURCE", "CPU", "COUNT", "RATE/S", "FIRST", "LAST", "LOST", "GAPS");
	for (guint i = 0; i < cpus->len; i++) {
		const RsTraceStatRow *row = cpus->pdata[i];

		rs_cli_append_cell(out, row->label, width);
		g_string_append_printf(out, " %5u ", row->cpu);
		counts_text(out, &row->counts, span);
		g_string_append_printf(out, " %12" G_GUINT64_FORMAT " %8" G_GUINT64_FORMAT "\n",
				       row->counts.lost, row->counts.gaps);
	}
	g_string_append_printf(out,
			       "\n%" G_GUINT64_FORMAT
			       " event%s in %.6f s (%.1f/s), %" G_GUINT64_FORMAT " lost\n",
			       total->events, rs_cli_plural(total->events, "s"), (double)span / 1e9,
			       rs_trace_stat_rate(total->events, span), total->lost);
}

void rs_cli_show_stat(const RsTraceStat *stat, bool json, GString *out)
{
	g_autoptr(GPtrArray) events = rs_trace_stat_events(stat);
	g_autoptr(GPtrArray) cpus = rs_trace_stat_cpus(stat);

	if (json)
		stat_json(stat, events, cpus, out);
	else
		stat_text(stat, events, cpus, out);
}

/* ---- histograms ---- */

static void row_json(const struct rs_cli_figures *f, const RsTraceHistGroup *group,
		     const RsTraceHistRow *row, GString *out)
{
	rs_json_begin(out);
	rs_json_text(out, "hist", f->hist);
	if (f->by)
		rs_json_text(out, "group", group->label);
	if (row->label) {
		rs_json_text(out, "key", row->label);
	} else {
		int64_t low = (int64_t)-row->low, high = (int64_t)-row->high;

		if (row->is_negative)
			rs_json_signed(out, "from", high);
		else
			rs_json_number(out, "from", row->low);
		if (row->is_negative)
			rs_json_signed(out, "to", low);
		else
			rs_json_number(out, "to", row->high);
	}
	if (row->is_other || group->is_other)
		rs_json_true(out, "other");
	rs_json_number(out, "count", row->count);
	rs_json_end(out);
}

static char *row_name(const RsTraceHistRow *row)
{
	const char *sign = row->is_negative ? "-" : "";
	uint64_t from = row->is_negative ? row->high : row->low;
	uint64_t to = row->is_negative ? row->low : row->high;

	if (row->label)
		return g_strdup(row->label);
	if (from == to)
		return g_strdup_printf("%s%" G_GUINT64_FORMAT, sign, from);
	return g_strdup_printf("%s%" G_GUINT64_FORMAT " .. %s%" G_GUINT64_FORMAT, sign, from, sign,
			       to);
}

static void group_text(const struct rs_cli_figures *f, const RsTraceHistGroup *group, GString *out)
{
	uint64_t most = 0;

	rs_cli_append_cell(out, f->hist, 0);
	if (group->label) {
		g_string_append(out, " of ");
		rs_cli_append_cell(out, f->by, 0);
		g_string_append_c(out, ' ');
		rs_cli_append_cell(out, group->label, 0);
	}
	g_string_append_printf(out, ": %" G_GUINT64_FORMAT " value%s", group->count,
			       rs_cli_plural(group->count, "s"));
	if (group->amounts)
		g_string_append_printf(out, ", %.9g to %.9g, mean %.9g", group->least,
				       group->greatest, group->mean);
	g_string_append_c(out, '\n');
	for (guint i = 0; i < group->rows->len; i++)
		most = MAX(most, g_array_index(group->rows, RsTraceHistRow, i).count);
	for (guint i = 0; i < group->rows->len; i++) {
		const RsTraceHistRow *row = &g_array_index(group->rows, RsTraceHistRow, i);
		g_autofree char *name = row_name(row);

		g_string_append(out, "  ");
		rs_cli_append_cell(out, name, 32);
		g_string_append_printf(out, " %12" G_GUINT64_FORMAT " ", row->count);
		rs_cli_append_bar(out, row->count, most);
	}
	g_string_append_c(out, '\n');
}

void rs_cli_show_hist(const struct rs_cli_figures *f, GPtrArray *groups, bool json, GString *out)
{
	for (guint i = 0; i < groups->len; i++) {
		const RsTraceHistGroup *group = groups->pdata[i];

		for (guint k = 0; json && k < group->rows->len; k++)
			row_json(f, group, &g_array_index(group->rows, RsTraceHistRow, k), out);
		if (!json)
			group_text(f, group, out);
	}
}

/* ---- latencies ---- */

static void figures_json(const RsTraceDistribution *ns, GString *out)
{
	const uint64_t count = rs_trace_distribution_count(ns);

	rs_json_number(out, "pairs", count);
	if (!count)
		return;
	rs_json_number(out, "min_ns", rs_trace_distribution_least(ns));
	rs_json_real(out, "mean_ns", rs_trace_distribution_mean(ns));
	for (guint i = 0; i < G_N_ELEMENTS(PERCENTILES); i++) {
		g_autofree char *key = g_strconcat(PERCENTILES[i].key, "_ns", NULL);

		rs_json_number(out, key,
			       rs_trace_distribution_percentile(ns, PERCENTILES[i].percent));
	}
	rs_json_number(out, "max_ns", rs_trace_distribution_greatest(ns));
}

static void begin_latency_json(const struct rs_cli_figures *f, GString *out)
{
	rs_json_begin(out);
	rs_json_text(out, "latency", f->latency);
	rs_json_text(out, "key", f->key);
}

static void latency_json(const struct rs_cli_figures *f, const RsTraceLatencyResult *r,
			 GString *out)
{
	begin_latency_json(f, out);
	figures_json(r->ns, out);
	rs_json_number(out, "spanning_loss", r->spanning);
	rs_json_number(out, "begins_alone", r->begins);
	rs_json_number(out, "ends_alone", r->ends);
	rs_json_number(out, "refused", r->refused);
	rs_json_number(out, "without_key", r->without_key);
	rs_json_end(out);
}

static void latency_group_json(const struct rs_cli_figures *f, const RsTraceLatencyGroup *group,
			       GString *out)
{
	begin_latency_json(f, out);
	rs_json_text(out, "group", group->label);
	if (group->is_other)
		rs_json_true(out, "other");
	figures_json(group->ns, out);
	rs_json_end(out);
}

static void append_figure(GString *out, const char *name, double ns)
{
	g_string_append_printf(out, "  %-6s ", name);
	rs_cli_append_span(out, ns);
	g_string_append_c(out, '\n');
}

static void octaves(const RsTraceDistribution *ns, GString *out)
{
	guint first = 64, last = 0;
	uint64_t most = 0;

	for (guint i = 0; i < 64; i++) {
		uint64_t count = rs_trace_distribution_octave(ns, i);

		first = count ? MIN(first, i) : first;
		last = count ? i : last;
		most = MAX(most, count);
	}
	for (guint i = first; i <= last; i++) {
		g_autoptr(GString) name = g_string_new(NULL);
		uint64_t count = rs_trace_distribution_octave(ns, i);

		rs_cli_append_span(name, i ? (double)((uint64_t)1 << i) : 0);
		g_string_append(name, " .. ");
		rs_cli_append_span(name, 2.0 * (double)((uint64_t)1 << i));
		g_string_append_printf(out, "  %-24s %12" G_GUINT64_FORMAT " ", name->str, count);
		rs_cli_append_bar(out, count, most);
	}
}

/* `group`: NULL is all pairs. */
static void figures_text(const struct rs_cli_figures *f, const RsTraceDistribution *ns,
			 const RsTraceLatencyGroup *group, GString *out)
{
	const uint64_t count = rs_trace_distribution_count(ns);

	rs_cli_append_cell(out, f->latency, 0);
	g_string_append(out, " by ");
	rs_cli_append_cell(out, f->key ? f->key : "task", 0);
	if (group) {
		g_string_append(out, " of ");
		rs_cli_append_cell(out, f->by, 0);
		g_string_append_c(out, ' ');
		rs_cli_append_cell(out, group->label, 0);
	}
	g_string_append_printf(out, ": %" G_GUINT64_FORMAT " pair%s\n", count,
			       count == 1 ? "" : "s");
	if (!count)
		return;
	append_figure(out, "min", (double)rs_trace_distribution_least(ns));
	append_figure(out, "mean", rs_trace_distribution_mean(ns));
	for (guint i = 0; i < G_N_ELEMENTS(PERCENTILES); i++)
		append_figure(out, PERCENTILES[i].name,
			      (double)rs_trace_distribution_percentile(ns, PERCENTILES[i].percent));
	append_figure(out, "max", (double)rs_trace_distribution_greatest(ns));
	octaves(ns, out);
}

static void latency_text(const RsTraceLatencyResult *r, GString *out)
{
	g_string_append_printf(out,
			       "without a partner: %" G_GUINT64_FORMAT " begins, %" G_GUINT64_FORMAT
			       " ends; pairs across a loss, not counted: %" G_GUINT64_FORMAT "\n",
			       r->begins, r->ends, r->spanning);
	if (r->refused)
		g_string_append_printf(out,
				       "%" G_GUINT64_FORMAT
				       " begins were refused, since too many were open\n",
				       r->refused);
	if (r->without_key)
		g_string_append_printf(out, "%" G_GUINT64_FORMAT " records lack the key\n",
				       r->without_key);
}

void rs_cli_show_latency(const struct rs_cli_figures *f, GArray *groups, bool json, GString *out)
{
	RsTraceLatencyResult result;

	rs_trace_latency_result(f->of_latency, &result);
	for (guint i = 0; i < groups->len; i++) {
		const RsTraceLatencyGroup *group = &g_array_index(groups, RsTraceLatencyGroup, i);

		if (json)
			latency_group_json(f, group, out);
		else
			figures_text(f, group->ns, group, out);
		if (!json)
			g_string_append_c(out, '\n');
	}
	if (json) {
		latency_json(f, &result, out);
		return;
	}
	figures_text(f, result.ns, NULL, out);
	latency_text(&result, out);
}

/* ---- stacks ---- */

void rs_cli_show_stacks(const RsTraceStacks *stacks, bool json, GString *out)
{
	g_autoptr(GArray) rows = rs_trace_stacks_result(stacks);
	const uint64_t others = rs_trace_stacks_others(stacks);

	for (guint i = 0; i < rows->len; i++) {
		const RsTraceStacksRow *row = &g_array_index(rows, RsTraceStacksRow, i);

		if (json) {
			rs_json_begin(out);
			rs_json_text(out, "stack", row->folded);
			rs_json_number(out, "count", row->count);
			rs_json_end(out);
		} else {
			g_string_append_printf(out, "%s %" G_GUINT64_FORMAT "\n", row->folded,
					       row->count);
		}
	}
	if (others && json) {
		rs_json_begin(out);
		rs_json_text(out, "stack", "(other)");
		rs_json_true(out, "other");
		rs_json_number(out, "count", others);
		rs_json_end(out);
	} else if (others) {
		g_string_append_printf(out, "(other) %" G_GUINT64_FORMAT "\n", others);
	}
}
