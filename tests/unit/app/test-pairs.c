/* SPDX-License-Identifier: MIT */
#include "../timeline/records.h"
#include "app/rs-viewer-pairs.h"

static void step_all(RsViewerPairs *pairs, Guest *guest, gboolean complete)
{
	guint n;

	guest_flush(guest);
	rs_trace_timeline_lock(guest->timeline);
	do
		n = rs_viewer_pairs_step(pairs, 3, complete);
	while (n > 0);
	rs_trace_timeline_unlock(guest->timeline);
}

static void check(const RsViewerPairs *pairs, guint row, const char *wanted)
{
	g_autofree char *got = series_text(rs_viewer_pairs_row(pairs, row));

	g_assert_cmpstr(got, ==, wanted);
}

/* Slices of one task are nested; what others do at once lies below. */
static void test_rows(void)
{
	g_autoptr(RsViewerPairs) pairs = NULL;
	Guest guest;

	guest_init(&guest);
	pairs = rs_viewer_pairs_new(guest.timeline, "test:a .. b");
	guest_event(&guest, 0, 0, 10, 1, 0);
	guest_event(&guest, 0, 0, 20, 1, 0); /* in it */
	guest_event(&guest, 0, 1, 25, 2, 0); /* another task */
	guest_event(&guest, 0, 0, 30, 1, 1); /* of the inner one */
	guest_event(&guest, 0, 0, 35, 1, 2); /* neither */
	guest_event(&guest, 0, 1, 40, 2, 1);
	guest_event(&guest, 0, 1, 41, 1, 1); /* on another vCPU: of the outer one */
	guest_event(&guest, 0, 1, 50, 1, 1); /* without a begin */
	guest_event(&guest, 0, 0, 60, 2, 0);
	guest_event(&guest, 0, 0, 60, 2, 1); /* takes no time */
	guest_event(&guest, 0, 0, 70, 2, 2);
	step_all(pairs, &guest, TRUE);
	g_assert_cmpuint(rs_viewer_pairs_n_rows(pairs), ==, 3);
	check(pairs, 0, "10:2 41:0 60:1 61:0 ");
	check(pairs, 1, "20:4 30:0 ");
	check(pairs, 2, "25:6 40:0 ");
	g_assert_cmpuint(rs_viewer_pairs_count(pairs), ==, 4);
	g_assert_cmpuint(rs_viewer_pairs_unmatched(pairs), ==, 1);
	guest_clear(&guest);
}

/* It goes on where it was, and leaves the last time until nothing more can be of it. */
static void test_growing(void)
{
	g_autoptr(RsViewerPairs) pairs = NULL;
	Guest guest;

	guest_init(&guest);
	pairs = rs_viewer_pairs_new(guest.timeline, "a..b");
	guest_event(&guest, 0, 0, 10, 1, 0);
	guest_event(&guest, 0, 0, 20, 1, 1);
	step_all(pairs, &guest, FALSE);
	g_assert_cmpuint(rs_viewer_pairs_count(pairs), ==, 1);
	check(pairs, 0, "10:2 ");
	guest_event(&guest, 0, 0, 30, 1, 0);
	step_all(pairs, &guest, FALSE);
	check(pairs, 0, "10:2 20:0 ");
	step_all(pairs, &guest, TRUE);
	check(pairs, 0, "10:2 20:0 30:1 ");
	guest_clear(&guest);
}

/* Calls in calls have a row each, and what lies somewhere is told. */
static void test_deep(void)
{
	g_autoptr(RsViewerPairs) pairs = NULL;
	RsViewerSlice slice;
	Guest guest;

	guest_init(&guest);
	pairs = rs_viewer_pairs_new(guest.timeline, "a..b");
	for (guint i = 0; i < RS_VIEWER_PAIR_ROWS + 6; i++)
		guest_event(&guest, 0, 0, 100 + i, 1, 0);
	for (guint i = 0; i < RS_VIEWER_PAIR_ROWS + 5; i++)
		guest_event(&guest, 0, 0, 1000 + i, 1, 1);
	step_all(pairs, &guest, TRUE);
	g_assert_cmpuint(rs_viewer_pairs_n_rows(pairs), ==, RS_VIEWER_PAIR_ROWS);
	g_assert_cmpuint(rs_viewer_pairs_shared(pairs), ==, 6);
	for (guint row = 1; row < RS_VIEWER_PAIR_ROWS - 1; row++) {
		g_assert_false(rs_viewer_pairs_at(pairs, row, 99 + row, &slice));
		g_assert_true(rs_viewer_pairs_at(pairs, row, 500, &slice));
		g_assert_cmpuint(slice.from, ==, 100 + row);
		g_assert_cmpuint(slice.until, ==, 1000 + RS_VIEWER_PAIR_ROWS + 5 - row);
		g_assert_cmpstr(slice.begin->name, ==, "a");
		g_assert_false(rs_viewer_pairs_at(pairs, row, slice.until, &slice));
	}
	/* the outermost one lasts; the last row has all that is deeper */
	g_assert_true(rs_viewer_pairs_at(pairs, 0, G_MAXUINT64, &slice));
	g_assert_cmpuint(slice.until, ==, G_MAXUINT64);
	g_assert_true(rs_viewer_pairs_at(pairs, RS_VIEWER_PAIR_ROWS - 1, 1005, &slice));
	g_assert_false(rs_viewer_pairs_at(pairs, RS_VIEWER_PAIR_ROWS - 1, 1006, &slice));
	g_assert_false(rs_viewer_pairs_at(pairs, RS_VIEWER_PAIR_ROWS, 500, &slice));
	guest_clear(&guest);
}

/* What is open at once is bounded, and what is too deep shares a row. */
static void test_many(void)
{
	g_autoptr(RsViewerPairs) pairs = NULL;
	Guest guest;

	guest_init(&guest);
	pairs = rs_viewer_pairs_new(guest.timeline, "a..b");
	for (guint i = 0; i < RS_VIEWER_PAIR_OPEN + 1000; i++)
		guest_event(&guest, 0, i % 3, i, i % 5, 0);
	step_all(pairs, &guest, TRUE);
	g_assert_cmpuint(rs_viewer_pairs_count(pairs), ==, RS_VIEWER_PAIR_OPEN);
	g_assert_cmpuint(rs_viewer_pairs_n_rows(pairs), ==, RS_VIEWER_PAIR_ROWS);
	guest_clear(&guest);
}

static void test_texts(void)
{
	static const char *const bad[] = {"", "a", "..", "a..", "..b", " .. ", "a.b"};
	RsTraceTimeline *timeline = rs_trace_timeline_new();

	for (guint i = 0; i < G_N_ELEMENTS(bad); i++)
		g_assert_null(rs_viewer_pairs_new(timeline, bad[i]));
	rs_trace_timeline_unref(timeline);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/pairs/rows", test_rows);
	g_test_add_func("/pairs/growing", test_growing);
	g_test_add_func("/pairs/deep", test_deep);
	g_test_add_func("/pairs/many", test_many);
	g_test_add_func("/pairs/texts", test_texts);
	return g_test_run();
}
