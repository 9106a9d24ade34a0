/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-rows.h"
#include "document.h"

#define IN_VIEW 40u

typedef struct {
	RsTraceDocument *document;
	RsViewerRows *rows;
	guint grown, replaced, read;
} Fixture;

static void count(guint *n)
{
	(*n)++;
}

static void setup(Fixture *f, gconstpointer data)
{
	f->document = test_document_new();
	test_document_fill(f->document, 10000);
	f->rows = rs_viewer_rows_new(f->document);
	g_signal_connect_swapped(f->rows, "grown", G_CALLBACK(count), &f->grown);
	g_signal_connect_swapped(f->rows, "replaced", G_CALLBACK(count), &f->replaced);
	g_signal_connect_swapped(f->rows, "read", G_CALLBACK(count), &f->read);
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_clear_object(&f->rows);
	test_document_answer(f->document);
	g_assert_finalize_object(f->document);
}

/* Looks at rows, and says how many of them have been read. */
static guint look(Fixture *f, guint64 first)
{
	RsViewerLine lines[IN_VIEW];
	guint n = rs_viewer_rows_view(f->rows, first, IN_VIEW, lines), read = 0;

	g_assert_cmpuint(n, ==, MIN(IN_VIEW, rs_viewer_rows_count(f->rows) - first));
	for (guint i = 0; i < n; i++) {
		RsTraceTimelineRow row;

		g_assert_cmpuint(lines[i].number, ==, first + i);
		g_assert_cmpuint(rs_trace_timeline_rows(rs_viewer_rows_timeline(f->rows), first + i,
							1, &row),
				 ==, 1);
		g_assert_cmpuint(lines[i].row.ns, ==, row.ns);
		g_assert_cmpuint(lines[i].row.ring, ==, row.ring);
		if (lines[i].read) {
			g_autofree char *text = g_strdup_printf("text %" G_GUINT64_FORMAT, row.ns);

			g_assert_cmpstr(lines[i].read->text, ==, text);
			read++;
		}
		rs_viewer_line_clear(&lines[i]);
	}
	return read;
}

static void test_at_once(Fixture *f, gconstpointer data)
{
	RsViewerLine line;

	/* 1000; 1010 twice; 1020 three times … */
	g_assert_true(rs_viewer_rows_peek(f->rows, 0, &line));
	g_assert_cmpuint(line.row.ns, ==, 1000);
	g_assert_cmpuint(line.before, ==, 1000);
	g_assert_cmpstr(line.event, ==, "test:a");
	g_assert_cmpstr(line.source, ==, "guest");
	g_assert_cmpstr(line.task, ==, "one-1");
	g_assert_cmpuint(line.cpu, ==, 0);
	g_assert_null(line.read);
	rs_viewer_line_clear(&line);
	g_assert_true(rs_viewer_rows_peek(f->rows, 1, &line));
	g_assert_cmpuint(line.before, ==, 1000);
	g_assert_cmpuint(line.row.ns, ==, 1010);
	rs_viewer_line_clear(&line);
	/* names are the guest's */
	g_assert_true(rs_viewer_rows_peek(f->rows, rs_viewer_rows_at(f->rows, 1080), &line));
	g_assert_cmpstr(line.task, ==, "tw\\x1bo-2");
	rs_viewer_line_clear(&line);
	/* how many are lost is known without reading, and to which row it belongs */
	g_assert_true(rs_viewer_rows_peek(f->rows, rs_viewer_rows_at(f->rows, 1490), &line));
	g_assert_cmpuint(line.row.class, ==, RS_TRACE_CLASS_LOSS);
	g_assert_cmpuint(line.lost, ==, 49);
	g_assert_cmpstr(line.task, ==, "");
	rs_viewer_line_clear(&line);
	g_assert_false(rs_viewer_rows_peek(f->rows, rs_viewer_rows_count(f->rows), &line));
	g_assert_cmpuint(test_document_asked(f->document), ==, 0);
}

