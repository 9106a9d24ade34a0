/* SPDX-License-Identifier: MIT */
/* What is found is what looking at each line finds. */
#include "app/rs-viewer-find.h"
#include "../document/traces.h"
#include "rs-trace-error.h"

#include <glib/gstdio.h>
#include <string.h>

#define CHUNK 500u

typedef struct {
	GRand *rand;
	char *path;
	const char *paths[2];
	RsTraceDocument *document;
	RsViewerFind *find;
	guint64 n;
	RsTraceTimelineRow *rows;
	GPtrArray *read; /* RsTraceRow of each */
	gboolean is_done, wrapped;
	gboolean has_all; /* the count was said, of all */
	guint64 found;    /* G_MAXUINT64: nothing */
} Fixture;

static void on_found(Fixture *f, guint64 row, gboolean wrapped)
{
	f->is_done = TRUE;
	f->found = row;
	f->wrapped = wrapped;
}

static void on_missing(Fixture *f)
{
	f->is_done = TRUE;
	f->found = G_MAXUINT64;
}

static void unref_row(gpointer row)
{
	rs_trace_row_unref(row);
}

/* All rows that are shown, and what they say. */
static void read_all(Fixture *f)
{
	RsTraceTimeline *timeline = rs_trace_document_shown(f->document);

	g_free(f->rows);
	g_clear_pointer(&f->read, g_ptr_array_unref);
	f->read = g_ptr_array_new_with_free_func(unref_row);
	rs_trace_timeline_lock(timeline);
	f->n = rs_trace_timeline_n_rows(timeline);
	f->rows = g_new(RsTraceTimelineRow, f->n);
	g_assert_cmpuint(rs_trace_timeline_rows(timeline, 0, (guint)f->n, f->rows), ==, f->n);
	rs_trace_timeline_unlock(timeline);
	for (guint64 at = 0; at < f->n; at += CHUNK) {
		g_autoptr(GPtrArray) some = traces_fetch(f->document, timeline, at,
							 (guint)MIN(CHUNK, f->n - at), FALSE);

		for (guint i = 0; i < some->len; i++)
			g_ptr_array_add(f->read, rs_trace_row_ref(some->pdata[i]));
	}
	g_assert_cmpuint(f->read->len, ==, f->n);
}

static void set_up(Fixture *f, gconstpointer unused)
{
	f->rand = g_rand_new_with_seed(7);
	f->path = traces_write(f->rand, &(Plan){.sources = 3, .windows = 20, .session = 1});
	f->paths[0] = f->path;
	f->document = traces_open(f->paths);
	read_all(f);
	f->find = rs_viewer_find_new(f->document);
	g_signal_connect_swapped(f->find, "found", G_CALLBACK(on_found), f);
	g_signal_connect_swapped(f->find, "missing", G_CALLBACK(on_missing), f);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	/* A search that was cancelled ends on its thread, and lets go of it then. */
	g_object_add_weak_pointer(G_OBJECT(f->find), (gpointer *)&f->find);
	g_object_unref(f->find);
	while (f->find)
		g_main_context_iteration(NULL, FALSE);
	rs_trace_document_close(f->document);
	g_object_unref(f->document);
	g_ptr_array_unref(f->read);
	g_free(f->rows);
	g_unlink(f->path);
	g_free(f->path);
	g_rand_free(f->rand);
}

typedef gboolean (*Matches)(const RsTraceRow *row, const char *what);

static gboolean has_text(const RsTraceRow *row, const char *what)
{
	g_autofree char *line = g_ascii_strdown(row->line, -1);
	g_autofree char *small = g_ascii_strdown(what, -1);

	return strstr(line, small) != NULL;
}

static gboolean is_event(const RsTraceRow *row, const char *what)
{
	return row->kind == RS_TRACE_RECORD_EVENT && strstr(row->event, what);
}

static gboolean is_loss(const RsTraceRow *row, const char *what)
{
	return row->kind == RS_TRACE_RECORD_LOSS;
}

static gboolean is_on_cpu_1(const RsTraceRow *row, const char *what)
{
	return row->kind == RS_TRACE_RECORD_EVENT && row->cpu == 1;
}

static gboolean nothing(const RsTraceRow *row, const char *what)
{
	return FALSE;
}

