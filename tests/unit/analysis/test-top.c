/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-top.h"
#include "items.h"

#include <string.h>

/* Source 1 costs 10 ns an event, source 2 nobody knows what. */
static double cost_of(guint32 number, gpointer data)
{
	++*(guint *)data;
	return number == 1 ? 10 : -1;
}

typedef struct {
	TestItems items;
	guint asked;
	RsTraceTop *top;
	RsTraceOrigin *origins[2];
	struct rs_file_source infos[2];
} Fixture;

static void set_up(Fixture *f, gconstpointer data)
{
	*f = (Fixture){0};
	test_items_init(&f->items);
	f->top = rs_trace_top_new(cost_of, &f->asked);
	for (guint i = 0; i < 2; i++) {
		f->infos[i].number = i + 1;
		g_strlcpy(f->infos[i].name, i ? "other" : "guest", sizeof(f->infos[i].name));
		f->origins[i] = rs_trace_origin_new(&f->infos[i], TRUE, i, NULL);
	}
}

static void tear_down(Fixture *f, gconstpointer data)
{
	rs_trace_top_free(f->top);
	for (guint i = 0; i < 2; i++)
		rs_trace_origin_free(f->origins[i]);
	test_items_clear(&f->items);
}

static void add(Fixture *f, const RsTraceSample *item, guint source, guint cpu)
{
	f->items.record.origin = f->origins[source];
	f->items.record.ring = (guint16)cpu;
	f->items.item.source = f->origins[source]->name;
	f->items.item.source_index = source;
	rs_trace_top_add(f->top, item);
}

static char *show(const RsTraceTopPage *page, RsTraceTopBy by, RsTraceTopSort sort, guint max)
{
	g_autoptr(GPtrArray) rows = rs_trace_top_rows(page, by, sort, max);
	GString *out = g_string_new(NULL);

	for (guint i = 0; i < rows->len; i++) {
		const RsTraceTopRow *r = rows->pdata[i];

		g_string_append_printf(out, "%s", r->label);
		if (by == RS_TRACE_TOP_CPU && !r->is_other)
			g_string_append_printf(out, "/%u", r->cpu);
		if (by == RS_TRACE_TOP_TASK && !r->is_other)
			g_string_append_printf(out, "-%u of %s", r->pid, r->source);
		if (r->others)
			g_string_append_printf(out, " of %u", r->others);
		g_string_append_printf(out, ": %u+%u of %u+%u, %.0f ns, %u unknown; ",
				       (guint)r->now.events, (guint)r->now.lost,
				       (guint)r->all.events, (guint)r->all.lost, r->all.cost_ns,
				       (guint)r->all.unknown);
	}
	return g_string_free(out, FALSE);
}

static void assert_rows(const RsTraceTopPage *page, RsTraceTopBy by, RsTraceTopSort sort, guint max,
			const char *expected)
{
	g_autofree char *text = show(page, by, sort, max);

	g_assert_cmpstr(text, ==, expected);
}

static void test_kinds(Fixture *f, gconstpointer data)
{
	g_autoptr(RsTraceTopPage) begin = rs_trace_top_take(f->top, 1000), page = NULL, next = NULL,
				  quiet = NULL;

	g_assert_cmpuint(begin->interval_ns, ==, 0);
	assert_rows(begin, RS_TRACE_TOP_EVENT, RS_TRACE_TOP_RATE, 0, "");
	for (guint i = 0; i < 3; i++)
		add(f, test_items_switch(&f->items, i, 7, 0, 0), 0, 1);
	add(f, test_items_all(&f->items, 9, 8), 0, 0);
	add(f, test_items_all(&f->items, 9, 7), 1, 0);
	add(f, test_items_loss(&f->items, 9, 5), 0, 1);
	page = rs_trace_top_take(f->top, 3000);
	g_assert_cmpuint(page->interval_ns, ==, 2000);
	g_assert_cmpuint(page->now.events, ==, 5);
	g_assert_cmpuint(page->now.lost, ==, 5);
	g_assert_cmpfloat(page->now.cost_ns, ==, 90);
	g_assert_cmpuint(page->now.unknown, ==, 1);
	g_assert_cmpuint(f->asked, ==, 2); /* once for each source */
	/* Nobody knows of which event the lost ones were, but what they cost is counted. */
	assert_rows(page, RS_TRACE_TOP_EVENT, RS_TRACE_TOP_RATE, 0,
		    "sched:switch: 3+0 of 3+0, 30 ns, 0 unknown; "
		    "demo:all: 2+0 of 2+0, 10 ns, 1 unknown; ");
	assert_rows(page, RS_TRACE_TOP_SOURCE, RS_TRACE_TOP_RATE, 0,
		    "guest: 4+5 of 4+5, 90 ns, 0 unknown; "
		    "other: 1+0 of 1+0, 0 ns, 1 unknown; ");
	assert_rows(page, RS_TRACE_TOP_CPU, RS_TRACE_TOP_RATE, 0,
		    "guest/1: 3+5 of 3+5, 80 ns, 0 unknown; "
		    "guest/0: 1+0 of 1+0, 10 ns, 0 unknown; "
		    "other/0: 1+0 of 1+0, 0 ns, 1 unknown; ");
	/* Tasks of two sources may have one number. */
	assert_rows(page, RS_TRACE_TOP_TASK, RS_TRACE_TOP_RATE, 0,
		    "task-7 of guest: 3+0 of 3+0, 30 ns, 0 unknown; "
		    "task-8 of guest: 1+0 of 1+0, 10 ns, 0 unknown; "
		    "task-7 of other: 1+0 of 1+0, 0 ns, 1 unknown; ");
	f->items.task.comm = "renamed";
	add(f, test_items_all(&f->items, 9, 8), 0, 0);
	next = rs_trace_top_take(f->top, 4000);
	g_assert_cmpuint(next->now.events, ==, 1);
	g_assert_cmpuint(next->all.events, ==, 6);
	assert_rows(next, RS_TRACE_TOP_TASK, RS_TRACE_TOP_RATE, 1,
		    "renamed-8 of guest: 1+0 of 2+0, 20 ns, 0 unknown; "
		    "(other) of 2: 0+0 of 4+0, 30 ns, 1 unknown; ");
	/* A clock that stands still, or goes back, makes no interval of ages. */
	quiet = rs_trace_top_take(f->top, 3000);
	g_assert_cmpuint(quiet->interval_ns, ==, 0);
	g_assert_cmpuint(quiet->now.events, ==, 0);
}

