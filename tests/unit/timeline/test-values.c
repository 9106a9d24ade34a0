/* SPDX-License-Identifier: MIT */
#include "timeline/rs-trace-values.h"

#include <math.h>

#define N 60000u
#define COLUMNS 50u

typedef struct {
	guint64 ns;
	guint ring;
	double value;
} Item;

static Item items[N];

static gint by_time(gconstpointer a, gconstpointer b, gpointer unused)
{
	const Item *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->ring < y->ring ? -1 : x->ring > y->ring;
}

/* Whole numbers, small and large, fractions, and sometimes one that stands out. */
static double any_value(GRand *rand, guint i)
{
	switch (i / 2000 % 4) {
	case 0:
		return g_rand_int_range(rand, -5, 100);
	case 1:
		return (double)g_rand_int(rand) * g_rand_int(rand) * (i % 2 ? -1 : 1);
	case 2:
		return g_rand_double_range(rand, -1e6, 1e6);
	default:
		return i % 1777 == 0 ? 1e9 : 7;
	}
}

/* One ring after the other: each is ahead of those behind it. In the end `items` is by time. */
static RsTraceValues *fill(GRand *rand, guint rings)
{
	RsTraceValues *values = rs_trace_values_new();
	guint i = 0;

	for (guint ring = 0; ring < rings; ring++) {
		/* The first one of few ends with a full block. */
		const guint until = (ring + 1) * (N / rings) / 128 * 128;
		guint64 ns = 10;

		for (; i < (ring + 1 < rings ? until : N); i++) {
			ns += (guint64)g_rand_int_range(rand, 0, i % 50 == 0 ? 5000 : 3);
			items[i] = (Item){ns, ring, any_value(rand, i)};
			rs_trace_values_append(values, 4, ring, ns, items[i].value);
		}
	}
	rs_trace_values_flush(values);
	/* It is a stable sort. */
	g_qsort_with_data(items, N, sizeof(*items), by_time, NULL);
	return values;
}

static void check(const RsTraceValues *values, const guint64 *edges)
{
	RsTraceValueColumn columns[COLUMNS];
	guint at = 0;

	rs_trace_values_columns(values, edges, COLUMNS, columns);
	while (at < N && items[at].ns < edges[0])
		at++;
	for (guint i = 0; i < COLUMNS; i++) {
		double least = INFINITY, most = -INFINITY, held;
		guint64 when;

		if (at > 0 && (at >= N || items[at].ns > edges[i]))
			least = most = items[at - 1].value;
		for (; at < N && items[at].ns < edges[i + 1]; at++) {
			least = MIN(least, items[at].value);
			most = MAX(most, items[at].value);
		}
		g_assert_cmpint(columns[i].has, ==, at > 0);
		g_assert_cmpint(rs_trace_values_held(values, edges[i + 1], &held, &when), ==,
				at > 0);
		if (at == 0)
			continue;
		g_assert_cmpfloat(columns[i].least, ==, least);
		g_assert_cmpfloat(columns[i].most, ==, most);
		g_assert_cmpfloat(columns[i].last, ==, items[at - 1].value);
		g_assert_cmpfloat(held, ==, items[at - 1].value);
		g_assert_cmpuint(when, ==, items[at - 1].ns);
	}
}

/* Against a look at each value. */
static void test_columns(gconstpointer rings)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(3);
	g_autoptr(RsTraceValues) values = fill(rand, GPOINTER_TO_UINT(rings));
	const guint64 end = items[N - 1].ns;

	g_assert_cmpuint(rs_trace_values_count(values), ==, N);
	rs_trace_values_lock(values);
	for (guint round = 0; round < 400; round++) {
		const guint64 from = (guint64)g_rand_int_range(rand, 0, (gint)end);
		const guint64 step = 1 + ((end / COLUMNS) >> g_rand_int_range(rand, 0, 20));
		guint64 edges[COLUMNS + 1];

		for (guint i = 0; i <= COLUMNS; i++)
			edges[i] = (round % 7 ? from : 0) + i * step;
		check(values, edges);
	}
	rs_trace_values_unlock(values);
}

/* What few bits say takes few. */
static void test_size(void)
{
	g_autoptr(RsTraceValues) values = rs_trace_values_new();

	for (guint i = 0; i < 1000000; i++)
		rs_trace_values_append(values, 0, i % 4, i * 400, 4096 + i % 100);
	rs_trace_values_flush(values);
	g_assert_cmpuint(rs_trace_values_count(values), ==, 1000000);
	g_assert_cmpuint(rs_trace_values_size(values), <, 4000000);
}

/* What comes in order costs the same however many rings it is of. */
static void test_rings(void)
{
	g_autoptr(RsTraceValues) values = rs_trace_values_new();
	const guint rings = 60000;

	for (guint i = 0; i < 10 * rings; i++)
		rs_trace_values_append(values, 0, i % rings, i, i % 100);
	rs_trace_values_flush(values);
	g_assert_cmpuint(rs_trace_values_count(values), ==, 10 * rings);
	g_assert_cmpuint(rs_trace_values_size(values), <, 10 * rings * 3 + rings * 100);
	/* A ring's time does not go back, even if the others are behind it. */
	rs_trace_values_append(values, 0, 1, 5, 777);
	rs_trace_values_flush(values);
	for (guint i = 1; i < 3; i++) {
		const guint64 then = 9 * rings + 1;
		guint64 when;
		double held;

		g_assert_true(rs_trace_values_held(values, then + i, &held, &when));
		g_assert_cmpuint(when, ==, then + i - 1);
		g_assert_cmpfloat(held, ==, i == 1 ? 777 : 2);
	}
}

