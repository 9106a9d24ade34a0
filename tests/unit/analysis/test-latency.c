/* SPDX-License-Identifier: MIT */
#include "analysis/rs-trace-latency.h"
#include "items.h"
#include "rs-trace-error.h"

#include <string.h>

/* "pairs/spanning/begins/ends/without key" and the sum of all pairs. */
static char *show(const RsTraceLatency *latency)
{
	RsTraceLatencyResult r;
	guint64 n;

	rs_trace_latency_result(latency, &r);
	g_assert_cmpuint(r.refused, ==, 0);
	n = rs_trace_distribution_count(r.ns);
	return g_strdup_printf("%u/%u/%u/%u/%u %u", (guint)n, (guint)r.spanning, (guint)r.begins,
			       (guint)r.ends, (guint)r.without_key,
			       (guint)(rs_trace_distribution_mean(r.ns) * (double)n + 0.5));
}

#define CHECK(latency, want)                                                                       \
	do {                                                                                       \
		g_autofree char *got = show(latency);                                              \
		g_assert_cmpstr(got, ==, want);                                                    \
	} while (0)

static void test_pairs(void)
{
	g_autoptr(RsTraceLatency) of_task = rs_trace_latency_new("switch..demo:all", NULL, NULL);
	TestItems items;

	test_items_init(&items);
	rs_trace_latency_add(of_task, test_items_switch(&items, 100, 1, 0, 0));
	rs_trace_latency_add(of_task, test_items_switch(&items, 200, 2, 0, 0));
	rs_trace_latency_add(of_task, test_items_all(&items, 250, 3)); /* no begin */
	rs_trace_latency_add(of_task, test_items_all(&items, 300, 2)); /* 100 */
	rs_trace_latency_add(of_task, test_items_all(&items, 310, 2)); /* no begin any more */
	rs_trace_latency_add(of_task,
			     test_items_switch(&items, 320, 1, 0, 0)); /* the first is alone */
	rs_trace_latency_add(of_task, test_items_all(&items, 333, 1)); /* 13 */
	rs_trace_latency_add(of_task, test_items_switch(&items, 400, 5, 0, 0)); /* stays alone */
	rs_trace_latency_add(of_task, test_items_switch(&items, 500, 6, 0, 0));
	rs_trace_latency_add(of_task, test_items_all(&items, 490, 6)); /* 0: the clock went back */
	CHECK(of_task, "3/0/2/2/0 113");
	test_items_clear(&items);
}