static guint64 expect(const Fixture *f, Matches matches, const char *what, guint64 from,
		      gboolean itself, gboolean forward, gboolean *wrapped)
{
	for (guint64 k = itself ? 0 : 1; k <= f->n; k++) {
		guint64 row = forward ? (from + k) % f->n : (from + f->n - k) % f->n;

		if (!matches(f->read->pdata[row], what))
			continue;
		*wrapped = forward ? from + k >= f->n : k > from;
		return row;
	}
	return G_MAXUINT64;
}

static void check(Fixture *f, RsViewerFindKind kind, const char *what, Matches matches)
{
	g_assert_true(rs_viewer_find_set(f->find, kind, what, NULL));
	for (guint i = 0; i < 200; i++) {
		guint64 from = (guint64)g_rand_int_range(f->rand, 0, (gint32)f->n), want;
		gboolean forward = g_rand_boolean(f->rand), itself = g_rand_boolean(f->rand);
		gboolean wrapped = FALSE;

		if (i % 10 == 0)
			from = forward ? f->n - 1 : 0;
		want = expect(f, matches, what, from, itself, forward, &wrapped);
		f->is_done = FALSE;
		rs_viewer_find_next(f->find, from, itself, forward);
		traces_wait(f->is_done);
		g_assert_false(rs_viewer_find_is_busy(f->find));
		if (want == G_MAXUINT64 || f->found == G_MAXUINT64) {
			g_assert_cmpuint(f->found, ==, want);
			continue;
		}
		g_assert_cmpuint(f->found, ==, want);
		g_assert_cmpint(f->wrapped, ==, wrapped);
	}
}

static void test_text(Fixture *f, gconstpointer unused)
{
	check(f, RS_VIEWER_FIND_TEXT, "NEXT=3", has_text);
	check(f, RS_VIEWER_FIND_TEXT, "Worker", has_text);
	check(f, RS_VIEWER_FIND_TEXT, "lost", has_text);
	check(f, RS_VIEWER_FIND_TEXT, "nowhere to be found", nothing);
}

static void test_event(Fixture *f, gconstpointer unused)
{
	check(f, RS_VIEWER_FIND_EVENT, "sched:switch", is_event);
	check(f, RS_VIEWER_FIND_EVENT, "demo", is_event);
	check(f, RS_VIEWER_FIND_EVENT, "loss", is_loss);
	check(f, RS_VIEWER_FIND_EVENT, "no:event", nothing);
}

static void test_filter(Fixture *f, gconstpointer unused)
{
	check(f, RS_VIEWER_FIND_FILTER, "CPU == 1", is_on_cpu_1);
	check(f, RS_VIEWER_FIND_FILTER, "nosuch == 1", nothing);
}

/* Only rows that are shown are found. */
static void test_shown(Fixture *f, gconstpointer unused)
{
	const char *const filters[] = {"sched:switch: next == 3", NULL};

	g_assert_true(rs_trace_document_set_filter(f->document, filters, NULL));
	traces_wait(rs_trace_document_filter_progress(f->document) == 1);
	read_all(f);
	check(f, RS_VIEWER_FIND_TEXT, "next=", has_text);
	check(f, RS_VIEWER_FIND_FILTER, "CPU == 1", is_on_cpu_1);
	check(f, RS_VIEWER_FIND_EVENT, "demo", is_event);
}

static void test_count(Fixture *f, gconstpointer unused)
{
	guint64 n, want = 0;
	gboolean all;

	for (guint i = 0; i < f->read->len; i++)
		want += has_text(f->read->pdata[i], "switch");
	g_assert_true(rs_viewer_find_set(f->find, RS_VIEWER_FIND_TEXT, "SWITCH", NULL));
	traces_wait(rs_viewer_find_progress(f->find) == 1);
	g_assert_true(rs_viewer_find_count(f->find, &n, &all));
	g_assert_true(all);
	g_assert_cmpuint(n, ==, want);
}

static void on_changed(Fixture *f)
{
	guint64 n;

	if (!rs_viewer_find_count(f->find, &n, &f->has_all))
		f->has_all = FALSE;
}

/* Whoever shows the count hears of the last match, too, when the first was found long before. */
static void test_count_on(Fixture *f, gconstpointer unused)
{
	g_signal_connect_swapped(f->find, "changed", G_CALLBACK(on_changed), f);
	for (guint i = 0; i < 20; i++) {
		const char *what = i % 2 ? "switch" : "Switch";

		f->is_done = f->has_all = FALSE;
		g_assert_true(rs_viewer_find_set(f->find, RS_VIEWER_FIND_TEXT, what, NULL));
		rs_viewer_find_next(f->find, 0, FALSE, TRUE);
		traces_wait(f->is_done && f->has_all);
	}
}

