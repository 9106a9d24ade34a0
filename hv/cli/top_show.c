/* SPDX-License-Identifier: MIT */
#include "cli/top.h"

#include "analysis/rs-trace-stat.h"
#include "cli/color.h"
#include "cli/figures.h"
#include "cli/json_line.h"
#include "cli/table.h"

const char *const rs_top_by_names[RS_TRACE_TOP_KINDS] = {
	[RS_TRACE_TOP_EVENT] = "event",
	[RS_TRACE_TOP_SOURCE] = "source",
	[RS_TRACE_TOP_CPU] = "cpu",
	[RS_TRACE_TOP_TASK] = "task",
};

static const char *const sort_names[RS_TRACE_TOP_SORTS] = {
	[RS_TRACE_TOP_RATE] = "rate",
	[RS_TRACE_TOP_TOTAL] = "total",
	[RS_TRACE_TOP_LOST] = "losses",
	[RS_TRACE_TOP_NAME] = "name",
};

/* ---- figures ---- */

/* Of one CPU, 0 to 1 and more; negative: of some events nobody knows it. */
static double share(const RsTraceTopCounts *now, const RsTraceTopPage *page)
{
	if (now->unknown || !page->interval_ns)
		return -1;
	return now->cost_ns / (double)page->interval_ns;
}

static bool has_losses(RsTraceTopBy by)
{
	return by == RS_TRACE_TOP_CPU || by == RS_TRACE_TOP_SOURCE;
}

static const struct rs_top_source *source_of(const struct rs_top_view *view, uint32_t number)
{
	return g_hash_table_lookup(view->sources, GUINT_TO_POINTER(number));
}

static uint64_t paused_in_all(const struct rs_top_view *view)
{
	const struct rs_top_source *source;
	GHashTableIter iter;
	uint64_t sum = 0;

	g_hash_table_iter_init(&iter, view->sources);
	while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&source))
		sum += source->paused_ns;
	return sum;
}

/* ---- JSON ---- */

static void counts_json(const RsTraceTopCounts *now, const RsTraceTopCounts *all, bool losses,
			const RsTraceTopPage *page, GString *out)
{
	const double cost = share(now, page);

	rs_json_real(out, "rate", rs_trace_stat_rate(now->events, page->interval_ns));
	rs_json_number(out, "events", all->events);
	if (losses) {
		rs_json_real(out, "lost_rate", rs_trace_stat_rate(now->lost, page->interval_ns));
		rs_json_number(out, "lost", all->lost);
	}
	if (cost >= 0)
		rs_json_real(out, "cost", cost);
}

static void row_json(const struct rs_top_view *view, const RsTraceTopPage *page,
		     const RsTraceTopRow *row, GString *out)
{
	const struct rs_top_source *source = source_of(view, row->number);

	rs_json_begin(out);
	rs_json_text(out, "top", rs_top_by_names[view->by]);
	rs_json_text(out, "name", row->label);
	if (row->is_other)
		rs_json_true(out, "other");
	if (row->source)
		rs_json_text(out, "source", row->source);
	if (row->number)
		rs_json_number(out, "source_number", row->number);
	if (view->by == RS_TRACE_TOP_CPU && !row->is_other)
		rs_json_number(out, "cpu", row->cpu);
	if (view->by == RS_TRACE_TOP_TASK && !row->is_other)
		rs_json_number(out, "pid", row->pid);
	counts_json(&row->now, &row->all, has_losses(view->by), page, out);
	if (view->by == RS_TRACE_TOP_SOURCE && source) {
		rs_json_text(out, "kind", source->kind);
		rs_json_number(out, "paused_ns", source->paused_ns);
	}
	rs_json_end(out);
}