static void test_limit(void)
{
	g_autoptr(RsTraceValues) values = rs_trace_values_new_within(100000);
	double held = 0;
	guint64 count;

	for (guint i = 0; i < 200000; i++)
		rs_trace_values_append(values, 0, 0, i, i % 10);
	rs_trace_values_flush(values);
	count = rs_trace_values_count(values);
	g_assert_cmpuint(count, >, 10000);
	g_assert_cmpuint(count + rs_trace_values_missing(values), ==, 200000);
	g_assert_cmpuint(rs_trace_values_size(values), <, 200000);
	g_assert_true(rs_trace_values_held(values, count, &held, NULL));
	g_assert_cmpfloat(held, ==, (double)((count - 1) % 10));
	/* Nor does what comes later get in again. */
	rs_trace_values_append(values, 0, 1, 7, 3);
	rs_trace_values_flush(values);
	g_assert_cmpuint(rs_trace_values_count(values), ==, count);
}

/* All share the room, and give it back. */
static void test_shared_limit(void)
{
	g_autoptr(RsTraceValues) first = rs_trace_values_new_within(100000);
	g_autoptr(RsTraceValues) second = rs_trace_values_new_within(100000);

	for (guint i = 0; i < 200000; i++)
		rs_trace_values_append(first, 0, 0, i, i % 10);
	rs_trace_values_append(second, 0, 0, 7, 7);
	rs_trace_values_flush(second);
	g_assert_cmpuint(rs_trace_values_count(second), ==, 0);
	g_assert_cmpuint(rs_trace_values_missing(second), ==, 1);
	g_clear_pointer(&first, rs_trace_values_unref);
	first = rs_trace_values_new_within(100000);
	rs_trace_values_append(first, 0, 0, 7, 7);
	rs_trace_values_flush(first);
	g_assert_cmpuint(rs_trace_values_count(first), ==, 1);
}

/* Each of the first ones is earlier than all before it, and more than 256 of them are too many. */
static void test_falling(void)
{
	g_autoptr(RsTraceValues) values = rs_trace_values_new();
	const guint64 edges[2] = {0, 2000};
	RsTraceValueColumn column;

	for (guint i = 0; i < 300; i++)
		rs_trace_values_append(values, 0, i, 1000 - i, i);
	for (guint i = 0; i < 300; i++)
		rs_trace_values_append(values, 0, i, 1001 + i, 5000);
	rs_trace_values_flush(values);
	g_assert_cmpuint(rs_trace_values_count(values), ==, 256);
	g_assert_cmpuint(rs_trace_values_missing(values), ==, 600 - 256);
	rs_trace_values_columns(values, edges, 1, &column);
	g_assert_cmpfloat(column.least, ==, 0);
	g_assert_cmpfloat(column.most, ==, 255);
	g_assert_cmpfloat(column.last, ==, 0);
}

static void test_odd(void)
{
	g_autoptr(RsTraceValues) values = rs_trace_values_new();
	const guint64 edges[3] = {0, 5, 10};
	RsTraceValueColumn columns[2];
	double value = 1;
	guint64 ns;

	rs_trace_values_columns(values, edges, 2, columns);
	g_assert_false(columns[0].has);
	g_assert_false(rs_trace_values_held(values, G_MAXUINT64, &value, &ns));
	rs_trace_values_append(values, 0, 0, 7, NAN);
	rs_trace_values_append(values, 0, 0, 3, INFINITY); /* goes back */
	rs_trace_values_columns(values, edges, 2, columns);
	g_assert_false(columns[1].has); /* not flushed */
	rs_trace_values_flush(values);
	g_assert_true(rs_trace_values_held(values, G_MAXUINT64, &value, &ns));
	g_assert_cmpfloat(value, ==, INFINITY);
	g_assert_cmpuint(ns, ==, 7);
	rs_trace_values_columns(values, edges, 2, columns);
	g_assert_false(columns[0].has);
	g_assert_true(columns[1].has);
	g_assert_cmpfloat(columns[1].least, ==, 0);
	g_assert_cmpfloat(columns[1].most, ==, INFINITY);
	for (guint i = 0; i < 1000; i++) /* sealed */
		rs_trace_values_append(values, 0, 0, G_MAXUINT64 - i % 2,
				       i % 2 ? -INFINITY : -9223372036854775808.0);
	rs_trace_values_flush(values);
	g_assert_true(rs_trace_values_held(values, G_MAXUINT64, &value, &ns));
	g_assert_cmpfloat(value, ==, INFINITY);
	g_assert_cmpuint(ns, ==, 7);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/values/columns", GUINT_TO_POINTER(3), test_columns);
	g_test_add_data_func("/values/columns/rings", GUINT_TO_POINTER(200), test_columns);
	g_test_add_func("/values/rings", test_rings);
	g_test_add_func("/values/size", test_size);
	g_test_add_func("/values/limit", test_limit);
	g_test_add_func("/values/shared-limit", test_shared_limit);
	g_test_add_func("/values/falling", test_falling);
	g_test_add_func("/values/odd", test_odd);
	return g_test_run();
}
