/* SPDX-License-Identifier: MIT */
#include "timeline/rs-trace-raster.h"

#define WIDTH 97u

/* A stretch that is random in its size, and so are its place and what lies in it. */
static void choose(GRand *rand, guint64 *from, guint64 *until)
{
	const guint bits = (guint)g_rand_int_range(rand, 0, 50);

	*from = (guint64)g_rand_int(rand) << g_rand_int_range(rand, 0, 30);
	*until = *from + 1 + (((guint64)g_rand_int(rand) << 20) & ((1ull << bits) - 1));
}

/* Each moment lies in one column, whose pixels are those of the moment. */
static void test_edges(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(7);
	guint64 edges[WIDTH + 1];

	for (guint round = 0; round < 2000; round++) {
		guint64 from, until;
		guint n;

		choose(rand, &from, &until);
		n = rs_trace_raster_edges(from, until, WIDTH, edges);
		g_assert_cmpuint(n, ==, MIN(WIDTH, until - from));
		g_assert_cmpuint(edges[0], ==, from);
		g_assert_cmpuint(edges[n], ==, until);
		for (guint i = 0; i < n; i++) {
			g_assert_cmpuint(edges[i], <, edges[i + 1]);
			/* The first pixel of a column is of a moment in it. */
			const guint x = (i * WIDTH + n - 1) / n;
			const guint64 ns = rs_trace_raster_time(from, until, WIDTH, x);

			g_assert_cmpuint(ns, >=, edges[i]);
			g_assert_cmpuint(ns, <, edges[i + 1]);
		}
	}
	g_assert_cmpuint(rs_trace_raster_edges(5, 5, WIDTH, edges), ==, 1);
	g_assert_cmpuint(rs_trace_raster_edges(G_MAXUINT64, 0, 0, edges), ==, 1);
	g_assert_cmpfloat(rs_trace_raster_place(100, 200, 50, 150), ==, 25);
	g_assert_cmpfloat(rs_trace_raster_place(100, 200, 50, 0), ==, -50);
	g_assert_cmpuint(rs_trace_raster_time(100, 200, 50, -3), ==, 100);
	g_assert_cmpuint(rs_trace_raster_time(100, 200, 50, 51), ==, 200);
}

static guint alpha(guint32 pixel)
{
	return pixel >> 24;
}

/* A pixel has a colour just if something is there: its mean. It is denser for more. */
static void test_points(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(8);

	for (guint round = 0; round < 2000; round++) {
		const guint n = (guint)g_rand_int_range(rand, 1, WIDTH + 1);
		RsTraceShade shades[WIDTH] = {};
		guint32 pixels[WIDTH];

		for (guint i = 0; i < n; i++) {
			if (g_rand_boolean(rand))
				continue;
			shades[i].weight = 1 + g_rand_int_range(rand, 0, 1000);
			shades[i].red = shades[i].weight * 255;
			shades[i].green = shades[i].weight * 100;
		}
		rs_trace_raster_points(shades, n, 500, pixels, WIDTH);
		for (guint x = 0; x < WIDTH; x++) {
			guint at = 0;

			while ((guint64)(at + 1) * WIDTH / n <= x)
				at++;
			if (shades[at].weight == 0) {
				g_assert_cmpuint(pixels[x], ==, 0);
				continue;
			}
			g_assert_cmpuint(alpha(pixels[x]), >=, 110);
			g_assert_cmpuint((pixels[x] >> 16) & 0xff, ==, alpha(pixels[x]));
			g_assert_cmpuint((pixels[x] >> 8) & 0xff, ==,
					 (100 * alpha(pixels[x]) + 127) / 255);
			g_assert_cmpuint(pixels[x] & 0xff, ==, 0);
			if (shades[at].weight >= 500)
				g_assert_cmpuint(alpha(pixels[x]), ==, 255);
		}
	}
}

/* Sums that no series has do no harm. */
static void test_wild(void)
{
	const RsTraceShade wild[2] = {{1, G_MAXUINT64, G_MAXUINT64, 0},
				      {G_MAXUINT64, G_MAXUINT64, 0, 0}};
	const guint64 edges[3] = {4, 4, 3};
	guint32 pixels[2];

	rs_trace_raster_points(wild, 2, -1, pixels, 2);
	g_assert_cmpuint((pixels[0] >> 16) & 0xff, ==, alpha(pixels[0]));
	rs_trace_raster_spans(wild, edges, 2, pixels, 2);
	g_assert_cmpuint(alpha(pixels[1]), >, 0);
}

static void test_spans(void)
{
	const guint64 edges[4] = {0, 100, 200, 300};
	const RsTraceShade shades[3] = {{100, 10000, 0, 0}, {1, 100, 0, 0}, {0, 0, 0, 0}};
	guint32 pixels[6];

	rs_trace_raster_spans(shades, edges, 3, pixels, 6);
	g_assert_cmphex(pixels[0], ==, 0xff640000);
	g_assert_cmphex(pixels[1], ==, 0xff640000);
	g_assert_cmpuint(alpha(pixels[2]), >, 70);
	g_assert_cmpuint(alpha(pixels[2]), <, 90);
	g_assert_cmpuint(pixels[4], ==, 0);
}

