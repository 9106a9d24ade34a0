/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-stat.h"
#include "items.h"

#include <string.h>

static char *show(GPtrArray *rows)
{
	GString *out = g_string_new(NULL);

	for (guint i = 0; i < rows->len; i++) {
		const RsTraceStatRow *row = rows->pdata[i];
		const RsTraceStatCounts *c = &row->counts;

		g_string_append_printf(out, "%s/%u: %u %u %u-%u %u; ", row->label, row->cpu,
				       (guint)c->events, (guint)c->lost, (guint)c->first_ns,
				       (guint)c->last_ns, (guint)c->gaps);
	}
	g_ptr_array_unref(rows);
	return g_string_free(out, FALSE);
}

static void add(RsTraceStat *stat, TestItems *items, const RsTraceSample *item, guint source,
		guint cpu)
{
	items->item.source_index = source;
	items->item.source = source ? "other" : "guest";
	items->record.ring = (guint16)cpu;
	rs_trace_stat_add(stat, item);
}

static void test_counts(void)
{
	g_autoptr(RsTraceStat) stat = rs_trace_stat_new();
	g_autofree char *events = NULL, *cpus = NULL;
	const RsTraceStatCounts *total;
	TestItems items;

	test_items_init(&items);
	add(stat, &items, test_items_switch(&items, 1000, 1, 0, 0), 0, 1);
	add(stat, &items, test_items_all(&items, 2000, 1), 0, 0);
	add(stat, &items, test_items_loss(&items, 2500, 7), 0, 1);
	add(stat, &items, test_items_all(&items, 3000, 1), 1, 0);
	add(stat, &items, test_items_all(&items, 2900, 1), 0, 0);
	add(stat, &items, test_items_all(&items, 4000, 1), 1, 0);
	items.record.event = NULL;
	add(stat, &items, &items.item, 1, 0);
	add(stat, &items, test_items_loss(&items, 5000, 2), 0, 1);
	events = show(rs_trace_stat_events(stat));
	g_assert_cmpstr(events, ==,
			"demo:all/0: 4 0 2000-4000 0; #65/0: 1 0 4000-4000 0; "
			"sched:switch/0: 1 0 1000-1000 0; ");
	cpus = show(rs_trace_stat_cpus(stat));
	g_assert_cmpstr(cpus, ==,
			"guest/0: 2 0 2000-2900 0; guest/1: 1 9 1000-1000 2; "
			"other/0: 3 0 3000-4000 0; ");
	total = rs_trace_stat_total(stat);
	g_assert_cmpuint(total->events, ==, 6);
	g_assert_cmpuint(total->lost, ==, 9);
	g_assert_cmpuint(rs_trace_stat_span(stat), ==, 4000);
	rs_trace_stat_set_span(stat, 500, 9500);
	g_assert_cmpuint(rs_trace_stat_span(stat), ==, 9000);
	g_assert_cmpfloat(rs_trace_stat_rate(6, 4000), ==, 1500000);
	g_assert_cmpfloat(rs_trace_stat_rate(6, 0), ==, 0);
	test_items_clear(&items);
}

/* Long names that begin alike are two events; an event that comes again is the same one. */
static void test_names(void)
{
	g_autoptr(RsTraceStat) stat = rs_trace_stat_new();
	g_autofree char *long_name = g_strnfill(RS_NAME_MAX - 2, 'x');
	g_autoptr(GPtrArray) rows = NULL;

	for (guint i = 0; i < 4; i++) {
		g_autoptr(GByteArray) descs = g_byte_array_new();
		RsTraceSchema *schema = rs_trace_schema_new();
		RsTraceRecord record = {.ns = i, .id = TEST_SWITCH};
		const RsTraceTask task = {.comm = "x"};
		const RsTraceSample item = {&record, &task, "s", 0};

		long_name[RS_NAME_MAX - 3] = i % 2 ? 'a' : 'b';
		test_desc_end(test_desc_new(TEST_SWITCH, "sys", long_name), NULL, NULL, descs);
		test_take(schema, 0, descs);
		record.event = rs_trace_schema_by_id(schema, TEST_SWITCH);
		rs_trace_stat_add(stat, &item);
		rs_trace_schema_free(schema);
	}
	rows = rs_trace_stat_events(stat);
	g_assert_cmpuint(rows->len, ==, 2);
	for (guint i = 0; i < 2; i++) {
		const RsTraceStatRow *row = rows->pdata[i];

		g_assert_cmpuint(row->counts.events, ==, 2);
		g_assert_cmpuint(strlen(row->label), ==, 4 + RS_NAME_MAX - 2);
	}
}

static void test_bounds(void)
{
	g_autoptr(RsTraceStat) stat = rs_trace_stat_new();
	g_autoptr(GPtrArray) rows = NULL;
	const RsTraceStatRow *row;
	TestItems items;

	test_items_init(&items);
	for (guint i = 0; i < RS_TRACE_STAT_CPUS + 30; i++)
		add(stat, &items, test_items_all(&items, i, 1), i, 0);
	rows = rs_trace_stat_cpus(stat);
	g_assert_cmpuint(rows->len, ==, RS_TRACE_STAT_CPUS + 1);
	row = rows->pdata[RS_TRACE_STAT_CPUS];
	g_assert_true(row->is_other);
	g_assert_cmpuint(row->counts.events, ==, 30);
	test_items_clear(&items);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/analysis/stat/counts", test_counts);
	g_test_add_func("/analysis/stat/names", test_names);
	g_test_add_func("/analysis/stat/bounds", test_bounds);
	return g_test_run();
}
