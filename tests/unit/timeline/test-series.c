/* SPDX-License-Identifier: MIT */
/* A series says of each stretch of time what a walk over all of its items says. */
#include "timeline/rs-trace-series.h"

#define COLOURS 40u
#define EDGES 64u

typedef struct {
	RsTracePalette palette;
	RsTraceSeries *series;
	GArray *ns, *tags; /* what the series must hold */
	RsTraceSeriesKind kind;
} Fixture;

static void set_up(Fixture *f, RsTraceSeriesKind kind)
{
	const guint32 none = RS_TRACE_PALETTE_NONE;

	f->kind = kind;
	f->palette.colours = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_array_append_val(f->palette.colours, none);
	for (guint i = 1; i < COLOURS; i++) {
		guint32 colour = (guint32)g_test_rand_int() & 0xffffff;

		g_array_append_val(f->palette.colours, colour);
	}
	f->series = rs_trace_series_new(kind, &f->palette);
	f->ns = g_array_new(FALSE, FALSE, sizeof(guint64));
	f->tags = g_array_new(FALSE, FALSE, sizeof(guint32));
}

static void tear_down(Fixture *f)
{
	rs_trace_series_free(f->series);
	g_array_unref(f->palette.colours);
	g_array_unref(f->ns);
	g_array_unref(f->tags);
}

static guint64 ns_at(const Fixture *f, guint i)
{
	return g_array_index(f->ns, guint64, i);
}

static guint32 tag_at(const Fixture *f, guint i)
{
	return g_array_index(f->tags, guint32, i);
}

/* By the words of the header. */
static void append(Fixture *f, guint64 ns, guint32 tag)
{
	guint n = f->ns->len;
	guint64 at = n ? MAX(ns, ns_at(f, n - 1)) : ns;

	g_assert_cmpuint(rs_trace_series_append(f->series, ns, tag), ==, at);
	if (f->kind == RS_TRACE_SERIES_SPANS && n && tag_at(f, n - 1) == tag)
		return;
	if (f->kind == RS_TRACE_SERIES_SPANS && n && ns_at(f, n - 1) == at) {
		g_array_index(f->tags, guint32, n - 1) = tag;
		return;
	}
	g_array_append_val(f->ns, at);
	g_array_append_val(f->tags, tag);
}

static guint64 random_step(void)
{
	switch (g_test_rand_int_range(0, 40)) {
	case 0:
		return (guint64)g_test_rand_int_range(0, 1 << 30) * 1000;
	case 1:
		return (guint64)g_test_rand_int_range(0, 1 << 30) << 13;
	case 2 ... 8:
		return 0;
	default:
		return (guint64)g_test_rand_int_range(0, 3000);
	}
}

static void fill(Fixture *f, guint n)
{
	guint64 ns = 1000;

	for (guint i = 0; i < n; i++) {
		guint64 step = random_step();
		guint32 tag = (guint32)g_test_rand_int_range(0, COLOURS + 3);

		/* Now and then a time goes back. */
		append(f, i % 37 == 5 ? ns - 500 : (ns += step), tag);
	}
}

static RsTraceShade brute(const Fixture *f, guint64 from, guint64 until, guint64 end)
{
	RsTraceShade sum = {0};

	for (guint i = 0; i < f->ns->len; i++) {
		guint64 begins = ns_at(f, i), times;
		guint32 tag = tag_at(f, i), colour;

		if (f->kind == RS_TRACE_SERIES_POINTS) {
			times = begins >= from && begins < until;
		} else {
			guint64 ends = i + 1 < f->ns->len ? ns_at(f, i + 1) : MAX(end, begins);

			begins = MAX(begins, from);
			ends = MIN(ends, until);
			times = ends > begins ? ends - begins : 0;
		}
		colour = tag < COLOURS ? g_array_index(f->palette.colours, guint32, tag)
				       : RS_TRACE_PALETTE_NONE;
		if (colour == RS_TRACE_PALETTE_NONE) {
			sum.weight += f->kind == RS_TRACE_SERIES_POINTS ? times : 0;
			continue;
		}
		sum.weight += times;
		sum.red += (colour >> 16) * times;
		sum.green += (colour >> 8 & 0xff) * times;
		sum.blue += (colour & 0xff) * times;
	}
	return sum;
}

/* Whether nowhere as many items as a block has lie within half a column. */
static gboolean is_sparse(const Fixture *f, guint64 column)
{
	guint block = f->kind == RS_TRACE_SERIES_POINTS ? 128 : 64;

	for (guint i = 0; i + block < f->ns->len; i++)
		if (ns_at(f, i + block) - ns_at(f, i) <= column / 2)
			return FALSE;
	return TRUE;
}

