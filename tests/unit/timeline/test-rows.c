/* SPDX-License-Identifier: MIT */
/* Rows are the records of all rings in the order of time, which a sorted list shows. */
#include "records.h"

#define RING_COUNT 5u

typedef struct {
	guint64 ns;
	guint ring, class, nth;
	guint64 index;
} Item;

static gint compare(gconstpointer a, gconstpointer b)
{
	const Item *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Many records share a time. */
static GArray *fill(Guest *g, guint n, guint spread)
{
	GArray *items = g_array_new(FALSE, TRUE, sizeof(Item));
	guint64 index[RING_COUNT] = {0}, ns = 100;

	for (guint i = 0; i < n; i++) {
		guint ring = i < RING_COUNT ? i : (guint)g_test_rand_int_range(0, RING_COUNT);
		guint name = i < 4 ? i : (guint)g_test_rand_int_range(0, 4);
		Item item = {.ns = ns, .ring = ring, .class = name + RS_TRACE_CLASS_EVENTS};

		item.index = index[ring]++;
		for (guint k = items->len; k-- && g_array_index(items, Item, k).ns == ns;)
			item.nth += g_array_index(items, Item, k).ring == ring &&
				    g_array_index(items, Item, k).class == item.class;
		guest_event(g, 0, ring, ns, 1, name);
		g_array_append_val(items, item);
		if (g_test_rand_int_range(0, 3))
			ns += (guint64)g_test_rand_int_range(0, (gint)spread);
	}
	guest_flush(g);
	g_array_sort(items, compare);
	return items;
}

static void check_rows(const Guest *g, const GArray *items)
{
	RsTraceTimelineRow rows[100];

	g_assert_cmpuint(rs_trace_timeline_n_rows(g->timeline), ==, items->len);
	for (guint i = 0; i < 300; i++) {
		guint first = (guint)g_test_rand_int_range(0, (gint)items->len + 2);
		guint n = rs_trace_timeline_rows(g->timeline, first, G_N_ELEMENTS(rows), rows);

		g_assert_cmpuint(n, ==,
				 first < items->len ? MIN(G_N_ELEMENTS(rows), items->len - first)
						    : 0);
		for (guint k = 0; k < n; k++) {
			const Item *item = &g_array_index(items, Item, first + k);

			g_assert_cmpuint(rows[k].ns, ==, item->ns);
			g_assert_cmpuint(rows[k].ring, ==, item->ring);
			g_assert_cmpuint(rows[k].index, ==, item->index);
			g_assert_cmpuint(rows[k].class, ==, item->class);
			g_assert_cmpuint(rows[k].nth, ==, item->nth);
			g_assert_cmpuint(
				rs_trace_timeline_row_of(g->timeline, item->ring, item->index), ==,
				first + k);
		}
	}
	g_assert_cmpuint(rs_trace_timeline_row_of(g->timeline, 0, items->len), ==, G_MAXUINT64);
}

static void check_rank(const Guest *g, const GArray *items)
{
	guint64 last = g_array_index(items, Item, items->len - 1).ns;

	for (guint i = 0; i < 300; i++) {
		guint64 ns = (guint64)g_test_rand_double_range(0, (double)last + 3);
		guint rank = 0;

		while (rank < items->len && g_array_index(items, Item, rank).ns < ns)
			rank++;
		g_assert_cmpuint(rs_trace_timeline_rank(g->timeline, ns), ==, rank);
	}
}

static void check_find(const Guest *g, const GArray *items)
{
	const guint class = RS_TRACE_CLASS_EVENTS + 1;
	const guint32 wanted = 1u << class;

	for (guint i = 0; i < 300; i++) {
		guint from = (guint)g_test_rand_int_range(0, (gint)items->len);
		guint64 next = G_MAXUINT64, last = G_MAXUINT64;

		for (guint k = 0; k < items->len; k++) {
			if (g_array_index(items, Item, k).class != class)
				continue;
			if (k >= from && next == G_MAXUINT64)
				next = k;
			if (k <= from)
				last = k;
		}
		g_assert_cmpuint(rs_trace_timeline_find(g->timeline, from, TRUE, &wanted, 32), ==,
				 next);
		g_assert_cmpuint(rs_trace_timeline_find(g->timeline, from, FALSE, &wanted, 32), ==,
				 last);
	}
}

static void test_rows(gconstpointer spread)
{
	static const guint sizes[] = {6, 300, 5000};

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(GArray) items = NULL;
		Guest g;

		guest_init(&g);
		items = fill(&g, sizes[i], GPOINTER_TO_UINT(spread));
		check_rows(&g, items);
		check_rank(&g, items);
		check_find(&g, items);
		guest_clear(&g);
	}
}

/* More records of one time than are counted: no row says that it is another one. */
static void test_one_time(void)
{
	const guint n = 150000, counted = 65536;
	RsTraceTimelineRow rows[100];
	Guest g;

	guest_init(&g);
	guest_event(&g, 0, 0, 50, 1, 0);
	for (guint i = 0; i < n; i++)
		guest_event(&g, 0, 0, 100, 1, i % 2);
	for (guint i = 0; i < 60; i++)
		guest_event(&g, 0, 0, 200, 1, 0);
	guest_flush(&g);
	for (guint first = 1; first + 100 < n; first += first < counted + 500 ? 97 : 9973) {
		g_assert_cmpuint(rs_trace_timeline_rows(g.timeline, first, 100, rows), ==, 100);
		for (guint i = 0; i < 100; i++) {
			const guint before = first + i - 1;

			g_assert_cmpuint(rows[i].index, ==, first + i);
			g_assert_cmpuint(rows[i].nth, ==,
					 first - 1 > counted ? RS_TRACE_TIMELINE_NTH_UNKNOWN
							     : before / 2);
		}
	}
	g_assert_cmpuint(rs_trace_timeline_rows(g.timeline, n - 19, 100, rows), ==, 80);
	for (guint i = 0; i < 80; i++)
		g_assert_cmpuint(rows[i].nth, ==, i < 20 ? RS_TRACE_TIMELINE_NTH_UNKNOWN : i - 20);
	guest_clear(&g);
}

static void test_empty(void)
{
	RsTraceTimelineRow row;
	const guint32 all = G_MAXUINT32;
	Guest g;

	guest_init(&g);
	g_assert_cmpuint(rs_trace_timeline_n_rows(g.timeline), ==, 0);
	g_assert_cmpuint(rs_trace_timeline_rows(g.timeline, 0, 1, &row), ==, 0);
	g_assert_cmpuint(rs_trace_timeline_rank(g.timeline, 5), ==, 0);
	g_assert_cmpuint(rs_trace_timeline_find(g.timeline, 0, TRUE, &all, 32), ==, G_MAXUINT64);
	g_assert_cmpuint(rs_trace_timeline_row_of(g.timeline, 0, 0), ==, G_MAXUINT64);
	guest_clear(&g);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/rows/dense", GUINT_TO_POINTER(3), test_rows);
	g_test_add_data_func("/rows/sparse", GUINT_TO_POINTER(100000), test_rows);
	g_test_add_func("/rows/one-time", test_one_time);
	g_test_add_func("/rows/empty", test_empty);
	return g_test_run();
}
