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

/* However deep one task goes: what has a row ends when it did, and others are not touched. */
static void test_many(void)
{
	static const guint n = 200000;
	g_autoptr(RsViewerPairs) pairs = NULL;
	RsViewerSlice slice;
	Guest guest;

	guest_init(&guest);
	pairs = rs_viewer_pairs_new(guest.timeline, "a..b");
	guest_event(&guest, 0, 1, 50, 2, 0);
	for (guint i = 0; i < n; i++)
		guest_event(&guest, 0, 0, 100 + i, 1, 0);
	guest_event(&guest, 0, 1, 100 + n, 2, 1);
	for (guint i = 0; i < n; i++)
		guest_event(&guest, 0, 0, 1000000 + i, 1, 1);
	step_all(pairs, &guest, TRUE);
	g_assert_cmpuint(rs_viewer_pairs_count(pairs), ==, n + 1);
	g_assert_cmpuint(rs_viewer_pairs_n_rows(pairs), ==, RS_VIEWER_PAIR_ROWS);
	g_assert_cmpuint(rs_viewer_pairs_shared(pairs), ==, n + 1 - RS_VIEWER_PAIR_ROWS);
	g_assert_cmpuint(rs_viewer_pairs_unmatched(pairs) + rs_viewer_pairs_given_up(pairs), ==, 0);
	g_assert_true(rs_viewer_pairs_at(pairs, 0, 60, &slice));
	g_assert_cmpuint(slice.until, ==, 100 + n);
	/* the first row is the other task's by then */
	for (guint row = 1; row < RS_VIEWER_PAIR_ROWS - 1; row++) {
		g_assert_true(rs_viewer_pairs_at(pairs, row, 900000, &slice));
		g_assert_cmpuint(slice.from, ==, 99 + row);
		g_assert_cmpuint(slice.until, ==, 1000000 + n - row);
		g_assert_false(slice.is_given_up);
	}
	guest_clear(&guest);
}

/* Ends are missing without a word: once too many are open, it begins anew. */
static void test_missing(void)
{
	static const guint n = 50000, every = 50;
	g_autoptr(RsViewerPairs) pairs = NULL;
	RsViewerSlice slice;
	guint right = 0;
	Guest guest;

	guest_init(&guest);
	pairs = rs_viewer_pairs_new(guest.timeline, "a..b");
	for (guint i = 0; i < n; i++) {
		guest_event(&guest, 0, 0, 100 + 20 * i, 1, 0);
		if (i % every != every - 1)
			guest_event(&guest, 0, 0, 110 + 20 * i, 1, 1);
	}
	step_all(pairs, &guest, TRUE);
	g_assert_cmpuint(rs_viewer_pairs_unmatched(pairs), ==, 0);
	/* Each end that is missing is counted, but for those of the last period. */
	g_assert_cmpuint(rs_viewer_pairs_given_up(pairs), <=, n / every);
	g_assert_cmpuint(rs_viewer_pairs_given_up(pairs) + 2 * RS_VIEWER_PAIR_ROWS, >=, n / every);
	g_assert_true(rs_viewer_pairs_at(pairs, 0, 100 + 20 * (every - 1), &slice));
	g_assert_true(slice.is_given_up);
	/* Until the rows are full, and then the turns. */
	g_assert_cmpuint(slice.until, <,
			 100 + 20 * (RS_VIEWER_PAIR_ROWS * every + 2 * RS_VIEWER_PAIR_TURNS));
	/* Every other slice is drawn as it was, but for those beyond the last row. */
	for (guint i = 0; i < n; i += 7)
		for (guint row = 0; row < RS_VIEWER_PAIR_ROWS; row++)
			right += rs_viewer_pairs_at(pairs, row, 100 + 20 * i, &slice) &&
				 slice.from == 100 + 20 * i && slice.until == slice.from + 10;
	g_assert_cmpuint(right, >, n / 7 / 100 * 94);
	guest_clear(&guest);
}