static void assert_between(guint64 value, guint64 low, guint64 high)
{
	/* Shares are rounded. */
	g_assert_cmpuint(value + 64 + (value >> 40), >=, low);
	g_assert_cmpuint(value, <=, high + 64 + (high >> 40));
}

/* What is before an edge is no more and no less than what is before any place close to it. */
static void check_edge(const Fixture *f, const guint64 *edges, guint i, guint64 end,
		       const RsTraceShade *sum)
{
	guint64 shorter = MIN(edges[i] - edges[i - 1], edges[i + 1] - edges[i]);
	RsTraceShade low = brute(f, edges[0], MAX(edges[i] - shorter / 2, edges[0]), end);
	RsTraceShade high = brute(f, edges[0], edges[i] + shorter / 2, end);

	assert_between(sum->red, low.red, high.red);
	assert_between(sum->green, low.green, high.green);
	assert_between(sum->blue, low.blue, high.blue);
	assert_between(sum->weight, low.weight, high.weight);
	if (f->kind != RS_TRACE_SERIES_POINTS)
		return;
	low = brute(f, edges[0], MAX(edges[i] - shorter / 8, edges[0]), end);
	high = brute(f, edges[0], edges[i], end);
	g_assert_cmpuint(sum->weight, >=, low.weight);
	g_assert_cmpuint(sum->weight, <=, high.weight);
}

static void add_shade(RsTraceShade *sum, const RsTraceShade *more)
{
	sum->weight += more->weight;
	sum->red += more->red;
	sum->green += more->green;
	sum->blue += more->blue;
}

static void assert_same(const RsTraceShade *a, const RsTraceShade *b)
{
	g_assert_cmpuint(a->weight, ==, b->weight);
	g_assert_cmpuint(a->red, ==, b->red);
	g_assert_cmpuint(a->green, ==, b->green);
	g_assert_cmpuint(a->blue, ==, b->blue);
}

/* Returns whether it had to be exact. */
static gboolean check_columns(const Fixture *f, guint64 from, guint64 until)
{
	guint64 end = rs_trace_series_last(f->series) + (guint64)g_test_rand_int_range(0, 9999);
	gboolean exact = is_sparse(f, (until - from) / EDGES + 1);
	guint64 edges[EDGES + 1];
	RsTraceShade out[EDGES], sum = {0}, all = brute(f, from, until, end);

	for (guint i = 0; i <= EDGES; i++)
		edges[i] = from + (guint64)(((unsigned __int128)(until - from) * i) / EDGES);
	rs_trace_series_columns(f->series, edges, EDGES, end, out);
	for (guint i = 0; i < EDGES; i++) {
		RsTraceShade expected = brute(f, edges[i], edges[i + 1], end);

		if (exact)
			assert_same(&out[i], &expected);
		else if (i)
			check_edge(f, edges, i, end, &sum);
		add_shade(&sum, &out[i]);
	}
	assert_same(&sum, &all);
	return exact;
}

static guint64 random_time(const Fixture *f)
{
	return ns_at(f, (guint)g_test_rand_int_range(0, (gint)f->ns->len)) +
	       (guint64)g_test_rand_int_range(0, 1000) - 500;
}

static void test_columns(gconstpointer kind)
{
	static const guint sizes[] = {1, 2, 127, 128, 129, 255, 256, 257, 1000, 5000, 30000};
	guint exact = 0, dense = 0;

	for (guint s = 0; s < G_N_ELEMENTS(sizes); s++) {
		Fixture f;

		set_up(&f, GPOINTER_TO_INT(kind));
		fill(&f, sizes[s]);
		dense += !check_columns(&f, 0, rs_trace_series_last(f.series) + 5000);
		for (guint i = 0; i < 20; i++) {
			guint64 a = random_time(&f), b = random_time(&f);

			dense += !check_columns(&f, MIN(a, b), MAX(a, b));
			dense += !check_columns(&f, a, a + 60000000);
			exact += check_columns(&f, a, a + 5000);
			exact += check_columns(&f, a, a + EDGES);
			exact += check_columns(&f, a, a + EDGES / 2); /* columns of no length */
		}
		tear_down(&f);
	}
	g_assert_cmpuint(exact, >, 300);
	g_assert_cmpuint(dense, >, 20);
}