/* Against a look at every loss for every column. */
static void test_losses(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(9);
	guint any = 0;

	for (guint round = 0; round < 2000; round++) {
		RsTraceTimelineLoss losses[300];
		const guint n_losses = (guint)g_rand_int_range(rand, 0, 300);
		guint64 edges[WIDTH + 1], from, until, ns = 0;
		guint8 marks[WIDTH] = {}, wanted[WIDTH] = {};
		guint n;

		for (guint i = 0; i < n_losses; i++) {
			losses[i].since = ns + g_rand_int_range(rand, 0, 50);
			losses[i].ns = losses[i].since + g_rand_int_range(rand, 0, 3) * round;
			ns = losses[i].ns;
		}
		from = g_rand_int_range(rand, 0, (gint)MIN(ns + 100, G_MAXINT32));
		until = from + g_rand_int_range(rand, 1, (gint)MIN(2 * ns + 100, G_MAXINT32));
		n = rs_trace_raster_edges(from, until, WIDTH, edges);
		for (guint i = 0; i < n; i++)
			for (guint k = 0; k < n_losses; k++)
				if (losses[k].ns >= edges[i] && losses[k].since < edges[i + 1])
					wanted[i] = TRUE, any++;
		rs_trace_raster_losses(losses, n_losses, edges, n, marks);
		g_assert_cmpmem(marks, n, wanted, n);
	}
	g_assert_cmpuint(any, >, 1000);
}

/* Two pixels wide, also at the right end. */
static void test_marks(void)
{
	const guint8 marks[8] = {0, 1, 0, 0, 0, 0, 0, 1};
	const guint32 wanted[8] = {0, 5, 5, 0, 0, 0, 5, 5},
		      stretched[12] = {[8] = 5, [9] = 5, [10] = 5, [11] = 5};
	guint32 pixels[12];

	rs_trace_raster_marks(marks, 8, 5, pixels, 8);
	g_assert_cmpmem(pixels, sizeof(wanted), wanted, sizeof(wanted));
	rs_trace_raster_marks(marks + 5, 3, 5, pixels, 12);
	g_assert_cmpmem(pixels, sizeof(stretched), stretched, sizeof(stretched));
}

static void test_bars(void)
{
	const guint64 values[4] = {0, 1, 500, G_MAXUINT64};
	guint32 pixels[4 * 10];
	guint heights[4] = {};

	rs_trace_raster_bars(values, 4, 1000, 1, pixels, 4, 10);
	for (guint y = 0; y < 10; y++)
		for (guint x = 0; x < 4; x++)
			heights[x] += pixels[y * 4 + x];
	g_assert_cmpuint(heights[0], ==, 0);
	g_assert_cmpuint(heights[1], ==, 1);
	g_assert_cmpuint(heights[2], ==, 5);
	g_assert_cmpuint(heights[3], ==, 10);
	g_assert_cmpuint(pixels[9 * 4 + 1], ==, 1); /* from below */
}

/* A series and its pixels agree with what was put in, at any zoom. */
static void test_series(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(10);
	RsTracePalette palette = {g_array_new(FALSE, FALSE, sizeof(guint32))};
	const guint32 colours[2] = {0xff0000, 0x0000ff};
	g_autoptr(RsTraceSeries) series = NULL;
	static guint64 times[5000];
	guint64 ns = 0;

	g_array_append_vals(palette.colours, colours, 2);
	series = rs_trace_series_new(RS_TRACE_SERIES_POINTS, &palette);
	for (guint i = 0; i < G_N_ELEMENTS(times); i++) {
		ns += g_rand_int_range(rand, 0, i % 100 == 0 ? 1000000 : 30);
		times[i] = rs_trace_series_append(series, ns, i % 2);
	}
	for (guint round = 0; round < 300; round++) {
		const guint64 from = g_rand_int_range(rand, 0, (gint)ns);
		const guint64 until = from + 1 + (ns >> g_rand_int_range(rand, 0, 25));
		guint64 edges[WIDTH + 1];
		RsTraceShade shades[WIDTH];
		guint32 pixels[WIDTH];
		const guint n = rs_trace_raster_edges(from, until, WIDTH, edges);

		rs_trace_series_columns(series, edges, n, ns, shades);
		rs_trace_raster_points(shades, n, 100, pixels, WIDTH);
		for (guint i = 0; i < n; i++) {
			guint count = 0, blue = 0;

			for (guint k = 0; k < G_N_ELEMENTS(times); k++) {
				if (times[k] < edges[i] || times[k] >= edges[i + 1])
					continue;
				count++;
				blue += k % 2;
			}
			const guint32 pixel = pixels[(guint64)i * WIDTH / n];
			g_assert_cmpuint(shades[i].weight, ==, count);
			g_assert_cmpuint(pixel != 0, ==, count > 0);
			g_assert_cmpuint((pixel & 0xff) != 0, ==, blue > 0);
			g_assert_cmpuint(((pixel >> 16) & 0xff) != 0, ==, count > blue);
		}
	}
	g_array_unref(palette.colours);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/raster/edges", test_edges);
	g_test_add_func("/raster/points", test_points);
	g_test_add_func("/raster/wild", test_wild);
	g_test_add_func("/raster/spans", test_spans);
	g_test_add_func("/raster/losses", test_losses);
	g_test_add_func("/raster/marks", test_marks);
	g_test_add_func("/raster/bars", test_bars);
	g_test_add_func("/raster/series", test_series);
	return g_test_run();
}