void rs_top_append_json(const struct rs_top_view *view, const RsTraceTopPage *page, GString *out)
{
	g_autoptr(GPtrArray) rows = rs_trace_top_rows(page, view->by, view->sort, view->rows);

	for (guint i = 0; i < rows->len; i++)
		row_json(view, page, rows->pdata[i], out);
	rs_json_begin(out);
	rs_json_text(out, "top", "total");
	rs_json_text(out, "session", view->session);
	rs_json_number(out, "interval_ns", page->interval_ns);
	counts_json(&page->now, &page->all, true, page, out);
	if (view->event_ns >= 0)
		rs_json_real(out, "event_ns", view->event_ns);
	rs_json_number(out, "paused_ns", paused_in_all(view));
	if (view->frozen)
		rs_json_true(out, "frozen");
	rs_json_end(out);
}

/* ---- text ---- */

/* What the whole session does, on one line. */
static char *sums(const struct rs_top_view *view, const RsTraceTopPage *page)
{
	GString *out = g_string_new(view->session);
	const double cost = share(&page->now, page);

	if (view->frozen)
		g_string_append_printf(out, ": frozen (ringside ring --thaw %s)", view->session);
	if (view->paused)
		g_string_append_printf(out, ": paused (ringside resume %s)", view->session);
	if (!page->interval_ns) {
		g_string_append(out, ": the first interval has begun");
		return g_string_free(out, FALSE);
	}
	g_string_append_printf(out, ": %.0f events/s, %.0f lost/s; ",
			       rs_trace_stat_rate(page->now.events, page->interval_ns),
			       rs_trace_stat_rate(page->now.lost, page->interval_ns));
	if (cost >= 0)
		g_string_append_printf(out, "cost %.3g%% of a CPU, at %.1f ns an event", cost * 100,
				       view->event_ns);
	else
		g_string_append(out, "cost not known");
	g_string_append(out, "; paused ");
	rs_cli_append_span(out, (double)paused_in_all(view));
	return g_string_free(out, FALSE);
}

static void add_counts(struct rs_cli_table *table, const RsTraceTopRow *row, bool losses,
		       const RsTraceTopPage *page)
{
	const double cost = share(&row->now, page);

	rs_cli_table_addf(table, "%.0f", rs_trace_stat_rate(row->now.events, page->interval_ns));
	if (losses)
		rs_cli_table_addf(table, "%.0f",
				  rs_trace_stat_rate(row->now.lost, page->interval_ns));
	rs_cli_table_addf(table, "%" G_GUINT64_FORMAT, row->all.events);
	if (losses) {
		g_autofree char *lost = g_strdup_printf("%" G_GUINT64_FORMAT, row->all.lost);

		rs_cli_table_add(table, lost, row->now.lost ? RS_COLOR_BAD : NULL);
	}
	if (cost >= 0)
		rs_cli_table_addf(table, "%.3f%%", cost * 100);
	else
		rs_cli_table_add(table, "-", NULL);
}

static void add_name(struct rs_cli_table *table, const RsTraceTopRow *row)
{
	g_autofree char *others = row->others ? g_strdup_printf("(%u other%s)", row->others,
								rs_cli_plural(row->others, "s"))
					      : NULL;

	rs_cli_table_add(table, others ? others : row->label,
			 row->is_other ? RS_COLOR_FAINT : NULL);
}

static void add_number(struct rs_cli_table *table, const RsTraceTopRow *row, uint32_t number)
{
	if (row->is_other)
		rs_cli_table_add(table, "", NULL);
	else
		rs_cli_table_addf(table, "%u", number);
}

static void add_row(struct rs_cli_table *table, const struct rs_top_view *view,
		    const RsTraceTopPage *page, const RsTraceTopRow *row)
{
	const struct rs_top_source *source = source_of(view, row->number);

	add_name(table, row);
	if (view->by == RS_TRACE_TOP_CPU)
		add_number(table, row, row->cpu);
	if (view->by == RS_TRACE_TOP_TASK) {
		add_number(table, row, row->pid);
		rs_cli_table_add(table, row->source ? row->source : "", NULL);
	}
	if (view->by == RS_TRACE_TOP_SOURCE)
		rs_cli_table_add(table, source ? source->kind : "", NULL);
	add_counts(table, row, has_losses(view->by), page);
	if (view->by == RS_TRACE_TOP_SOURCE) {
		g_autoptr(GString) span = g_string_new(NULL);

		if (source)
			rs_cli_append_span(span, (double)source->paused_ns);
		rs_cli_table_add(table, span->str, NULL);
	}
}

