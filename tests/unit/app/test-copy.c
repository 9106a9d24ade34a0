/* SPDX-License-Identifier: MIT */
#include "app/rs-viewer-copy.h"
#include "document.h"

typedef struct {
	RsTraceDocument *document;
	gboolean is_done;
	char *text;
	guint n, unread;
	GError *error;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	f->document = test_document_new();
	test_document_fill(f->document, 4000);
}

static void teardown(Fixture *f, gconstpointer data)
{
	g_free(f->text);
	g_clear_error(&f->error);
	g_assert_finalize_object(f->document);
}

static void done(GObject *object, GAsyncResult *result, gpointer data)
{
	Fixture *f = data;

	f->is_done = TRUE;
	f->text = rs_viewer_copy_finish(result, &f->n, &f->unread, &f->error);
}

static void copy(Fixture *f, guint64 first, guint64 n, RsViewerCopyKind kind,
		 GCancellable *cancellable)
{
	rs_viewer_copy_async(f->document, rs_trace_document_shown(f->document), first, n, kind,
			     cancellable, done, f);
}

static void wait(Fixture *f)
{
	while (!f->is_done) {
		test_document_answer(f->document);
		g_main_context_iteration(NULL, FALSE);
	}
}

static void test_few(Fixture *f, gconstpointer data)
{
	copy(f, 0, 3, RS_VIEWER_COPY_TEXT, NULL);
	wait(f);
	g_assert_cmpstr(f->text, ==, "line 1000\nline 1010\nline 1010\n");
	g_assert_cmpuint(f->n, ==, 3);
	g_assert_cmpuint(f->unread, ==, 0);
}

static void test_json(Fixture *f, gconstpointer data)
{
	copy(f, 2, 2, RS_VIEWER_COPY_JSON, NULL);
	wait(f);
	g_assert_cmpstr(f->text, ==, "{\"ns\":1010}\n{\"ns\":1020}\n");
}

/* More than is read at once, and up to the end. */
static void test_many(Fixture *f, gconstpointer data)
{
	guint lines = 0;

	copy(f, 10, G_MAXUINT64, RS_VIEWER_COPY_TEXT, NULL);
	wait(f);
	for (const char *c = f->text; *c; c++)
		lines += *c == '\n';
	g_assert_cmpuint(lines, ==, 4000 / 4 * 10 - 10);
	g_assert_cmpuint(f->n, ==, lines);
	g_assert_true(g_str_has_suffix(f->text, "line 40990\n"));
}

/* Records that come late, before what has been read, change nothing. */
static void test_late(Fixture *f, gconstpointer data)
{
	const guint64 first = 4000 / 4 * 10;
	g_auto(GStrv) lines = NULL;

	for (guint i = 0; i < 3000; i++)
		test_document_take(f->document, 2, 1000000 + i);
	copy(f, first, 3000, RS_VIEWER_COPY_TEXT, NULL);
	g_assert_cmpuint(test_document_waiting(f->document), ==, 1);
	test_document_fill(f->document, 500);
	wait(f);
	g_assert_cmpuint(f->n, ==, 3000);
	lines = g_strsplit(f->text, "\n", -1);
	for (guint i = 0; i < 3000; i++) {
		g_autofree char *line = g_strdup_printf("line %u", 1000 + 40000 + 1000000 + i);

		g_assert_cmpstr(lines[i], ==, line);
	}
}

static void test_broken(Fixture *f, gconstpointer data)
{
	test_document_break(f->document, 1010, 1020);
	copy(f, 0, 4, RS_VIEWER_COPY_TEXT, NULL);
	wait(f);
	g_assert_cmpstr(f->text, ==, "line 1000\nline 1020\n");
	g_assert_cmpuint(f->n, ==, 2);
	g_assert_cmpuint(f->unread, ==, 2);
}

static void test_cancelled(Fixture *f, gconstpointer data)
{
	g_autoptr(GCancellable) cancellable = g_cancellable_new();

	copy(f, 0, 4000, RS_VIEWER_COPY_TEXT, cancellable);
	g_cancellable_cancel(cancellable);
	wait(f);
	g_assert_null(f->text);
	g_assert_error(f->error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/copy/few", Fixture, NULL, setup, test_few, teardown);
	g_test_add("/copy/json", Fixture, NULL, setup, test_json, teardown);
	g_test_add("/copy/many", Fixture, NULL, setup, test_many, teardown);
	g_test_add("/copy/late", Fixture, NULL, setup, test_late, teardown);
	g_test_add("/copy/broken", Fixture, NULL, setup, test_broken, teardown);
	g_test_add("/copy/cancelled", Fixture, NULL, setup, test_cancelled, teardown);
	return g_test_run();
}