static void test_sorts(Fixture *f, gconstpointer data)
{
	g_autoptr(RsTraceTopPage) before = NULL, page = NULL;

	for (guint i = 0; i < 4; i++)
		add(f, test_items_switch(&f->items, i, 7, 0, 0), 0, 1);
	add(f, test_items_loss(&f->items, 9, 2), 1, 3);
	before = rs_trace_top_take(f->top, 1);
	add(f, test_items_all(&f->items, 9, 7), 0, 0);
	add(f, test_items_all(&f->items, 9, 7), 0, 0);
	add(f, test_items_switch(&f->items, 9, 7, 0, 0), 0, 1);
	page = rs_trace_top_take(f->top, 2);
	assert_rows(page, RS_TRACE_TOP_CPU, RS_TRACE_TOP_RATE, 1,
		    "guest/0: 2+0 of 2+0, 20 ns, 0 unknown; "
		    "(other) of 2: 1+0 of 5+2, 50 ns, 2 unknown; ");
	assert_rows(page, RS_TRACE_TOP_CPU, RS_TRACE_TOP_TOTAL, 1,
		    "guest/1: 1+0 of 5+0, 50 ns, 0 unknown; "
		    "(other) of 2: 2+0 of 2+2, 20 ns, 2 unknown; ");
	assert_rows(page, RS_TRACE_TOP_CPU, RS_TRACE_TOP_LOST, 1,
		    "other/3: 0+0 of 0+2, 0 ns, 2 unknown; "
		    "(other) of 2: 3+0 of 7+0, 70 ns, 0 unknown; ");
	assert_rows(page, RS_TRACE_TOP_CPU, RS_TRACE_TOP_NAME, 0,
		    "guest/0: 2+0 of 2+0, 20 ns, 0 unknown; "
		    "guest/1: 1+0 of 5+0, 50 ns, 0 unknown; "
		    "other/3: 0+0 of 0+2, 0 ns, 2 unknown; ");
	assert_rows(page, RS_TRACE_TOP_EVENT, RS_TRACE_TOP_NAME, 0,
		    "demo:all: 2+0 of 2+0, 20 ns, 0 unknown; "
		    "sched:switch: 1+0 of 5+0, 50 ns, 0 unknown; ");
}

static guint64 events_of(const GPtrArray *rows)
{
	guint64 sum = 0;

	for (guint i = 0; i < rows->len; i++)
		sum += ((const RsTraceTopRow *)rows->pdata[i])->all.events;
	return sum;
}

/* A guest that makes up tasks takes no more memory, and loses no event out of the sums. */
static void test_bounds(Fixture *f, gconstpointer data)
{
	guint64 sum = 0;

	for (guint round = 0; round < 4; round++) {
		const guint n = round == 3 ? 5 : 3 * RS_TRACE_TOP_ROWS;
		g_autoptr(RsTraceTopPage) page = NULL;
		const GPtrArray *rows;

		for (guint i = 0; i < n; i++)
			add(f, test_items_all(&f->items, i, round << 20 | i), 0, 0);
		sum += n;
		page = rs_trace_top_take(f->top, round + 1);
		rows = page->rows[RS_TRACE_TOP_TASK];
		g_assert_cmpuint(rows->len, <=, RS_TRACE_TOP_ROWS + 1);
		g_assert_cmpuint(events_of(rows), ==, sum);
		g_assert_cmpuint(page->all.events, ==, sum);
	}
	/* The latest tasks have rows of their own: those of which nothing comes gave up theirs. */
	{
		g_autoptr(RsTraceTopPage) page = NULL;
		g_autoptr(GPtrArray) rows = NULL;

		add(f, test_items_all(&f->items, 1, 77), 0, 0);
		page = rs_trace_top_take(f->top, 9);
		rows = rs_trace_top_rows(page, RS_TRACE_TOP_TASK, RS_TRACE_TOP_RATE, 1);
		g_assert_cmpuint(rows->len, ==, 2);
		g_assert_cmpuint(((RsTraceTopRow *)rows->pdata[0])->pid, ==, 77);
		g_assert_true(((RsTraceTopRow *)rows->pdata[1])->is_other);
		g_assert_cmpuint(events_of(rows), ==, sum + 1);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/analysis/top/kinds", Fixture, NULL, set_up, test_kinds, tear_down);
	g_test_add("/analysis/top/sorts", Fixture, NULL, set_up, test_sorts, tear_down);
	g_test_add("/analysis/top/bounds", Fixture, NULL, set_up, test_bounds, tear_down);
	return g_test_run();
}