static void append_table(const struct rs_top_view *view, const RsTraceTopPage *page, unsigned max,
			 unsigned width, GString *out)
{
	static const char *const of_event[] = {"EVENT", ">EVENTS/S", ">EVENTS", ">COST", NULL};
	static const char *const of_source[] = {"SOURCE",  "KIND",    ">EVENTS/S",
						">LOST/S", ">EVENTS", ">LOST",
						">COST",   ">PAUSED", NULL};
	static const char *const of_cpu[] = {"SOURCE",  ">CPU",  ">EVENTS/S", ">LOST/S",
					     ">EVENTS", ">LOST", ">COST",     NULL};
	static const char *const of_task[] = {"TASK",    ">PID",  "SOURCE", ">EVENTS/S",
					      ">EVENTS", ">COST", NULL};
	static const char *const *const heads[RS_TRACE_TOP_KINDS] = {
		[RS_TRACE_TOP_EVENT] = of_event,
		[RS_TRACE_TOP_SOURCE] = of_source,
		[RS_TRACE_TOP_CPU] = of_cpu,
		[RS_TRACE_TOP_TASK] = of_task,
	};
	g_autoptr(rs_cli_table) table = rs_cli_table_new(heads[view->by], view->color);
	g_autoptr(GPtrArray) rows = rs_trace_top_rows(page, view->by, view->sort, max);

	for (guint i = 0; i < rows->len; i++)
		add_row(table, view, page, rows->pdata[i]);
	rs_cli_table_append(table, width, out);
}

void rs_top_append_block(const struct rs_top_view *view, const RsTraceTopPage *page, GString *out)
{
	g_autofree char *line = sums(view, page);

	rs_cli_append_line(out, line, 0, view->color, RS_COLOR_HEAD);
	append_table(view, page, view->rows, 0, out);
	g_string_append_c(out, '\n');
}

/* ---- the page ---- */

static void append_help(unsigned width, GString *out)
{
	static const char *const lines[] = {
		"1 2 3 4     by event, source, vCPU or task; tab: the next of these",
		"s  right    order by the next of rate, total, losses and name; left: the one "
		"before",
		"space       hold the page, or let it go on",
		"q           quit",
		"?           back to the figures",
		"",
		"EVENTS/S, LOST/S  of the latest interval; LOST: what came too fast to be read "
		"here",
		"COST              of one CPU: what the guest spent on events, as measured on this "
		"machine",
		"PAUSED            how long the guest stood still for patches, since the session "
		"began",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(lines); i++)
		rs_cli_append_line(out, lines[i], width, false, NULL);
}

void rs_top_append_page(const struct rs_top_view *view, const RsTraceTopPage *page, unsigned height,
			unsigned width, bool held, bool help, GString *out)
{
	/* Besides: two lines above, the table's head and the others. */
	unsigned fits = height > 5 ? height - 5 : 1;
	g_autofree char *line = sums(view, page);
	g_autofree char *how = g_strdup_printf(
		"by %s, order: %s%s   q quit  1-4 tab by  s order  space hold  ? help",
		rs_top_by_names[view->by], sort_names[view->sort], held ? "   HELD" : "");

	if (view->rows)
		fits = MIN(fits, view->rows);
	rs_cli_append_line(out, line, width, view->color, RS_COLOR_HEAD);
	rs_cli_append_line(out, how, width, view->color, held ? RS_COLOR_INVERSE : RS_COLOR_FAINT);
	rs_cli_append_line(out, "", width, false, NULL);
	if (help)
		append_help(width, out);
	else
		append_table(view, page, fits, width, out);
}
