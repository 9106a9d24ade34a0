/* SPDX-License-Identifier: MIT */
/* What differs between two documents is what a plain reading of both says. */
#include "document/rs-trace-compare.h"
#include "traces.h"

#include <glib/gstdio.h>
#include <math.h>

typedef struct {
	GRand *rand;
	char *paths[2];
	RsTraceDocument *documents[2];
	GAsyncResult *result;
	double share;
} Fixture;

static void set_up(Fixture *f, gconstpointer unused)
{
	f->rand = g_rand_new_with_seed(11);
	for (guint i = 0; i < 2; i++) {
		const char *paths[] = {NULL, NULL};

		f->paths[i] = traces_write(
			f->rand, &(Plan){.sources = 1 + i, .windows = 30 + 20 * i, .session = 1});
		paths[0] = f->paths[i];
		f->documents[i] = traces_open(paths);
	}
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	g_clear_object(&f->result);
	for (guint i = 0; i < 2; i++) {
		rs_trace_document_close(f->documents[i]);
		g_object_unref(f->documents[i]);
		g_unlink(f->paths[i]);
		g_free(f->paths[i]);
	}
	g_rand_free(f->rand);
}

static void on_done(GObject *object, GAsyncResult *result, gpointer data)
{
	((Fixture *)data)->result = g_object_ref(result);
}

static void on_progress(double share, gpointer data)
{
	Fixture *f = data;

	g_assert_cmpfloat(share, >=, f->share);
	g_assert_cmpfloat(share, <=, 1);
	g_assert_null(f->result);
	f->share = share;
}

static GPtrArray *compare(Fixture *f, GCancellable *cancellable, GError **error)
{
	g_clear_object(&f->result);
	f->share = 0;
	rs_trace_document_compare_async(f->documents[0], f->documents[1], cancellable, on_progress,
					on_done, f);
	traces_wait(f->result);
	return rs_trace_document_compare_finish(f->result, error);
}

/* Events of a name, or with NULL what was lost; and over how many ns. */
static guint64 plain(const Fixture *f, guint which, const char *label, guint64 *span)
{
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(f->paths[which], NULL, NULL);
	guint64 n = 0, first = G_MAXUINT64, last = 0;
	const RsTraceRecord *record;

	while ((record = rs_trace_reader_next(reader, NULL, NULL))) {
		g_autofree char *name = NULL;

		first = MIN(first, record->sorted_ns);
		last = MAX(last, record->sorted_ns);
		if (!label)
			n += record->lost;
		if (!label || record->kind != RS_TRACE_RECORD_EVENT)
			continue;
		name = record->event ? g_strdup_printf("%s:%s", record->event->system,
						       record->event->name)
				     : g_strdup_printf("#%u", record->id);
		n += g_str_equal(name, label);
	}
	*span = last - first;
	return n;
}

static void test_rows(Fixture *f, gconstpointer unused)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) rows = compare(f, NULL, &error);
	guint64 lost = 0;

	g_assert_no_error(error);
	g_assert_cmpuint(rows->len, >=, 3);
	for (guint i = 0; i < rows->len; i++) {
		const RsTraceDiffRow *row = rows->pdata[i];

		for (guint k = 0; k < 2; k++) {
			guint64 span, n = plain(f, k, row->label, &span);

			g_assert_cmpuint(row->counts[k], ==, n);
			g_assert_cmpuint(span, >, 0);
			if (row->label)
				g_assert_cmpfloat_with_epsilon(
					row->values[k], (double)n * 1e9 / (double)span, 1e-6);
			lost += row->label ? 0 : n;
		}
		if (i)
			g_assert_cmpfloat(
				fabs(row->change), <=,
				fabs(((const RsTraceDiffRow *)rows->pdata[i - 1])->change));
	}
	g_assert_cmpuint(lost, >, 0);
}

static void test_cancelled(Fixture *f, gconstpointer unused)
{
	g_autoptr(GCancellable) cancellable = g_cancellable_new();
	g_autoptr(GError) error = NULL;

	g_cancellable_cancel(cancellable);
	g_assert_null(compare(f, cancellable, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/compare/rows", Fixture, NULL, set_up, test_rows, tear_down);
	g_test_add("/compare/cancelled", Fixture, NULL, set_up, test_cancelled, tear_down);
	return g_test_run();
}
