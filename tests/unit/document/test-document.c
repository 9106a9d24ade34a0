/* SPDX-License-Identifier: MIT */
#include "traces.h"

#include <glib/gstdio.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void drop(char **paths)
{
	for (char **path = paths; *path; path++)
		g_unlink(*path);
	g_strfreev(paths);
}

static char **write_some(GRand *rand, const Plan *plans, guint n)
{
	char **paths = g_new0(char *, n + 1);

	for (guint i = 0; i < n; i++)
		paths[i] = traces_write(rand, &plans[i]);
	return paths;
}

/* ---- rows ---- */

static void check_plans(guint32 seed, const Plan *plans, guint n)
{
	GRand *rand = g_rand_new_with_seed(seed);
	char **paths = write_some(rand, plans, n);
	g_autoptr(GHashTable) lines = traces_read((const char *const *)paths);
	g_autoptr(RsTraceDocument) document = traces_open((const char *const *)paths);
	guint64 total;

	g_test_message("seed %u", seed);
	g_assert_cmpint(rs_trace_document_state(document), ==, RS_TRACE_DOCUMENT_READY);
	total = traces_check(document, rs_trace_document_all(document), lines, rand);
	g_assert_cmpuint(total, ==, traces_count(lines));
	rs_trace_document_close(document);
	drop(paths);
	g_rand_free(rand);
}

static void test_one(void)
{
	for (guint32 seed = 1; seed <= 12; seed++)
		check_plans(seed, &(Plan){.sources = 1, .windows = 20, .session = 1}, 1);
}

static void test_back(void)
{
	for (guint32 seed = 1; seed <= 12; seed++)
		check_plans(seed, &(Plan){.sources = 2, .windows = 25, .session = 1, .back = TRUE},
			    1);
}

static void test_late(void)
{
	for (guint32 seed = 1; seed <= 12; seed++)
		check_plans(seed, &(Plan){.sources = 5, .windows = 40, .session = 1, .late = TRUE},
			    1);
}

static void test_several(void)
{
	const Plan plans[] = {
		{.sources = 2, .windows = 20, .session = 1, .late = TRUE, .wall_ns = 1000000},
		{.sources = 3, .windows = 20, .session = 2, .late = TRUE, .wall_ns = 1000700},
		{.sources = 1, .windows = 30, .session = 3, .wall_ns = 999900},
	};

	for (guint32 seed = 1; seed <= 12; seed++)
		check_plans(seed, plans, G_N_ELEMENTS(plans));
}

/* Whatever is wrong, all rows are answered, and those that are there are right ones. */
static void test_damaged(void)
{
	for (guint32 seed = 1; seed <= 20; seed++) {
		const Plan plan = {
			.sources = 3, .windows = 30, .session = 1, .back = TRUE, .damaged = TRUE};
		GRand *rand = g_rand_new_with_seed(seed);
		char **paths = write_some(rand, &plan, 1);
		g_autoptr(RsTraceDocument) document = traces_open((const char *const *)paths);

		for (guint i = 0; i < 30; i++) {
			g_autoptr(GPtrArray) rows G_GNUC_UNUSED =
				traces_fetch(document, rs_trace_document_all(document),
					     (guint64)g_rand_int_range(rand, 0, 3000), 20, TRUE);
		}
		rs_trace_document_close(document);
		drop(paths);
		g_rand_free(rand);
	}
}

/* ---- what can be read once ---- */

static gpointer feed(gpointer data)
{
	char **names = data;
	g_autofree char *bytes = NULL;
	int fd = g_open(names[1], O_WRONLY, 0);
	gsize size;

	g_assert_true(g_file_get_contents(names[0], &bytes, &size, NULL));
	for (gsize at = 0; at < size;) {
		ssize_t n = write(fd, bytes + at, MIN(size - at, 4096));

		g_assert_cmpint(n, >, 0);
		at += (gsize)n;
		g_usleep(500);
	}
	close(fd);
	return NULL;
}

static void test_pipe(void)
{
	const Plan plan = {.sources = 3, .windows = 40, .session = 1, .late = TRUE};
	GRand *rand = g_rand_new_with_seed(3);
	char *file = traces_write(rand, &plan), *fifo = g_strconcat(file, ".fifo", NULL);
	char *names[] = {file, fifo};
	g_autoptr(GHashTable) lines = traces_read((const char *const[]){file, NULL});
	g_autoptr(RsTraceDocument) document = NULL;
	GThread *thread;

	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	thread = g_thread_new("feed", feed, names);
	document = traces_open((const char *const[]){fifo, NULL});
	g_thread_join(thread);
	g_assert_cmpuint(traces_check(document, rs_trace_document_all(document), lines, rand), ==,
			 traces_count(lines));
	g_unlink(file);
	g_unlink(fifo);
	g_free(file);
	g_free(fifo);
	g_rand_free(rand);
}

static void on_answer(GObject *document, GAsyncResult *result, gpointer data)
{
	*(GPtrArray **)data =
		rs_trace_document_read_finish(RS_TRACE_DOCUMENT(document), result, NULL);
}

