/* SPDX-License-Identifier: MIT */
/* Ranges, markers, and what follows what, of a view of a document that grows. */
#include "app/rs-viewer-view.h"
#include "document.h"

#define ASSERT_RANGE(view, a, b)                                                                   \
	do {                                                                                       \
		guint64 from_, until_;                                                             \
		rs_viewer_view_range(view, &from_, &until_);                                       \
		g_assert_cmpuint(from_, ==, a);                                                    \
		g_assert_cmpuint(until_, ==, b);                                                   \
	} while (0)

static void whole(RsTraceDocument *document, guint64 *first, guint64 *end)
{
	RsTraceTimeline *timeline = rs_trace_document_all(document);

	rs_trace_timeline_lock(timeline);
	rs_trace_timeline_span(timeline, first, end);
	rs_trace_timeline_unlock(timeline);
}

static void grow(RsTraceDocument *document)
{
	test_document_fill(document, 300);
	g_signal_emit_by_name(document, "grown");
}

static void count(guint *n)
{
	++*n;
}

/* Until the user chooses a range, it is the whole trace. */
static void test_whole(void)
{
	g_autoptr(RsTraceDocument) document = test_document_new();
	g_autoptr(RsViewerView) view = rs_viewer_view_new(document);
	guint64 first, end;
	guint changes = 0;

	g_signal_connect_swapped(view, "range", G_CALLBACK(count), &changes);
	ASSERT_RANGE(view, 0, 1000000000);
	grow(document);
	whole(document, &first, &end);
	ASSERT_RANGE(view, first, end);
	g_assert_cmpuint(changes, ==, 1);
	g_signal_emit_by_name(document, "grown"); /* no more than before */
	g_assert_cmpuint(changes, ==, 1);
	rs_viewer_view_set_range(view, first + 10, first + 20);
	grow(document);
	ASSERT_RANGE(view, first + 10, first + 20);
	rs_viewer_view_reset_range(view);
	whole(document, &first, &end);
	ASSERT_RANGE(view, first, end);
	grow(document);
	whole(document, &first, &end);
	ASSERT_RANGE(view, first, end);
}

/* A range stays in the trace, and is never empty. */
static void test_bounds(void)
{
	g_autoptr(RsTraceDocument) document = test_document_new();
	g_autoptr(RsViewerView) view = rs_viewer_view_new(document);
	guint64 first, end;

	grow(document);
	whole(document, &first, &end);
	rs_viewer_view_set_range(view, 0, G_MAXUINT64);
	ASSERT_RANGE(view, first, end);
	rs_viewer_view_set_range(view, end + 1000, end + 1010);
	ASSERT_RANGE(view, end - 10, end);
	rs_viewer_view_set_range(view, first + 5, first + 5);
	ASSERT_RANGE(view, first + 5, first + 6);
	rs_viewer_view_set_range(view, first + 9, first + 5);
	ASSERT_RANGE(view, first + 9, first + 10);
	for (guint i = 0; i < 200; i++)
		rs_viewer_view_zoom(view, 1.1, first + 9);
	ASSERT_RANGE(view, first, end);
	for (guint i = 0; i < 1000; i++)
		rs_viewer_view_zoom(view, 0.9, first + 50);
	ASSERT_RANGE(view, first + 50, first + 51);
	rs_viewer_view_set_range(view, first, first + 20);
	rs_viewer_view_show(view, first + 19);
	ASSERT_RANGE(view, first, first + 20);
	rs_viewer_view_show(view, first + 40);
	ASSERT_RANGE(view, first + 30, first + 50);
}

/* What the pointer is at stays there. */
static void test_zoom(void)
{
	g_autoptr(RsTraceDocument) document = test_document_new();
	g_autoptr(RsViewerView) view = rs_viewer_view_new(document);
	guint64 first, end;

	grow(document);
	whole(document, &first, &end);
	g_assert_cmpuint(end - first, >, 1000);
	rs_viewer_view_set_range(view, first + 100, first + 500);
	rs_viewer_view_zoom(view, 0.5, first + 200);
	ASSERT_RANGE(view, first + 150, first + 350);
	rs_viewer_view_zoom(view, 2, first + 200);
	ASSERT_RANGE(view, first + 100, first + 500);
}

static void test_markers(void)
{
	g_autoptr(RsTraceDocument) document = test_document_new();
	g_autoptr(RsViewerView) view = rs_viewer_view_new(document);
	guint64 from, until;
	guint changes = 0;

	g_signal_connect_swapped(view, "markers", G_CALLBACK(count), &changes);
	g_assert_false(rs_viewer_view_selection(view, &from, &until));
	rs_viewer_view_set_marker(view, RS_VIEWER_MARKER_A, 70);
	g_assert_false(rs_viewer_view_selection(view, &from, &until));
	rs_viewer_view_set_marker(view, RS_VIEWER_MARKER_B, 30);
	rs_viewer_view_set_marker(view, RS_VIEWER_MARKER_B, 30);
	g_assert_true(rs_viewer_view_selection(view, &from, &until));
	g_assert_cmpuint(from, ==, 30);
	g_assert_cmpuint(until, ==, 70);
	rs_viewer_view_clear_marker(view, RS_VIEWER_MARKER_A);
	rs_viewer_view_clear_marker(view, RS_VIEWER_MARKER_A);
	g_assert_false(rs_viewer_view_selection(view, &from, &until));
	g_assert_cmpuint(changes, ==, 3);
}

