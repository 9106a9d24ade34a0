/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-hist.h"
#include "items.h"
#include "rs-trace-error.h"

#include <string.h>

/* "label:" of each group, then "low-high=count" and "key=count". */
static char *show(const RsTraceHist *hist)
{
	g_autoptr(GPtrArray) groups = NULL;
	GString *out = g_string_new(NULL);

	g_assert_true(rs_trace_hist_result(hist, &groups, NULL));
	for (guint i = 0; i < groups->len; i++) {
		const RsTraceHistGroup *group = groups->pdata[i];
		guint64 sum = 0;

		if (group->label)
			g_string_append_printf(out, "%s: ", group->label);
		for (guint k = 0; k < group->rows->len; k++) {
			const RsTraceHistRow *row = &g_array_index(group->rows, RsTraceHistRow, k);

			if (row->label)
				g_string_append(out, row->label);
			else
				g_string_append_printf(out, "%s%u-%u", row->is_negative ? "-" : "",
						       (guint)row->low, (guint)row->high);
			g_string_append_printf(out, "=%u ", (guint)row->count);
			sum += row->count;
		}
		g_assert_cmpuint(sum, ==, group->count);
	}
	return g_string_free(out, FALSE);
}

static void test_amounts(void)
{
	g_autoptr(RsTraceHist) hist = rs_trace_hist_new("next", NULL, NULL);
	g_autoptr(GPtrArray) groups = NULL;
	const RsTraceHistGroup *group;
	g_autofree char *got = NULL;
	TestItems items;

	test_items_init(&items);
	for (guint i = 0; i < 9; i++)
		rs_trace_hist_add(hist, test_items_switch(&items, i, 1, 0, i));
	rs_trace_hist_add(hist, test_items_switch(&items, 9, 1, 0, 63));
	rs_trace_hist_add(hist, test_items_all(&items, 9, 1)); /* has no such field */
	got = show(hist);
	g_assert_cmpstr(got, ==, "0-0=1 1-1=1 2-3=2 4-7=4 8-15=1 16-31=0 32-63=1 ");
	g_assert_true(rs_trace_hist_result(hist, &groups, NULL));
	group = groups->pdata[0];
	g_assert_cmpuint(group->amounts, ==, 10);
	g_assert_cmpfloat(group->mean, ==, 9.9);
	g_assert_cmpfloat(group->least, ==, 0);
	g_assert_cmpfloat(group->greatest, ==, 63);
	test_items_clear(&items);
}

static void test_negative_amounts(void)
{
	g_autoptr(RsTraceHist) hist = rs_trace_hist_new("demo:all.s", NULL, NULL);
	g_autofree char *got = NULL;
	TestItems items;

	test_items_init(&items);
	rs_trace_hist_add(hist, test_items_all(&items, 9, 1));
	for (guint i = 0; i < 2; i++) {
		const gint32 s = i ? G_MININT32 : 3;

		memcpy(items.all->data + 8, &s, sizeof(s));
		rs_trace_hist_add(hist, test_items_all(&items, 9, 1));
	}
	got = show(hist);
	g_assert_cmpstr(got, ==, "-2147483648-4294967295=1 -4-7=1 2-3=1 ");
	test_items_clear(&items);
}

/* Few amounts have a row each, in their order, until there are too many of them. */
static void test_few(void)
{
	g_autoptr(RsTraceHist) hist = rs_trace_hist_new("demo:all.s", NULL, NULL);
	g_autofree char *few = NULL, *many = NULL;
	TestItems items;

	test_items_init(&items);
	rs_trace_hist_set_few(hist);
	for (guint i = 0; i < RS_TRACE_HIST_FEW + 4; i++) {
		const gint32 s = i < 4 ? (gint32[]){7, -2, 7, -9}[i] : (gint32)i + 100;

		memcpy(items.all->data + 8, &s, sizeof(s));
		rs_trace_hist_add(hist, test_items_all(&items, 9, 1));
		if (i == 3)
			few = show(hist);
	}
	g_assert_cmpstr(few, ==, "-9-9=1 -2-2=1 7-7=2 ");
	many = show(hist);
	g_assert_cmpstr(many, ==, "-8-15=1 -2-3=1 4-7=2 8-15=0 16-31=0 32-63=0 64-127=16 ");
	test_items_clear(&items);
}

static void test_fold(void)
{
	g_autoptr(RsTraceHist) hist = rs_trace_hist_new("PID", NULL, NULL);
	g_autoptr(GPtrArray) groups = NULL;
	const RsTraceHistRow *rest;
	GArray *rows;
	TestItems items;

	test_items_init(&items);
	for (guint i = 0; i < RS_TRACE_HIST_KEYS + 50; i++)
		rs_trace_hist_add(hist, test_items_switch(&items, i, i < 100 ? 3 : i, 0, i));
	g_assert_true(rs_trace_hist_result(hist, &groups, NULL));
	rs_trace_hist_fold(groups, 2);
	rows = ((RsTraceHistGroup *)groups->pdata[0])->rows;
	g_assert_cmpuint(rows->len, ==, 3);
	g_assert_cmpstr(g_array_index(rows, RsTraceHistRow, 0).label, ==, "3");
	rest = &g_array_index(rows, RsTraceHistRow, 2);
	g_assert_true(rest->is_other);
	g_assert_cmpuint(rest->count, ==, RS_TRACE_HIST_KEYS + 50 - 101);
	test_items_clear(&items);
}