static void test_read(Fixture *f, gconstpointer data)
{
	g_assert_cmpuint(look(f, 1000), ==, 0);
	g_assert_cmpuint(test_document_waiting(f->document), ==, 1);
	g_assert_cmpuint(test_document_request(f->document, 0).n, ==, IN_VIEW);
	/* it is not asked for twice */
	g_assert_cmpuint(look(f, 1000), ==, 0);
	g_assert_cmpuint(test_document_waiting(f->document), ==, 1);
	test_document_answer(f->document);
	g_assert_cmpuint(f->read, ==, 1);
	g_assert_cmpuint(look(f, 1000), ==, IN_VIEW);
	/* and now what is around it: behind, then before */
	g_assert_cmpuint(test_document_waiting(f->document), ==, 1);
	test_document_answer(f->document);
	g_assert_cmpuint(look(f, 1000), ==, IN_VIEW);
	test_document_answer(f->document);
	g_assert_cmpuint(look(f, 1000), ==, IN_VIEW);
	g_assert_cmpuint(test_document_waiting(f->document), ==, 0);
	g_assert_cmpuint(look(f, 1000 + IN_VIEW), ==, IN_VIEW);
	test_document_answer(f->document);
	g_assert_cmpuint(look(f, 1000 - IN_VIEW), ==, IN_VIEW);
}

static void test_scrolled_away(Fixture *f, gconstpointer data)
{
	look(f, 1000);
	look(f, 1010); /* a step: the first request stays, ten rows are added */
	g_assert_cmpuint(test_document_waiting(f->document), ==, 2);
	g_assert_false(test_document_request(f->document, 0).cancelled);
	g_assert_cmpuint(test_document_request(f->document, 1).n, ==, 10);
	look(f, 9000); /* a jump */
	g_assert_cmpuint(test_document_waiting(f->document), ==, 3);
	g_assert_true(test_document_request(f->document, 0).cancelled);
	g_assert_true(test_document_request(f->document, 1).cancelled);
	look(f, 1000); /* back, before the first ones have ended */
	g_assert_cmpuint(test_document_request(f->document, 3).n, ==, IN_VIEW);
	g_assert_false(test_document_request(f->document, 3).cancelled);
	test_document_answer(f->document);
	g_assert_cmpuint(look(f, 1000), ==, IN_VIEW);
	g_assert_cmpuint(f->read, ==, 1);
}

/* Of what is waited for, some is still near the view. */
static void test_scrolled_on(Fixture *f, gconstpointer data)
{
	look(f, 1000);
	look(f, 1080);
	g_assert_cmpuint(test_document_waiting(f->document), ==, 2);
	g_assert_false(test_document_request(f->document, 0).cancelled);
}

/* All that is kept is bound, and what is in view stays. */
static void test_bound(Fixture *f, gconstpointer data)
{
	guint asked;

	for (guint64 first = 0; first < 12000; first += IN_VIEW) {
		look(f, first);
		test_document_answer(f->document);
		g_assert_cmpuint(look(f, first), ==, IN_VIEW);
	}
	test_document_answer(f->document);
	asked = test_document_asked(f->document);
	g_assert_cmpuint(look(f, 0), ==, 0);
	g_assert_cmpuint(test_document_asked(f->document), ==, asked + IN_VIEW);
}

static void test_broken(Fixture *f, gconstpointer data)
{
	RsViewerLine line;
	guint asked;

	test_document_break(f->document, 0, 1050);
	look(f, 0);
	test_document_answer(f->document);
	g_assert_true(rs_viewer_rows_peek(f->rows, 0, &line));
	g_assert_null(line.read);
	g_assert_true(line.failed);
	rs_viewer_line_clear(&line);
	/* a file will not say more the next time */
	for (guint i = 0; i < 4; i++) {
		look(f, 0);
		test_document_answer(f->document);
	}
	asked = test_document_asked(f->document);
	look(f, 0);
	g_assert_cmpuint(test_document_asked(f->document), ==, asked);
	/* a running session may */
	test_document_set_state(f->document, RS_TRACE_DOCUMENT_LIVE);
	test_document_break(f->document, 0, 0);
	g_usleep(350 * 1000);
	look(f, 0);
	g_assert_cmpuint(test_document_asked(f->document), >, asked);
	test_document_answer(f->document);
	g_assert_cmpuint(look(f, 0), ==, IN_VIEW);
}

static void test_replaced(Fixture *f, gconstpointer data)
{
	g_autoptr(RsTraceTimeline) other = rs_trace_timeline_new();

	look(f, 1000);
	test_document_answer(f->document);
	look(f, 5000);
	test_document_show(f->document, other);
	g_assert_cmpuint(f->replaced, ==, 1);
	g_assert_cmpuint(rs_viewer_rows_count(f->rows), ==, 0);
	test_document_answer(f->document);
	test_document_fill(f->document, 2000);
	g_assert_cmpuint(f->grown, ==, 1);
	/* row 1000 is another one now */
	g_assert_cmpuint(look(f, 1000), ==, 0);
	test_document_answer(f->document);
	g_assert_cmpuint(look(f, 1000), ==, IN_VIEW);
}

