/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-stacks.h"
#include "items.h"

#include <string.h>

static void add(RsTraceStacks *stacks, TestItems *items, const char *comm, const guint64 *frames,
		guint n)
{
	const RsTraceSample *item = test_items_switch(items, 1, 1, 0, 0);

	items->task.comm = comm;
	items->record.stack = (const guint8 *)frames;
	items->record.n_stack = n;
	rs_trace_stacks_add(stacks, item);
}

static void test_stacks_are_folded(void)
{
	static const guint64 two[] = {0x20, 0x10}, three[] = {0x30, 0x20, 0x10};
	g_autoptr(RsTraceStacks) stacks = rs_trace_stacks_new();
	g_autoptr(GArray) rows = NULL;
	g_autoptr(GString) out = g_string_new(NULL);
	TestItems items;

	test_items_init(&items);
	add(stacks, &items, "sh", two, 2);
	add(stacks, &items, "sh", three, 3);
	add(stacks, &items, "sh", two, 2);
	add(stacks, &items, "a;b\n", two, 1);
	add(stacks, &items, "sh", NULL, 0);
	rs_trace_stacks_add(stacks, test_items_loss(&items, 5, 1));
	rows = rs_trace_stacks_result(stacks);
	for (guint i = 0; i < rows->len; i++) {
		const RsTraceStacksRow *row = &g_array_index(rows, RsTraceStacksRow, i);

		g_string_append_printf(out, "%s %u\n", row->folded, (guint)row->count);
	}
	g_assert_cmpstr(out->str, ==, "a:b\\x0a;0x20 1\nsh;0x10;0x20 2\nsh;0x10;0x20;0x30 1\n");
	g_assert_cmpuint(rs_trace_stacks_without(stacks), ==, 1);
	g_assert_cmpuint(rs_trace_stacks_others(stacks), ==, 0);
	test_items_clear(&items);
}

static void test_bounds(void)
{
	g_autoptr(RsTraceStacks) stacks = rs_trace_stacks_new();
	g_autoptr(GArray) rows = NULL;
	guint64 frames[40];
	TestItems items;

	test_items_init(&items);
	for (guint i = 0; i < G_N_ELEMENTS(frames); i++)
		frames[i] = G_MAXUINT64 - i;
	for (guint i = 0; i < RS_TRACE_STACKS_MAX + 10; i++) {
		frames[0] = i;
		add(stacks, &items, "sh", frames, i < 20 ? 40 : 1);
	}
	rows = rs_trace_stacks_result(stacks);
	g_assert_cmpuint(rows->len, ==, RS_TRACE_STACKS_MAX);
	g_assert_cmpuint(rs_trace_stacks_others(stacks), ==, 10);
	test_items_clear(&items);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/analysis/stacks/folded", test_stacks_are_folded);
	g_test_add_func("/analysis/stacks/bounds", test_bounds);
	return g_test_run();
}