static void test_items(gconstpointer kind)
{
	Fixture f;
	guint64 ns[300];
	guint32 tags[300];

	set_up(&f, GPOINTER_TO_INT(kind));
	g_assert_cmpuint(rs_trace_series_count(f.series), ==, 0);
	g_assert_cmpuint(rs_trace_series_rank(f.series, G_MAXUINT64), ==, 0);
	fill(&f, 3000);
	g_assert_cmpuint(rs_trace_series_count(f.series), ==, f.ns->len);
	g_assert_cmpuint(rs_trace_series_first(f.series), ==, ns_at(&f, 0));
	g_assert_cmpuint(rs_trace_series_last(f.series), ==, ns_at(&f, f.ns->len - 1));
	for (guint i = 0; i < 500; i++) {
		guint at = (guint)g_test_rand_int_range(0, (gint)f.ns->len + 5);
		guint n = rs_trace_series_read(f.series, at, G_N_ELEMENTS(ns), ns, tags);
		guint64 when = random_time(&f), rank = 0;

		g_assert_cmpuint(n, ==, at < f.ns->len ? MIN(G_N_ELEMENTS(ns), f.ns->len - at) : 0);
		for (guint k = 0; k < n; k++) {
			g_assert_cmpuint(ns[k], ==, ns_at(&f, at + k));
			g_assert_cmpuint(tags[k], ==, tag_at(&f, at + k));
		}
		while (rank < f.ns->len && ns_at(&f, (guint)rank) < when)
			rank++;
		g_assert_cmpuint(rs_trace_series_rank(f.series, when), ==, rank);
	}
	tear_down(&f);
}

static void test_find(void)
{
	const guint32 wanted[2] = {1u << 7, 1u << 3};
	Fixture f;

	set_up(&f, RS_TRACE_SERIES_POINTS);
	fill(&f, 1000);
	for (guint i = 0; i < f.ns->len + 2; i++) {
		guint64 next = G_MAXUINT64, last = G_MAXUINT64;

		for (guint k = 0; k < f.ns->len; k++) {
			gboolean is = tag_at(&f, k) == 7 || tag_at(&f, k) == 35;

			if (is && k >= i && next == G_MAXUINT64)
				next = k;
			if (is && k <= i)
				last = k;
		}
		g_assert_cmpuint(rs_trace_series_find(f.series, i, TRUE, wanted, 64), ==, next);
		g_assert_cmpuint(rs_trace_series_find(f.series, i, FALSE, wanted, 64), ==, last);
		if (i >= f.ns->len)
			continue;
		/* A bit that is beyond what was said to be there does not count. */
		next = rs_trace_series_find(f.series, i, TRUE, wanted, 32);
		g_assert_true(next == G_MAXUINT64 || tag_at(&f, (guint)next) == 7);
	}
	tear_down(&f);
}

/* Times of all sizes, up to the last that there is, and tags of 32 bits. */
static void test_extremes(void)
{
	Fixture f;

	set_up(&f, RS_TRACE_SERIES_POINTS);
	for (guint i = 0; i < 200; i++)
		append(&f, i < 64 ? G_GUINT64_CONSTANT(1) << i : G_MAXUINT64 - 200 + i,
		       i % 3 ? G_MAXUINT32 : 0);
	for (guint i = 0; i < 200; i++) {
		guint64 ns;
		guint32 tag;

		g_assert_cmpuint(rs_trace_series_read(f.series, i, 1, &ns, &tag), ==, 1);
		g_assert_cmpuint(ns, ==, ns_at(&f, i));
		g_assert_cmpuint(tag, ==, tag_at(&f, i));
	}
	tear_down(&f);
}

/* Events as dense as those of a busy guest take three bytes each. */
static void test_size(void)
{
	Fixture f;

	set_up(&f, RS_TRACE_SERIES_POINTS);
	for (guint i = 0, ns = 0; i < 100000; i++)
		rs_trace_series_append(f.series, ns += (guint)g_test_rand_int_range(100, 4000),
				       i % 20);
	g_assert_cmpuint(rs_trace_series_size(f.series), <, 300000);
	tear_down(&f);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/series/points/columns", GINT_TO_POINTER(RS_TRACE_SERIES_POINTS),
			     test_columns);
	g_test_add_data_func("/series/spans/columns", GINT_TO_POINTER(RS_TRACE_SERIES_SPANS),
			     test_columns);
	g_test_add_data_func("/series/points/items", GINT_TO_POINTER(RS_TRACE_SERIES_POINTS),
			     test_items);
	g_test_add_data_func("/series/spans/items", GINT_TO_POINTER(RS_TRACE_SERIES_SPANS),
			     test_items);
	g_test_add_func("/series/find", test_find);
	g_test_add_func("/series/extremes", test_extremes);
	g_test_add_func("/series/size", test_size);
	return g_test_run();
}