/* The least number of all has a bucket of its own, and one end of it. */
static void test_the_least_amount(void)
{
	g_autoptr(RsTraceHist) hist = rs_trace_hist_new("demo:all.least", NULL, NULL);
	const RsTraceField field = {.name = "least",
				    .kind = RS_KIND_SINT,
				    .size = 8,
				    .elem_size = 8,
				    .is_signed = TRUE};
	const RsTraceEvent event = {
		.unique = 1, .system = "demo", .name = "all", .fields = &field, .n_fields = 1};
	const gint64 least = G_MININT64;
	const RsTraceRecord record = {
		.event = &event, .payload = (const guint8 *)&least, .size = sizeof(least)};
	const RsTraceTask task = {.comm = "x"};
	const RsTraceSample item = {.record = &record, .task = &task};
	g_autoptr(GPtrArray) groups = NULL;
	const RsTraceHistRow *row;

	rs_trace_hist_add(hist, &item);
	g_assert_true(rs_trace_hist_result(hist, &groups, NULL));
	row = &g_array_index(((RsTraceHistGroup *)groups->pdata[0])->rows, RsTraceHistRow, 0);
	g_assert_true(row->is_negative);
	g_assert_cmpuint(row->count, ==, 1);
	g_assert_cmpuint(row->low, ==, (guint64)1 << 63);
	g_assert_cmpuint(row->high, ==, (guint64)1 << 63);
}

static void test_keys_and_groups(void)
{
	g_autoptr(RsTraceHist) names = rs_trace_hist_new("comm", NULL, NULL);
	g_autoptr(RsTraceHist) groups = rs_trace_hist_new("next", "pid", NULL);
	g_autofree char *of_names = NULL, *of_groups = NULL;
	TestItems items;

	test_items_init(&items);
	for (guint i = 0; i < 6; i++) {
		const RsTraceSample *item = test_items_switch(&items, i, i % 3 / 2, 0, i);

		items.task.comm = i % 3 ? "a" : "b";
		rs_trace_hist_add(names, item);
		rs_trace_hist_add(groups, item);
	}
	of_names = show(names);
	of_groups = show(groups);
	g_assert_cmpstr(of_names, ==, "a=4 b=2 ");
	g_assert_cmpstr(of_groups, ==, "0: 0-0=1 1-1=1 2-3=1 4-7=1 1: 2-3=1 4-7=1 ");
	test_items_clear(&items);
}

static void test_bounds(void)
{
	g_autoptr(RsTraceHist) keys = rs_trace_hist_new("PID", NULL, NULL);
	g_autoptr(RsTraceHist) groups = rs_trace_hist_new("next", "PID", NULL);
	g_autoptr(GPtrArray) of_keys = NULL, of_groups = NULL;
	const RsTraceHistGroup *group;
	const RsTraceHistRow *row;
	TestItems items;

	test_items_init(&items);
	for (guint i = 0; i < RS_TRACE_HIST_KEYS + 50; i++) {
		const RsTraceSample *item = test_items_switch(&items, i, i, 0, i);

		rs_trace_hist_add(keys, item);
		rs_trace_hist_add(groups, item);
	}
	g_assert_true(rs_trace_hist_result(keys, &of_keys, NULL));
	group = of_keys->pdata[0];
	g_assert_cmpuint(group->rows->len, ==, RS_TRACE_HIST_KEYS + 1);
	row = &g_array_index(group->rows, RsTraceHistRow, RS_TRACE_HIST_KEYS);
	g_assert_true(row->is_other);
	g_assert_cmpuint(row->count, ==, 50);
	g_assert_true(rs_trace_hist_result(groups, &of_groups, NULL));
	g_assert_cmpuint(of_groups->len, ==, RS_TRACE_HIST_GROUPS + 1);
	group = of_groups->pdata[RS_TRACE_HIST_GROUPS];
	g_assert_true(group->is_other);
	g_assert_cmpuint(group->count, ==, RS_TRACE_HIST_KEYS + 50 - RS_TRACE_HIST_GROUPS);
	test_items_clear(&items);
}

static void test_a_field_that_nobody_has(void)
{
	g_autoptr(RsTraceHist) hist = rs_trace_hist_new("nxt\x1b", NULL, NULL);
	g_autoptr(GPtrArray) groups = NULL;
	g_autoptr(GError) error = NULL;
	TestItems items;

	test_items_init(&items);
	rs_trace_hist_add(hist, test_items_switch(&items, 1, 1, 0, 1));
	g_assert_false(rs_trace_hist_result(hist, &groups, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	g_assert_nonnull(strstr(error->message, "'nxt\\x1b'"));
	g_clear_error(&error);
	rs_trace_hist_free(g_steal_pointer(&hist));
	hist = rs_trace_hist_new("next", "bits", NULL); /* events have either */
	rs_trace_hist_add(hist, test_items_switch(&items, 1, 1, 0, 1));
	rs_trace_hist_add(hist, test_items_all(&items, 1, 1));
	g_assert_false(rs_trace_hist_result(hist, &groups, &error));
	g_assert_nonnull(strstr(error->message, "that have 'next' has 'bits'"));
	test_items_clear(&items);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/analysis/hist/amounts", test_amounts);
	g_test_add_func("/analysis/hist/least", test_the_least_amount);
	g_test_add_func("/analysis/hist/negative", test_negative_amounts);
	g_test_add_func("/analysis/hist/keys", test_keys_and_groups);
	g_test_add_func("/analysis/hist/bounds", test_bounds);
	g_test_add_func("/analysis/hist/nobody", test_a_field_that_nobody_has);
	g_test_add_func("/analysis/hist/few", test_few);
	g_test_add_func("/analysis/hist/fold", test_fold);
	return g_test_run();
}
