/* SPDX-License-Identifier: MIT */
/* What a document exports is what a plain reading gives, and nothing is left of what failed. */
#include "document/rs-trace-document-export.h"
#include "rs-trace-error.h"
#include "rs-trace-text.h"
#include "traces.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	GRand *rand;
	char *folder, *path, *out;
	RsTraceDocument *document;
	guint64 first, end;
	GAsyncResult *result;
	double share;
	guint64 events;
} Fixture;

static void set_up(Fixture *f, gconstpointer unused)
{
	const char *paths[] = {NULL, NULL};
	RsTraceTimeline *all;

	f->rand = g_rand_new_with_seed(5);
	f->path = traces_write(f->rand, &(Plan){.sources = 3, .windows = 60, .session = 1});
	f->folder = g_dir_make_tmp("rs-export-XXXXXX", NULL);
	f->out = g_build_filename(f->folder, "out", NULL);
	paths[0] = f->path;
	f->document = traces_open(paths);
	all = rs_trace_document_all(f->document);
	rs_trace_timeline_lock(all);
	rs_trace_timeline_span(all, &f->first, &f->end);
	rs_trace_timeline_unlock(all);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	g_clear_object(&f->result);
	rs_trace_document_close(f->document);
	g_object_unref(f->document);
	g_unlink(f->path);
	g_unlink(f->out);
	g_assert_cmpint(g_rmdir(f->folder), ==, 0); /* nothing else is in it */
	g_free(f->path);
	g_free(f->out);
	g_free(f->folder);
	g_rand_free(f->rand);
}

static void on_done(GObject *object, GAsyncResult *result, gpointer data)
{
	((Fixture *)data)->result = g_object_ref(result);
}

static void on_progress(const RsTraceDocumentExported *exported, gpointer data)
{
	Fixture *f = data;

	g_assert_cmpfloat(exported->share, >=, f->share);
	g_assert_cmpfloat(exported->share, <=, 1);
	g_assert_cmpuint(exported->events, >=, f->events);
	g_assert_null(f->result);
	f->share = exported->share;
	f->events = exported->events;
}

static RsTraceDocumentExport plan(const Fixture *f, const char *format)
{
	return (RsTraceDocumentExport){
		.format = rs_trace_export_format(format), .path = f->out, .until = G_MAXUINT64};
}

static RsTraceDocumentExportResult *export(Fixture *f, const RsTraceDocumentExport *what,
					   GCancellable *cancellable, GError **error)
{
	g_clear_object(&f->result);
	f->share = 0;
	f->events = 0;
	rs_trace_document_export_async(f->document, what, cancellable, on_progress, on_done, f);
	traces_wait(f->result);
	return rs_trace_document_export_finish(f->result, error);
}

/* Lines of a plain reading, in a stretch, of a vCPU (or all: -1). */
static char *plain(const Fixture *f, guint64 from, guint64 until, int cpu, guint64 *events)
{
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(f->path, NULL, NULL);
	GString *text = g_string_new(NULL);
	const RsTraceRecord *record;

	*events = 0;
	if (from)
		rs_trace_reader_seek(reader, from, NULL, NULL);
	while ((record = rs_trace_reader_next(reader, NULL, NULL)) && record->sorted_ns < until) {
		if (cpu >= 0 && record->kind == RS_TRACE_RECORD_EVENT && record->ring != (guint)cpu)
			continue;
		*events += record->kind == RS_TRACE_RECORD_EVENT;
		rs_trace_text_line(text, record, rs_trace_reader_task(reader),
				   rs_trace_reader_n_sources(reader) > 1 ? RS_TRACE_TEXT_SOURCE
									 : RS_TRACE_TEXT_NONE);
	}
	return g_string_free(text, FALSE);
}

static int compare_lines(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* After a seek it is open which source comes first where times are the same. */
static void sort(char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_autofree char *joined = NULL;

	qsort(lines, g_strv_length(lines), sizeof(*lines), compare_lines);
	joined = g_strjoinv("\n", lines);
	memcpy(text, joined, strlen(joined));
}

static void check(Fixture *f, const RsTraceDocumentExport *what, const char *wanted, guint64 events)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceDocumentExportResult) got = export(f, what, NULL, &error);
	g_autofree char *text = NULL, *sorted = NULL;
	gsize size;

	g_assert_no_error(error);
	g_assert_no_error(got->result.damage);
	g_assert_cmpuint(got->result.events, ==, events);
	g_assert_true(g_file_get_contents(f->out, &text, &size, NULL));
	g_assert_cmpuint(size, ==, strlen(wanted));
	sort(text);
	sorted = g_strdup(wanted);
	sort(sorted);
	g_assert_true(g_str_equal(text, sorted));
	g_assert_cmpint(g_unlink(f->out), ==, 0);
}

static void test_all(Fixture *f, gconstpointer unused)
{
	const RsTraceDocumentExport what = plan(f, "text");
	guint64 events;
	g_autofree char *wanted = plain(f, 0, G_MAXUINT64, -1, &events);

	g_assert_cmpuint(events, >, 1000);
	check(f, &what, wanted, events);
}

static void test_stretches(Fixture *f, gconstpointer unused)
{
	for (guint i = 0; i < 10; i++) {
		RsTraceDocumentExport what = plan(f, "text");
		guint64 length = f->end - f->first, events;
		g_autofree char *wanted = NULL;

		what.from = f->first + g_rand_int(f->rand) % (length / 2) + 1;
		what.until = what.from + g_rand_int(f->rand) % (length / 2);
		wanted = plain(f, what.from, what.until, -1, &events);
		check(f, &what, wanted, events);
	}
}

