/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-column.h"
#include "items.h"
#include "rs-trace-error.h"
#include "rs-trace-glob.h"

#include <string.h>

/* "-": there is no such value, else its kind and what it is. */
static char *value(const RsTraceSample *item, const char *name)
{
	g_autoptr(RsTraceColumn) column = rs_trace_column_new(name, NULL);
	static const char kinds[] = "nsNSt";
	RsTraceCell cell;
	gboolean found = rs_trace_column_get(column, item, &cell);

	g_assert_true(!found || rs_trace_column_was_found(column));
	/* what is known of an event is used again */
	g_assert_cmpint(found, ==, rs_trace_column_get(column, item, &cell));
	if (!found)
		return g_strdup("-");
	if (cell.kind == RS_TRACE_CELL_TEXT)
		return g_strdup_printf("t%.*s", (int)cell.size, cell.text);
	return g_strdup_printf("%c%" G_GINT64_FORMAT, kinds[cell.kind], (gint64)cell.number);
}

static void check(const RsTraceSample *item, const char *name, const char *want)
{
	g_autofree char *got = value(item, name);

	g_assert_cmpstr(got, ==, want);
}

static void test_values(void)
{
	TestItems items;
	const RsTraceSample *item;

	test_items_init(&items);
	item = test_items_switch(&items, 5, 7, 3, 4);
	items.record.ring = 2;
	check(item, "prev", "n3");
	check(item, "sched:switch.next", "n4");
	check(item, "switch.next", "n4");
	check(item, "s*:.next", "n4");
	check(item, "demo:*.next", "-");
	check(item, "state", "-");
	check(item, "pid", "N7");
	check(item, "PID", "N7");
	check(item, "demo:*.pid", "-");
	check(item, "sched:*.pid", "N7");
	check(item, "tgid", "N70");
	check(item, "cpu", "N2");
	check(item, "comm", "ttask");
	check(item, "event", "tsched:switch");
	check(item, "source", "tguest");
	item = test_items_all(&items, 5, 7);
	/* The task's; the field of that name is to be named with its event. */
	check(item, "comm", "ttask");
	check(item, "COMM", "ttask");
	check(item, "demo:all.comm", "tbash");
	check(item, "s", "s-5");
	check(item, "x", "n48879");
	check(item, "p", "N-140737182935432");
	check(item, "state", "S1");
	check(item, "bits", "S5");
	check(item, "why", "tdone!");
	check(item, "list", "-"); /* an array */
	check(item, "mac", "-");
	test_items_clear(&items);
}

static void test_what_has_no_value(void)
{
	TestItems items;
	const RsTraceSample *item;

	test_items_init(&items);
	check(test_items_loss(&items, 5, 1), "cpu", "-");
	item = test_items_all(&items, 5, 7);
	items.record.size = 10; /* cut */
	check(item, "u", "n-1");
	check(item, "s", "-");
	check(item, "why", "-");
	items.record.event = NULL;
	check(item, "u", "-");
	check(item, "pid", "N7");
	check(item, "*.pid", "-");
	check(item, "event", "t#65");
	test_items_clear(&items);
}

static void test_what_is_no_column(void)
{
	g_autofree char *large = g_strnfill(2 * RS_TRACE_GLOB_MAX, 'x'),
			*glob = g_strdup_printf("%s.x", large);
	const char *const wrong[] = {"", ".", "x.", ".x", large, glob};

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(rs_trace_column_new(wrong[i], &error));
		g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/analysis/column/values", test_values);
	g_test_add_func("/analysis/column/no-value", test_what_has_no_value);
	g_test_add_func("/analysis/column/no-column", test_what_is_no_column);
	return g_test_run();
}