/* A row that is nowhere is given up, however long the trace grows. */
static void test_nowhere(void)
{
	GRand *rand = g_rand_new_with_seed(3);
	char *file = traces_write(rand, &(Plan){.sources = 3, .windows = 400, .session = 1});
	g_autofree char *fifo = g_strconcat(file, ".fifo", NULL), *bytes = NULL;
	const RsTraceTimelineRow nowhere = {.ns = 1, .class = RS_TRACE_CLASS_UNKNOWN};
	g_autoptr(RsTraceDocument) document = NULL;
	g_autoptr(GPtrArray) rows = NULL;
	gsize size, at = 0;
	int fd;

	g_assert_true(g_file_get_contents(file, &bytes, &size, NULL));
	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	fd = g_open(fifo, O_RDWR | O_CLOEXEC, 0);
	document = rs_trace_document_new((const char *const[]){fifo, NULL});
	for (; !rows && at < size; at += MIN(size - at, size / 256)) {
		if (write(fd, bytes + at, MIN(size - at, size / 256)) < 0)
			g_assert_not_reached();
		if (at == size / 256 * 16)
			rs_trace_document_read_async(document, rs_trace_document_all(document),
						     &nowhere, 1, FALSE, NULL, on_answer, &rows);
		g_usleep(20000);
		while (g_main_context_iteration(NULL, FALSE))
			;
	}
	g_assert_cmpuint(at, <, size);
	g_assert_cmpuint(rows->len, ==, 1);
	g_assert_null(rows->pdata[0]);
	rs_trace_document_close(document);
	close(fd);
	g_unlink(fifo);
	g_unlink(file);
	g_free(file);
	g_rand_free(rand);
}

/* ---- states ---- */

static void count(RsTraceDocument *document, gpointer data)
{
	++*(guint *)data;
}

static void test_missing(void)
{
	g_autoptr(RsTraceDocument) document =
		rs_trace_document_new((const char *const[]){"/nowhere/at/all", NULL});
	g_autoptr(GPtrArray) rows G_GNUC_UNUSED = NULL;
	guint ended = 0;

	g_assert_null(rs_trace_document_error(document));
	g_signal_connect(document, "ended", G_CALLBACK(count), &ended);
	traces_wait(ended);
	g_assert_cmpint(rs_trace_document_state(document), ==, RS_TRACE_DOCUMENT_FAILED);
	g_assert_error(rs_trace_document_error(document), G_IO_ERROR, G_IO_ERROR_NOT_FOUND);
	g_assert_cmpstr(rs_trace_document_title(document), ==, "all");
}

static void test_signals(void)
{
	GRand *rand = g_rand_new_with_seed(9);
	char *path = traces_write(rand, &(Plan){.sources = 2, .windows = 100, .session = 1});
	g_autoptr(RsTraceDocument) document =
		rs_trace_document_new((const char *const[]){path, NULL});
	guint grown = 0, ended = 0;
	guint64 first, end;

	g_signal_connect(document, "grown", G_CALLBACK(count), &grown);
	g_signal_connect(document, "ended", G_CALLBACK(count), &ended);
	traces_wait(ended);
	g_assert_cmpuint(grown, >, 0);
	g_assert_cmpuint(ended, ==, 1);
	g_assert_cmpfloat(rs_trace_document_progress(document), ==, 1);
	rs_trace_timeline_lock(rs_trace_document_all(document));
	rs_trace_timeline_span(rs_trace_document_all(document), &first, &end);
	rs_trace_timeline_unlock(rs_trace_document_all(document));
	g_assert_cmpuint(first, <, end);
	g_unlink(path);
	g_free(path);
	g_rand_free(rand);
}

/* Rows that were there in time are an answer, too. */
static void on_closed(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) rows =
		rs_trace_document_read_finish(RS_TRACE_DOCUMENT(object), result, &error);

	g_assert_true(!rows == !!error);
	++*(guint *)data;
}

static void on_refused(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(rs_trace_document_read_finish(RS_TRACE_DOCUMENT(object), result, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CLOSED);
	++*(guint *)data;
}

/* Who closes it while rows are read and files are loaded is answered, and nothing is left. */
static void test_close(void)
{
	GRand *rand = g_rand_new_with_seed(9);
	char *path = traces_write(rand, &(Plan){.sources = 2, .windows = 100, .session = 1});

	for (guint i = 0; i < 20; i++) {
		RsTraceDocument *document =
			rs_trace_document_new((const char *const[]){path, NULL});
		RsTraceTimelineRow row = {.ns = 100};
		guint answers = 0;
		gpointer gone = document;

		g_object_add_weak_pointer(G_OBJECT(document), &gone);
		rs_trace_document_read_async(document, rs_trace_document_all(document), &row, 1,
					     FALSE, NULL, on_closed, &answers);
		rs_trace_document_close(document);
		rs_trace_document_read_async(document, rs_trace_document_all(document), &row, 1,
					     FALSE, NULL, on_refused, &answers);
		traces_wait(answers == 2);
		g_object_unref(document);
		traces_wait(!gone);
	}
	g_unlink(path);
	g_free(path);
	g_rand_free(rand);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/document/rows/one", test_one);
	g_test_add_func("/document/rows/back", test_back);
	g_test_add_func("/document/rows/late", test_late);
	g_test_add_func("/document/rows/several", test_several);
	g_test_add_func("/document/rows/damaged", test_damaged);
	g_test_add_func("/document/rows/pipe", test_pipe);
	g_test_add_func("/document/rows/nowhere", test_nowhere);
	g_test_add_func("/document/missing", test_missing);
	g_test_add_func("/document/signals", test_signals);
	g_test_add_func("/document/close", test_close);
	return g_test_run();
}