static void test_pairs_are_told_apart_by_what_they_begin_with(void)
{
	static const struct {
		const char *label;
		guint64 pairs, most;
	} want[] = {{"7", 2, 30}, {"8", 1, 5}};
	g_autoptr(RsTraceLatency) latency = rs_trace_latency_new("switch..all", NULL, NULL);
	g_autoptr(RsTraceLatency) none = rs_trace_latency_new("switch..all", NULL, NULL);
	g_autoptr(GArray) groups = NULL, empty = rs_trace_latency_groups(none, NULL);
	g_autoptr(GError) error = NULL;
	TestItems items;

	g_assert_cmpuint(empty->len, ==, 0);
	g_assert_true(rs_trace_latency_group_by(none, "nosuch", NULL));
	g_assert_true(rs_trace_latency_group_by(latency, "next", NULL));
	test_items_init(&items);
	rs_trace_latency_add(none, test_items_switch(&items, 100, 1, 0, 8));
	rs_trace_latency_add(latency, test_items_switch(&items, 100, 1, 0, 8));
	rs_trace_latency_add(latency, test_items_all(&items, 105, 1));
	rs_trace_latency_add(latency, test_items_switch(&items, 200, 1, 0, 7));
	rs_trace_latency_add(latency, test_items_all(&items, 230, 1));
	rs_trace_latency_add(latency, test_items_switch(&items, 300, 1, 0, 7));
	rs_trace_latency_add(latency, test_items_all(&items, 310, 1));
	rs_trace_latency_add(latency, test_items_switch(&items, 400, 1, 0, 9)); /* stays alone */
	CHECK(latency, "3/0/1/0/0 45");
	groups = rs_trace_latency_groups(latency, NULL);
	g_assert_cmpuint(groups->len, ==, G_N_ELEMENTS(want));
	for (guint i = 0; i < groups->len; i++) {
		const RsTraceLatencyGroup *group = &g_array_index(groups, RsTraceLatencyGroup, i);

		g_assert_cmpstr(group->label, ==, want[i].label);
		g_assert_cmpuint(rs_trace_distribution_count(group->ns), ==, want[i].pairs);
		g_assert_cmpuint(rs_trace_distribution_greatest(group->ns), ==, want[i].most);
	}
	g_assert_null(rs_trace_latency_groups(none, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	test_items_clear(&items);
}

static void test_keys(void)
{
	g_autoptr(RsTraceLatency) chain =
		rs_trace_latency_new("switch..switch", "next..prev", NULL);
	g_autoptr(RsTraceLatency) one = rs_trace_latency_new("switch..all", "next", NULL);
	TestItems items;

	test_items_init(&items);
	rs_trace_latency_add(chain, test_items_switch(&items, 10, 1, 9, 1));
	rs_trace_latency_add(chain, test_items_switch(&items, 30, 1, 1, 2)); /* 20 */
	rs_trace_latency_add(chain, test_items_switch(&items, 60, 1, 2, 1)); /* 30 */
	CHECK(chain, "2/0/1/1/0 50");
	rs_trace_latency_add(one, test_items_switch(&items, 10, 1, 9, 1));
	rs_trace_latency_add(one, test_items_all(&items, 20, 1)); /* has no field "next" */
	CHECK(one, "0/0/1/0/1 0");
	test_items_clear(&items);
}

/* A pair may be two halves of two pairs if something in between is missing. */
static void test_losses(void)
{
	g_autoptr(RsTraceLatency) latency = rs_trace_latency_new("switch..all", NULL, NULL);
	TestItems items;

	test_items_init(&items);
	rs_trace_latency_add(latency, test_items_loss(&items, 5, 3));
	rs_trace_latency_add(latency, test_items_switch(&items, 10, 1, 0, 0));
	rs_trace_latency_add(latency, test_items_loss(&items, 15, 3));
	rs_trace_latency_add(latency, test_items_all(&items, 20, 1));
	rs_trace_latency_add(latency, test_items_switch(&items, 30, 1, 0, 0));
	items.item.source_index = 1;
	rs_trace_latency_add(latency, test_items_loss(&items, 35, 3)); /* of another source */
	items.item.source_index = 0;
	rs_trace_latency_add(latency, test_items_all(&items, 40, 1));
	CHECK(latency, "1/1/0/0/0 10");
	test_items_clear(&items);
}

static void test_sources_are_apart(void)
{
	g_autoptr(RsTraceLatency) latency = rs_trace_latency_new("switch..all", NULL, NULL);
	TestItems items;

	test_items_init(&items);
	rs_trace_latency_add(latency, test_items_switch(&items, 10, 1, 0, 0));
	items.item.source_index = 1;
	rs_trace_latency_add(latency, test_items_all(&items, 20, 1));
	CHECK(latency, "0/0/1/1/0 0");
	test_items_clear(&items);
}

static void test_bounds(void)
{
	g_autoptr(RsTraceLatency) latency = rs_trace_latency_new("switch..all", NULL, NULL);
	const guint many = RS_TRACE_LATENCY_OPEN + 100;
	RsTraceLatencyResult r;
	TestItems items;

	test_items_init(&items);
	/* keys that are done make room */
	for (guint i = 0; i < 4 * many; i++) {
		rs_trace_latency_add(latency, test_items_switch(&items, i, i, 0, 0));
		rs_trace_latency_add(latency, test_items_all(&items, i + 2, i));
	}
	rs_trace_latency_result(latency, &r);
	g_assert_cmpuint(r.refused, ==, 0);
	g_assert_cmpuint(rs_trace_distribution_count(r.ns), ==, 4 * many);
	for (guint i = 0; i < many; i++)
		rs_trace_latency_add(latency, test_items_switch(&items, i, i, 0, 0));
	rs_trace_latency_result(latency, &r);
	/* keys of before may still take some of the room */
	g_assert_cmpuint(r.begins, >, RS_TRACE_LATENCY_OPEN / 2);
	g_assert_cmpuint(r.begins, <=, RS_TRACE_LATENCY_OPEN);
	g_assert_cmpuint(r.begins + r.refused, ==, many);
	test_items_clear(&items);
}

static void test_what_is_no_pair(void)
{
	static const char *const pairs[] = {"", "a", "..", "a..", "..b"};
	static const char *const keys[] = {"", "..", "a..", "..b"};

	for (guint i = 0; i < G_N_ELEMENTS(pairs); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(rs_trace_latency_new(pairs[i], NULL, &error));
		g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	}
	for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
		g_autoptr(GError) error = NULL;

		g_assert_null(rs_trace_latency_new("a..b", keys[i], &error));
		g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/analysis/latency/pairs", test_pairs);
	g_test_add_func("/analysis/latency/keys", test_keys);
	g_test_add_func("/analysis/latency/groups",
			test_pairs_are_told_apart_by_what_they_begin_with);
	g_test_add_func("/analysis/latency/losses", test_losses);
	g_test_add_func("/analysis/latency/sources", test_sources_are_apart);
	g_test_add_func("/analysis/latency/bounds", test_bounds);
	g_test_add_func("/analysis/latency/no-pair", test_what_is_no_pair);
	return g_test_run();
}