static void test_filter(Fixture *f, gconstpointer unused)
{
	const char *const filters[] = {"CPU == 1", NULL}, *const bad[] = {"CPU = 1", NULL};
	RsTraceDocumentExport what = plan(f, "text");
	g_autoptr(GError) error = NULL;
	guint64 events, all;
	g_autofree char *wanted = plain(f, 0, G_MAXUINT64, 1, &events);
	g_autofree char *unfiltered = plain(f, 0, G_MAXUINT64, -1, &all);

	g_assert_cmpuint(events, <, all);
	g_assert_cmpuint(strlen(wanted), <, strlen(unfiltered));
	what.filters = filters;
	check(f, &what, wanted, events);
	what.filters = bad;
	g_assert_null(export(f, &what, NULL, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	g_assert_false(g_file_test(f->out, G_FILE_TEST_EXISTS));
}

/* tear_down() sees that nothing is left. */
static void test_failures(Fixture *f, gconstpointer unused)
{
	g_autoptr(GCancellable) cancellable = g_cancellable_new();
	RsTraceDocumentExport what = plan(f, "chrome");
	const char *const slices[] = {"wrong", NULL};
	g_autofree char *nowhere = g_build_filename(f->folder, "no", "such", NULL);
	g_autoptr(GError) error = NULL;

	what.slices = slices;
	g_assert_null(export(f, &what, NULL, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT);
	g_clear_error(&error);
	what = plan(f, "csv");
	what.path = nowhere;
	g_assert_null(export(f, &what, NULL, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND);
	g_clear_error(&error);
	what.path = "/dev/full";
	g_assert_null(export(f, &what, NULL, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NO_SPACE);
	g_clear_error(&error);
	what.path = f->path;
	what.replace = TRUE;
	g_assert_null(export(f, &what, NULL, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_FAILED);
	g_clear_error(&error);
	g_cancellable_cancel(cancellable);
	for (const RsTraceExportFormat *const *format = rs_trace_export_formats(); *format;
	     format++) {
		what = plan(f, (*format)->name);
		g_assert_null(export(f, &what, cancellable, &error));
		g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
		g_clear_error(&error);
	}
}

static void test_replace(Fixture *f, gconstpointer unused)
{
	RsTraceDocumentExport what = plan(f, "csv");
	g_autoptr(GError) error = NULL;
	g_autofree char *text = NULL;

	g_file_set_contents(f->out, "mine", -1, NULL);
	g_assert_null(export(f, &what, NULL, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_EXISTS);
	g_clear_error(&error);
	g_file_get_contents(f->out, &text, NULL, NULL);
	g_assert_cmpstr(text, ==, "mine");
	what.replace = TRUE;
	rs_trace_document_export_result_free(export(f, &what, NULL, &error));
	g_assert_no_error(error);
	g_free(text);
	g_file_get_contents(f->out, &text, NULL, NULL);
	g_assert_true(g_str_has_prefix(text, "ns,source,"));
}

/* What was named and is not there is told, and a wish of another format is passed over. */
static void test_missing(Fixture *f, gconstpointer unused)
{
	RsTraceDocumentExport what = plan(f, "csv");
	const char *const slices[] = {"wrong", NULL};
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceDocumentExportResult) got = NULL;

	what.columns = "no:such";
	what.slices = slices;
	got = export(f, &what, NULL, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(g_strv_length(got->missing), ==, 1);
	g_assert_cmpstr(got->missing[0], ==, "no:such");
}

static guint64 size_of(const char *path)
{
	g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
	const char *name;
	GStatBuf info;
	guint64 size = 0;

	g_assert_cmpint(g_lstat(path, &info), ==, 0);
	if (!folder)
		return (guint64)info.st_size;
	while ((name = g_dir_read_name(folder))) {
		g_autofree char *entry = g_build_filename(path, name, NULL);

		size += size_of(entry);
	}
	return size;
}

static void remove_all(const char *path)
{
	g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
	const char *name;

	while (folder && (name = g_dir_read_name(folder))) {
		g_autofree char *entry = g_build_filename(path, name, NULL);

		remove_all(entry);
	}
	g_assert_cmpint(g_remove(path), ==, 0);
}

/* The size that is told is that of the file, or of all files of the folder. */
static void test_sizes(Fixture *f, gconstpointer unused)
{
	for (const RsTraceExportFormat *const *format = rs_trace_export_formats(); *format;
	     format++) {
		const RsTraceDocumentExport what = plan(f, (*format)->name);
		g_autoptr(GError) error = NULL;
		g_autoptr(RsTraceDocumentExportResult) got = export(f, &what, NULL, &error);

		g_assert_no_error(error);
		g_assert_cmpuint(got->bytes, >, 0);
		g_assert_cmpuint(got->bytes, ==, size_of(f->out));
		remove_all(f->out);
	}
}

/* A field that no event has is known from the events. tear_down() sees that nothing is left. */
static void test_no_field(Fixture *f, gconstpointer unused)
{
	const char *const filters[] = {"no_such_field == 1", NULL};
	RsTraceDocumentExport what = plan(f, "csv");
	g_autoptr(GError) error = NULL;

	what.filters = filters;
	g_assert_null(export(f, &what, NULL, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	g_assert_nonnull(strstr(error->message, "no_such_field"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name) g_test_add("/export/" #name, Fixture, NULL, set_up, test_##name, tear_down)
	ADD(all);
	ADD(stretches);
	ADD(filter);
	ADD(failures);
	ADD(replace);
	ADD(missing);
	ADD(sizes);
	ADD(no_field);
	return g_test_run();
}