/* The range moves with the end, until the user looks elsewhere. */
static void test_following(void)
{
	g_autoptr(RsTraceDocument) document = test_document_new();
	g_autoptr(RsViewerView) view = rs_viewer_view_new(document);
	guint64 first, end;

	grow(document);
	whole(document, &first, &end);
	rs_viewer_view_set_range(view, end - 40, end);
	rs_viewer_view_set_following(view, TRUE);
	grow(document);
	whole(document, &first, &end);
	ASSERT_RANGE(view, end - 40, end);
	rs_viewer_view_set_range(view, end - 60, end); /* still at the end */
	g_assert_true(rs_viewer_view_following(view));
	rs_viewer_view_set_range(view, first, first + 40);
	g_assert_false(rs_viewer_view_following(view));
	grow(document);
	ASSERT_RANGE(view, first, first + 40);
}

/* Two that are compared show the same stretch, each from its own begin on. */
static void test_linked(void)
{
	g_autoptr(RsTraceDocument) document = test_document_new();
	g_autoptr(RsTraceDocument) other_document = test_document_new();
	g_autoptr(RsViewerView) view = rs_viewer_view_new(document);
	g_autoptr(RsViewerView) other = rs_viewer_view_new(other_document);
	guint64 first, end;

	rs_viewer_view_link(view, other);
	grow(document);
	whole(document, &first, &end);
	ASSERT_RANGE(other, 0, 1000000000); /* growth is no choice */
	grow(other_document);
	grow(other_document);
	rs_viewer_view_set_range(view, first + 10, first + 90);
	ASSERT_RANGE(other, first + 10, first + 90); /* both begin at the same time */
	rs_viewer_view_set_range(other, first + 20, first + 50);
	ASSERT_RANGE(view, first + 20, first + 50);
	rs_viewer_view_reset_range(other);
	ASSERT_RANGE(view, first, end);
	g_clear_object(&other);
	rs_viewer_view_set_range(view, first + 1, first + 2);
	ASSERT_RANGE(view, first + 1, first + 2);
}

/* What is chosen is a record, whatever its row's number. */
static void test_current(void)
{
	g_autoptr(RsTraceDocument) document = test_document_new();
	g_autoptr(RsViewerView) view = rs_viewer_view_new(document);
	g_autoptr(RsTraceTimeline) other = rs_trace_timeline_new();
	RsTraceTimelineRow row;
	guint64 ns, number, begin;
	guint changes = 0;

	g_signal_connect_swapped(view, "current", G_CALLBACK(count), &changes);
	grow(document);
	rs_trace_timeline_lock(rs_trace_document_shown(document));
	begin = rs_trace_timeline_n_rows(rs_trace_document_shown(document));
	rs_trace_timeline_unlock(rs_trace_document_shown(document));
	test_document_take(document, 0, 100);
	test_document_take(document, 0, 200);
	rs_viewer_view_set_current(view, 4200, begin + 1);
	g_assert_true(rs_viewer_view_record(view, &row));
	g_assert_cmpuint(row.ns, ==, 4200);
	test_document_take(document, 1, 150); /* late */
	g_assert_true(rs_viewer_view_current(view, &ns, &number));
	g_assert_cmpuint(number, ==, begin + 2);
	g_assert_true(rs_viewer_view_record(view, &row));
	g_assert_cmpuint(row.ns, ==, 4200);
	g_assert_cmpuint(changes, ==, 1);
	/* of another timeline nobody knows the row */
	test_document_show(document, other);
	g_assert_cmpuint(changes, ==, 2);
	g_assert_true(rs_viewer_view_current(view, &ns, &number));
	g_assert_cmpuint(ns, ==, 4200);
	g_assert_cmpuint(number, ==, G_MAXUINT64);
	g_assert_false(rs_viewer_view_record(view, &row));
	grow(document);
	g_assert_false(rs_viewer_view_record(view, &row));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/view/whole", test_whole);
	g_test_add_func("/view/bounds", test_bounds);
	g_test_add_func("/view/zoom", test_zoom);
	g_test_add_func("/view/markers", test_markers);
	g_test_add_func("/view/following", test_following);
	g_test_add_func("/view/linked", test_linked);
	g_test_add_func("/view/current", test_current);
	return g_test_run();
}
