/* SPDX-License-Identifier: MIT */
/* A record is found in a timeline in which rings and classes have other numbers. */
#include "../timeline/records.h"
#include "app/rs-viewer-mark.h"

static void fill(Guest *g, gboolean filtered)
{
	guest_init(g);
	if (!filtered) {
		guest_event(g, 0, 0, 10, 1, 0);
		guest_event(g, 0, 0, 100, 1, 1);
	}
	guest_event(g, 0, 3, 100, 2, 2);
	guest_event(g, 0, 2, 100, 3, 2);
	guest_event(g, 0, 2, 100, 3, 3);
	guest_flush(g);
}

static void check(const Guest *from, guint64 row, const Guest *in, guint64 expected)
{
	RsViewerMark mark = {0};
	RsTraceTimelineRow at;

	g_assert_cmpuint(rs_trace_timeline_rows(from->timeline, row, 1, &at), ==, 1);
	rs_viewer_mark_set(&mark, from->timeline, &at);
	g_assert_cmpuint(rs_viewer_mark_find(&mark, in->timeline), ==, expected);
	rs_viewer_mark_clear(&mark);
	g_assert_cmpuint(rs_viewer_mark_find(&mark, in->timeline), ==, G_MAXUINT64);
}

static void test_mark(void)
{
	Guest all, some;

	fill(&all, FALSE);
	fill(&some, TRUE);
	check(&all, 0, &some, G_MAXUINT64);
	check(&all, 1, &some, G_MAXUINT64); /* another CPU's of that time are no substitute */
	check(&all, 2, &some, 0);
	check(&all, 3, &some, 1);
	check(&all, 4, &some, 2);
	check(&some, 0, &all, 2);
	check(&some, 2, &all, 4);
	guest_clear(&all);
	guest_clear(&some);
}

/* Of records that nothing else tells apart each is found. */
static void test_same(void)
{
	Guest all, some;

	guest_init(&all);
	guest_init(&some);
	for (guint i = 0; i < 3; i++) {
		guest_event(&all, 0, 0, 100, 1, 0);
		guest_event(&all, 0, 0, 100, 1, 1);
		guest_event(&some, 0, 0, 100, 1, 1);
	}
	guest_flush(&all);
	guest_flush(&some);
	for (guint64 i = 0; i < 3; i++) {
		check(&some, i, &all, 2 * i + 1);
		check(&all, 2 * i + 1, &some, i);
	}
	guest_clear(&all);
	guest_clear(&some);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/mark/other-timeline", test_mark);
	g_test_add_func("/mark/same", test_same);
	return g_test_run();
}