/* A gap of a source breaks what that source began, no more. */
static void test_gaps(void)
{
	g_autoptr(RsViewerPairs) pairs = NULL;
	RsViewerSlice slice;
	Guest guest;

	guest_init(&guest);
	pairs = rs_viewer_pairs_new(guest.timeline, "a..b");
	guest_event(&guest, 0, 0, 10, 1, 0);
	guest_event(&guest, 1, 0, 20, 2, 0);
	guest_event(&guest, 0, 0, 30, 1, 0);
	guest_loss(&guest, 1, 40, 7); /* of another ring: the task may have been there */
	guest_event(&guest, 0, 0, 50, 1, 1);
	guest_event(&guest, 0, 0, 60, 1, 0);
	guest_event(&guest, 0, 0, 70, 1, 1);
	guest_event(&guest, 1, 0, 80, 2, 1);
	guest_event(&guest, 0, 0, 90, 1, 0);
	guest_boot(&guest, 0, 90, 2);
	guest_event(&guest, 0, 0, 91, 1, 0);
	step_all(pairs, &guest, TRUE);
	check(pairs, 0, "10:2 40:16 60:1 70:0 90:2 91:17 ");
	check(pairs, 1, "20:4 80:0 ");
	check(pairs, 2, "30:6 40:16 ");
	g_assert_cmpuint(rs_viewer_pairs_given_up(pairs), ==, 3);
	g_assert_cmpuint(rs_viewer_pairs_unmatched(pairs), ==, 1);
	g_assert_true(rs_viewer_pairs_at(pairs, 0, 39, &slice));
	g_assert_true(slice.is_given_up && slice.until == 40);
	g_assert_false(rs_viewer_pairs_at(pairs, 0, 40, &slice));
	g_assert_true(rs_viewer_pairs_at(pairs, 0, 60, &slice));
	g_assert_false(slice.is_given_up);
	g_assert_true(rs_viewer_pairs_at(pairs, 0, 90, &slice));
	g_assert_true(slice.is_given_up && slice.until == 91);
	guest_clear(&guest);
}

/* ---- against another way to do the same ---- */

#define SLICES 2000u

typedef struct {
	guint task, source, row; /* row G_MAXUINT: it is only counted */
	guint64 from, until;     /* until G_MAXUINT64: it is open */
	gboolean is_given_up;
} Known;

typedef struct {
	Known slices[SLICES];
	guint n, unmatched, given_up, shared;
} Plain;

static guint plain_depth(const Plain *plain, guint task)
{
	guint depth = 0;

	for (guint i = 0; i < plain->n; i++)
		depth += plain->slices[i].task == task && plain->slices[i].until == G_MAXUINT64;
	return depth;
}

static gboolean plain_is_free(const Plain *plain, guint row)
{
	for (guint i = 0; i < plain->n; i++)
		if (plain->slices[i].row == row && plain->slices[i].until == G_MAXUINT64)
			return FALSE;
	return TRUE;
}

static void plain_begin(Plain *plain, guint task, guint source, guint64 ns)
{
	Known slice = {task, source, 0, ns, G_MAXUINT64, FALSE};

	if (plain_depth(plain, task) >= RS_VIEWER_PAIR_ROWS) {
		slice.row = G_MAXUINT;
		plain->shared++;
	} else {
		for (guint i = 0; i < plain->n; i++)
			if (plain->slices[i].task == task && plain->slices[i].until == G_MAXUINT64)
				slice.row = MAX(slice.row, plain->slices[i].row + 1);
		while (slice.row < RS_VIEWER_PAIR_ROWS - 1 && !plain_is_free(plain, slice.row))
			slice.row++;
		slice.row = MIN(slice.row, RS_VIEWER_PAIR_ROWS - 1);
		plain->shared += !plain_is_free(plain, slice.row);
	}
	plain->slices[plain->n++] = slice;
}