static void test_details(Fixture *f, gconstpointer data)
{
	look(f, 0);
	g_assert_false(test_document_request(f->document, 0).details);
	rs_viewer_rows_set_details(f->rows, TRUE);
	g_assert_true(test_document_request(f->document, 0).cancelled);
	look(f, 0);
	g_assert_true(test_document_request(f->document, 1).details);
}

/* Who follows a session that is busy sees rows only once they are read. */
static void test_follow(Fixture *f, gconstpointer data)
{
	const guint64 begin = rs_viewer_rows_count(f->rows);
	guint64 before = 0, end;

	/* a file has all its rows at once */
	g_assert_cmpuint(rs_viewer_rows_follow(f->rows, IN_VIEW), ==, begin);
	rs_viewer_rows_unfollow(f->rows);
	test_document_set_state(f->document, RS_TRACE_DOCUMENT_LIVE);
	end = rs_viewer_rows_follow(f->rows, IN_VIEW);
	g_assert_cmpuint(end, ==, begin);
	g_assert_cmpuint(look(f, end - IN_VIEW), ==, 0);
	test_document_answer(f->document);
	g_assert_cmpuint(look(f, end - IN_VIEW), ==, IN_VIEW);
	test_document_answer(f->document);
	/* many more than fit come between two frames, and their texts are late */
	for (guint i = 0; i < 12; i++) {
		test_document_fill(f->document, 1000);
		end = rs_viewer_rows_follow(f->rows, IN_VIEW);
		g_assert_cmpuint(look(f, end - IN_VIEW), ==, IN_VIEW);
		g_assert_cmpuint(end, >=, before);
		before = end;
		if (i % 3 == 2)
			test_document_answer(f->document);
	}
	g_assert_cmpuint(end, >, begin + 5000);
	g_assert_cmpuint(end, <, rs_viewer_rows_count(f->rows));
	/* the last ones come too */
	test_document_answer(f->document);
	rs_viewer_rows_follow(f->rows, IN_VIEW);
	test_document_answer(f->document);
	end = rs_viewer_rows_follow(f->rows, IN_VIEW);
	g_assert_cmpuint(end, ==, rs_viewer_rows_count(f->rows));
	g_assert_cmpuint(look(f, end - IN_VIEW), ==, IN_VIEW);
	/* nobody waits forever */
	test_document_fill(f->document, 1000);
	g_assert_cmpuint(rs_viewer_rows_follow(f->rows, IN_VIEW), ==, end);
	g_usleep(1100 * 1000);
	g_assert_cmpuint(rs_viewer_rows_follow(f->rows, IN_VIEW), ==,
			 rs_viewer_rows_count(f->rows));
}

/* A record that comes late shifts the numbers of rows, and not what they say. */
static void test_late(Fixture *f, gconstpointer data)
{
	const guint64 begin = rs_viewer_rows_count(f->rows);
	RsTraceTimelineRow row;

	for (guint i = 1; i <= IN_VIEW; i++)
		test_document_take(f->document, 0, 1000 + i * 10);
	look(f, begin);
	test_document_answer(f->document);
	g_assert_cmpuint(look(f, begin), ==, IN_VIEW);
	test_document_answer(f->document);
	g_assert_true(rs_viewer_rows_get(f->rows, begin + 5, &row));
	test_document_take(f->document, 1, 1015);
	g_assert_cmpuint(rs_viewer_rows_number(f->rows, &row), ==, begin + 6);
	g_assert_cmpuint(look(f, begin), ==, IN_VIEW - 1);
	test_document_answer(f->document);
	g_assert_cmpuint(look(f, begin), ==, IN_VIEW);
}

/* Rows that nobody waits for any more. */
static void test_gone(Fixture *f, gconstpointer data)
{
	look(f, 0);
	g_clear_object(&f->rows);
	g_assert_true(test_document_request(f->document, 0).cancelled);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*run)(Fixture *f, gconstpointer data);
	} tests[] = {
		{"/rows/at-once", test_at_once},    {"/rows/read", test_read},
		{"/rows/away", test_scrolled_away}, {"/rows/bound", test_bound},
		{"/rows/broken", test_broken},      {"/rows/replaced", test_replaced},
		{"/rows/details", test_details},    {"/rows/gone", test_gone},
		{"/rows/follow", test_follow},      {"/rows/late", test_late},
		{"/rows/on", test_scrolled_on},
	};

	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, Fixture, NULL, setup, tests[i].run, teardown);
	return g_test_run();
}