static void test_bad(Fixture *f, gconstpointer unused)
{
	g_autoptr(GError) error = NULL;

	g_assert_false(rs_viewer_find_set(f->find, RS_VIEWER_FIND_FILTER, "a ==", &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	rs_viewer_find_next(f->find, 0, TRUE, TRUE);
	g_assert_false(rs_viewer_find_is_busy(f->find));
	g_assert_true(rs_viewer_find_set(f->find, RS_VIEWER_FIND_TEXT, "", NULL));
	rs_viewer_find_next(f->find, 0, TRUE, TRUE);
	g_assert_false(rs_viewer_find_is_busy(f->find));
}

/* Gone while it looks. What is known at once is said at once, and not again. */
static void test_cancel(Fixture *f, gconstpointer unused)
{
	const RsViewerFindKind kinds[] = {RS_VIEWER_FIND_TEXT, RS_VIEWER_FIND_EVENT};

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_assert_true(rs_viewer_find_set(f->find, kinds[i], "nowhere", NULL));
		rs_viewer_find_next(f->find, 0, TRUE, TRUE);
		rs_viewer_find_cancel(f->find);
		g_assert_false(rs_viewer_find_is_busy(f->find));
		f->is_done = FALSE;
	}
	for (guint i = 0; i < 50; i++) {
		g_main_context_iteration(NULL, FALSE);
		g_usleep(1000);
	}
	g_assert_false(f->is_done);
}

/* Rows have other numbers once another filter is set: what is found then is dropped. */
static void test_other_filter(Fixture *f, gconstpointer unused)
{
	const char *const filters[] = {"CPU == 1", NULL};

	for (guint i = 0; i < 2; i++) {
		RsViewerFindKind kind = i ? RS_VIEWER_FIND_TEXT : RS_VIEWER_FIND_EVENT;

		f->is_done = FALSE;
		g_assert_true(rs_viewer_find_set(f->find, kind, "sched:switch", NULL));
		rs_viewer_find_next(f->find, f->n / 2, FALSE, TRUE);
		if (f->is_done) /* it was there at once */
			continue;
		g_assert_true(rs_trace_document_set_filter(f->document, i ? NULL : filters, NULL));
		traces_wait(!rs_viewer_find_is_busy(f->find));
		g_assert_false(f->is_done);
	}
}

/* A filter that is over, and what was found in it, is let go: else its threads go on. */
static void test_let_go(Fixture *f, gconstpointer unused)
{
	const char *const filters[] = {"CPU == 1", NULL};
	RsTraceTimeline *former;
	gboolean all;
	guint64 n;

	g_assert_true(rs_trace_document_set_filter(f->document, filters, NULL));
	former = rs_trace_document_shown(f->document);
	g_assert_true(rs_viewer_find_set(f->find, RS_VIEWER_FIND_TEXT, "switch", NULL));
	traces_wait(rs_trace_document_filter_progress(f->document) == 1 &&
		    rs_viewer_find_progress(f->find) == 1);
	g_assert_true(rs_viewer_find_count(f->find, &n, &all));
	f->has_all = TRUE;
	g_signal_connect_swapped(f->find, "changed", G_CALLBACK(on_changed), f);
	g_assert_true(rs_trace_document_set_filter(f->document, NULL, NULL));
	/* The document has it until it looks whether others do. */
	g_assert_true(rs_trace_timeline_is_alone(former));
	g_assert_false(f->has_all);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*run)(Fixture *f, gconstpointer unused);
	} tests[] = {
		{"/find/text", test_text},
		{"/find/event", test_event},
		{"/find/filter", test_filter},
		{"/find/shown", test_shown},
		{"/find/count", test_count},
		{"/find/count-on", test_count_on},
		{"/find/bad", test_bad},
		{"/find/cancel", test_cancel},
		{"/find/other-filter", test_other_filter},
		{"/find/let-go", test_let_go},
	};

	g_test_init(&argc, &argv, NULL);
	for (guint i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, Fixture, NULL, set_up, tests[i].run, tear_down);
	return g_test_run();
}