static void plain_end(Plain *plain, guint task, guint64 ns)
{
	for (guint i = plain->n; i-- > 0;)
		if (plain->slices[i].task == task && plain->slices[i].until == G_MAXUINT64) {
			plain->slices[i].until = ns;
			return;
		}
	plain->unmatched++;
}

static void plain_gap(Plain *plain, guint source, guint64 ns)
{
	gboolean is_broken[8] = {FALSE};

	for (guint i = 0; i < plain->n; i++) {
		const Known *slice = &plain->slices[i];

		if (slice->until == G_MAXUINT64 && slice->row != G_MAXUINT &&
		    slice->source == source)
			is_broken[slice->task] = TRUE;
	}
	for (guint i = 0; i < plain->n; i++) {
		Known *slice = &plain->slices[i];

		if (slice->until != G_MAXUINT64 || !is_broken[slice->task])
			continue;
		slice->until = ns;
		slice->is_given_up = TRUE;
		plain->given_up++;
	}
}

static void compare(RsViewerPairs *pairs, const Plain *plain)
{
	RsViewerSlice slice;

	g_assert_cmpuint(rs_viewer_pairs_count(pairs), ==, plain->n);
	g_assert_cmpuint(rs_viewer_pairs_unmatched(pairs), ==, plain->unmatched);
	g_assert_cmpuint(rs_viewer_pairs_given_up(pairs), ==, plain->given_up);
	g_assert_cmpuint(rs_viewer_pairs_shared(pairs), ==, plain->shared);
	for (guint i = 0; i < plain->n; i++) {
		const Known *known = &plain->slices[i];

		if (known->row == G_MAXUINT)
			continue;
		g_assert_true(rs_viewer_pairs_at(pairs, known->row, known->from, &slice));
		if (known->row == RS_VIEWER_PAIR_ROWS - 1) /* others may begin in it */
			continue;
		g_assert_cmpuint(slice.from, ==, known->from);
		g_assert_cmpuint(slice.until, ==, known->until);
		g_assert_cmpint(slice.is_given_up, ==, known->is_given_up);
	}
}

static void run_random(guint n, guint depth)
{
	g_autofree Plain *plain = g_new0(Plain, 1);
	g_autoptr(RsViewerPairs) pairs = NULL;
	gboolean falls[8] = {FALSE};
	Guest guest;

	guest_init(&guest);
	pairs = rs_viewer_pairs_new(guest.timeline, "a..b");
	for (guint i = 0; i < n; i++) {
		const guint task = (guint)g_test_rand_int_range(1, 8);
		const guint source = task % 2, ring = (guint)g_test_rand_int_range(0, 3);
		const guint64 ns = 100 + 10 * i;
		const gint what = g_test_rand_int_range(0, 400);

		/* Each goes down and up again, and a few ends are missing. */
		if (plain_depth(plain, task) == 0)
			falls[task] = FALSE;
		else if (plain_depth(plain, task) >= depth)
			falls[task] = TRUE;
		if (what == 0) {
			guest_loss(&guest, ring, ns, 3);
			plain_gap(plain, 0, ns);
		} else if (what == 1) {
			guest_boot(&guest, ring, ns, 1);
			plain_gap(plain, 0, ns);
		} else if (what < 6) {
			continue;
		} else if (falls[task] || what < 10) {
			guest_event(&guest, source, ring, ns, task, 1);
			plain_end(plain, task, ns);
		} else {
			guest_event(&guest, source, ring, ns, task, 0);
			plain_begin(plain, task, source, ns);
		}
	}
	step_all(pairs, &guest, TRUE);
	compare(pairs, plain);
	guest_clear(&guest);
}

static void test_random(void)
{
	for (guint i = 0; i < 8; i++) {
		run_random(SLICES, 4);
		run_random(SLICES, 100);
	}
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
	g_test_add_func("/pairs/missing", test_missing);
	g_test_add_func("/pairs/gaps", test_gaps);
	g_test_add_func("/pairs/random", test_random);
	g_test_add_func("/pairs/texts", test_texts);
	return g_test_run();
}
