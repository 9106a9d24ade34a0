/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-scroll.h"

#define PAGE 600u
#define HEIGHT 24u

static RsViewerScroll make(guint64 rows)
{
	return (RsViewerScroll){.rows = rows, .height = HEIGHT, .page = PAGE};
}

/* Pixels from the top of the list; of lists that are not squeezed. */
static gint64 place(const RsViewerScroll *scroll)
{
	return (gint64)scroll->top * HEIGHT + (gint64)scroll->offset;
}

static void test_short(void)
{
	RsViewerScroll scroll = make(3);

	g_assert_cmpfloat(rs_viewer_scroll_upper(&scroll), ==, PAGE);
	rs_viewer_scroll_set_value(&scroll, 100);
	g_assert_cmpint(place(&scroll), ==, 0);
	rs_viewer_scroll_by(&scroll, 1000);
	g_assert_cmpint(place(&scroll), ==, 0);
	rs_viewer_scroll_to_end(&scroll);
	g_assert_cmpint(place(&scroll), ==, 0);
	g_assert_true(rs_viewer_scroll_is_at_end(&scroll));
	g_assert_cmpuint(rs_viewer_scroll_in_view(&scroll), ==, 3);
	scroll.rows = 0;
	rs_viewer_scroll_fix(&scroll);
	rs_viewer_scroll_by(&scroll, -5);
	rs_viewer_scroll_show(&scroll, 0);
	g_assert_cmpuint(rs_viewer_scroll_in_view(&scroll), ==, 0);
}

/* Whatever is done, what comes out is where plain arithmetic has it. */
static void test_exact(void)
{
	const gint64 last = 1000000 * (gint64)HEIGHT - PAGE;
	RsViewerScroll scroll = make(1000000);
	gint64 want = 0;

	g_assert_cmpfloat(rs_viewer_scroll_upper(&scroll), ==, 1000000.0 * HEIGHT);
	for (guint i = 0; i < 100000; i++) {
		gint64 by = g_test_rand_int_range(-3000, 3000);

		if (g_test_rand_int_range(0, 10)) {
			want = CLAMP(want + by, 0, last);
			rs_viewer_scroll_by(&scroll, (double)by);
		} else {
			want = g_test_rand_int_range(0, (gint32)last + 1);
			rs_viewer_scroll_set_value(&scroll, (double)want);
		}
		g_assert_cmpint(place(&scroll), ==, want);
		g_assert_cmpfloat(rs_viewer_scroll_value(&scroll), ==, (double)want);
		g_assert_cmpint(rs_viewer_scroll_is_at_end(&scroll), ==, want == last);
		g_assert_cmpuint(scroll.top + rs_viewer_scroll_in_view(&scroll), >=,
				 MIN((guint64)(want + PAGE + HEIGHT - 1) / HEIGHT, scroll.rows));
	}
}

static gboolean is_in_view(const RsViewerScroll *scroll, guint64 row)
{
	gint64 y = (gint64)row * HEIGHT;

	return y >= place(scroll) && y + HEIGHT <= place(scroll) + PAGE;
}

static void test_show(void)
{
	RsViewerScroll scroll = make(10000);

	for (guint i = 0; i < 100000; i++) {
		guint64 row = (guint64)g_test_rand_int_range(0, 10000);
		gint64 before = place(&scroll);
		gboolean was_in_view = is_in_view(&scroll, row);

		rs_viewer_scroll_show(&scroll, row);
		g_assert_true(is_in_view(&scroll, row));
		if (was_in_view)
			g_assert_cmpint(place(&scroll), ==, before);
		rs_viewer_scroll_by(&scroll, g_test_rand_int_range(-700, 700));
	}
	/* a step past the edge moves by no more than it must */
	rs_viewer_scroll_to(&scroll, 100);
	rs_viewer_scroll_show(&scroll, 125);
	g_assert_cmpint(place(&scroll), ==, 126 * HEIGHT - PAGE);
	rs_viewer_scroll_show(&scroll, 100);
	g_assert_cmpint(place(&scroll), ==, 100 * HEIGHT);
}

/* What is longer than a double can tell is reached all the same: each row, by steps. */
static void test_squeezed(void)
{
	RsViewerScroll scroll = make(G_GUINT64_CONSTANT(1) << 62);
	double last = rs_viewer_scroll_upper(&scroll) - PAGE;

	rs_viewer_scroll_set_value(&scroll, last);
	g_assert_true(rs_viewer_scroll_is_at_end(&scroll));
	g_assert_cmpuint(scroll.top, ==, scroll.rows - PAGE / HEIGHT);
	g_assert_cmpfloat(rs_viewer_scroll_value(&scroll), ==, last);
	rs_viewer_scroll_set_value(&scroll, last / 2);
	g_assert_cmpuint(scroll.top, >, scroll.rows / 2 - scroll.rows / 1000000);
	g_assert_cmpuint(scroll.top, <, scroll.rows / 2 + scroll.rows / 1000000);
	for (guint i = 0; i < 1000; i++) {
		guint64 top = scroll.top;

		rs_viewer_scroll_set_value(&scroll, rs_viewer_scroll_value(&scroll) + HEIGHT);
		g_assert_cmpuint(scroll.top, ==, top + 1);
	}
	rs_viewer_scroll_set_value(&scroll, 0);
	g_assert_cmpuint(scroll.top, ==, 0);
	rs_viewer_scroll_show(&scroll, scroll.rows - 1);
	g_assert_true(rs_viewer_scroll_is_at_end(&scroll));
}

static void test_fix(void)
{
	RsViewerScroll scroll = make(1000);

	rs_viewer_scroll_to_end(&scroll);
	scroll.rows = 500; /* a filter */
	rs_viewer_scroll_fix(&scroll);
	g_assert_true(rs_viewer_scroll_is_at_end(&scroll));
	g_assert_cmpint(place(&scroll), ==, 500 * HEIGHT - PAGE);
	scroll.rows = 600; /* it grows: what is in view stays */
	rs_viewer_scroll_fix(&scroll);
	g_assert_false(rs_viewer_scroll_is_at_end(&scroll));
	g_assert_cmpint(place(&scroll), ==, 500 * HEIGHT - PAGE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/scroll/short", test_short);
	g_test_add_func("/scroll/exact", test_exact);
	g_test_add_func("/scroll/show", test_show);
	g_test_add_func("/scroll/squeezed", test_squeezed);
	g_test_add_func("/scroll/fix", test_fix);
	return g_test_run();
}
