/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-diff.h"
#include "items.h"

#include <math.h>

/* Over 1000 ns, so many of each, and so many lost. */
static RsTraceStat *stat_of(TestItems *items, guint switches, guint all, guint lost)
{
	RsTraceStat *stat = rs_trace_stat_new();

	for (guint i = 0; i < switches; i++)
		rs_trace_stat_add(stat, test_items_switch(items, i ? 1000 : 0, 1, 0, 0));
	for (guint i = 0; i < all; i++)
		rs_trace_stat_add(stat, test_items_all(items, 500, 1));
	if (lost)
		rs_trace_stat_add(stat, test_items_loss(items, 600, lost));
	return stat;
}

static void test_events(void)
{
	TestItems items;

	test_items_init(&items);
	{
		g_autoptr(RsTraceStat) a = stat_of(&items, 10, 4, 0);
		g_autoptr(RsTraceStat) b = stat_of(&items, 12, 2, 14);
		g_autoptr(GPtrArray) rows = rs_trace_diff_stat(a, b);
		g_autoptr(GPtrArray) same = rs_trace_diff_stat(a, a);
		const RsTraceDiffRow *lost = rows->pdata[0], *all = rows->pdata[1];
		const RsTraceDiffRow *switches = rows->pdata[2];

		g_assert_cmpuint(rows->len, ==, 3);
		g_assert_cmpint(lost->kind, ==, RS_TRACE_DIFF_LOST);
		g_assert_true(isinf(lost->change));
		g_assert_cmpuint(lost->counts[1], ==, 14);
		g_assert_cmpfloat(lost->values[1], ==, 0.5);
		g_assert_cmpstr(all->label, ==, "demo:all");
		g_assert_cmpfloat(all->change, ==, -0.5);
		g_assert_cmpstr(switches->label, ==, "sched:switch");
		g_assert_cmpfloat_with_epsilon(switches->change, 0.2, 1e-9);
		g_assert_cmpfloat(switches->values[0], ==, 1e7);
		g_assert_nonnull(rs_trace_diff_exceeds(rows, 1e9));
		g_assert_cmpuint(same->len, ==, 2);
		g_assert_null(rs_trace_diff_exceeds(same, 0));
	}
	test_items_clear(&items);
}

/* Of what only one of the traces has, no rate is needed. */
static void test_new_and_gone(void)
{
	TestItems items;

	test_items_init(&items);
	{
		g_autoptr(RsTraceStat) none = stat_of(&items, 0, 2, 0);
		g_autoptr(RsTraceStat) one = stat_of(&items, 1, 2, 0);
		g_autoptr(GPtrArray) added = rs_trace_diff_stat(none, one);
		g_autoptr(GPtrArray) gone = rs_trace_diff_stat(one, none);
		const RsTraceDiffRow *row = rs_trace_diff_exceeds(added, 1e9);

		g_assert_cmpstr(row->label, ==, "sched:switch");
		g_assert_true(row->is_new && isinf(row->change));
		row = rs_trace_diff_exceeds(gone, 1e9);
		g_assert_cmpstr(row->label, ==, "sched:switch");
		g_assert_true(row->is_gone && row->change == -1);
		/* The other event is in both, and one of the traces is of no length. */
		row = gone->pdata[1];
		g_assert_cmpfloat(row->change, ==, 0);
	}
	test_items_clear(&items);
}

static RsTraceLatency *latency_of(TestItems *items, guint ns)
{
	RsTraceLatency *latency = rs_trace_latency_new("switch..all", NULL, NULL);

	for (guint i = 0; i < 10; i++) {
		rs_trace_latency_add(latency, test_items_switch(items, i * 1000, 1, 0, 0));
		rs_trace_latency_add(latency, test_items_all(items, i * 1000 + ns, 1));
	}
	return latency;
}

static void test_latencies(void)
{
	TestItems items;

	test_items_init(&items);
	{
		g_autoptr(RsTraceLatency) a = latency_of(&items, 100), b = latency_of(&items, 125);
		g_autoptr(RsTraceLatency) none = rs_trace_latency_new("x..y", NULL, NULL);
		g_autoptr(GPtrArray) rows = rs_trace_diff_latency(a, b);
		g_autoptr(GPtrArray) nothing = rs_trace_diff_latency(none, none);
		g_autoptr(GPtrArray) gone = rs_trace_diff_latency(a, none);
		const RsTraceDiffRow *lost = rs_trace_diff_exceeds(gone, 1e9);

		g_assert_cmpuint(rows->len, ==, 8);
		for (guint i = 0; i < rows->len; i++) {
			const RsTraceDiffRow *row = rows->pdata[i];

			g_assert_cmpfloat(row->values[0], ==, 100);
			g_assert_cmpfloat(row->values[1], ==, 125);
			g_assert_cmpfloat(row->change, ==, 0.25);
		}
		g_assert_nonnull(rs_trace_diff_exceeds(rows, 0.24));
		g_assert_null(rs_trace_diff_exceeds(rows, 0.25));
		g_assert_cmpuint(nothing->len, ==, 0);
		g_assert_true(lost->is_gone && isnan(lost->values[1]));
	}
	test_items_clear(&items);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/analysis/diff/events", test_events);
	g_test_add_func("/analysis/diff/new-and-gone", test_new_and_gone);
	g_test_add_func("/analysis/diff/latencies", test_latencies);
	return g_test_run();
}
