/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include "traces.h"
#include "filter/rs-trace-selection.h"
#include "rs-trace-error.h"
#include "rs-trace-reader.h"
#include "rs-trace-value.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
	GRand *rand;
	char *path;
	const char *paths[2];
	RsTraceDocument *document;
} Fixture;

static void set_up(Fixture *f, gconstpointer back)
{
	f->rand = g_rand_new_with_seed(5);
	f->path = traces_write(
		f->rand,
		&(Plan){.sources = 3, .windows = 60, .session = 1, .back = GPOINTER_TO_INT(back)});
	f->paths[0] = f->path;
	f->document = traces_open(f->paths);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	rs_trace_document_close(f->document);
	g_object_unref(f->document);
	g_unlink(f->path);
	g_free(f->path);
	g_rand_free(f->rand);
}

static guint64 count_rows(RsTraceTimeline *timeline)
{
	guint64 n;

	rs_trace_timeline_lock(timeline);
	n = rs_trace_timeline_n_rows(timeline);
	rs_trace_timeline_unlock(timeline);
	return n;
}

/* The lines that a plain reading leaves, by "source/ring". */
static GHashTable *choose(const Fixture *f, const char *filter, gboolean only)
{
	const char *const filters[] = {filter, NULL};
	g_autoptr(RsTraceSelection) selection = rs_trace_selection_new(
		&(RsTraceSelectionConfig){.filters = filters, .only_filtered = only}, NULL);
	GHashTable *lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
						  (GDestroyNotify)g_ptr_array_unref);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(f->path, NULL, NULL);
	const RsTraceRecord *record;

	while ((record = rs_trace_reader_next(reader, NULL, NULL)))
		if (rs_trace_selection_matches(selection, record, rs_trace_reader_task(reader)))
			traces_take(lines, reader, record);
	return lines;
}

static void check_filter(Fixture *f, const char *filter)
{
	g_autoptr(GHashTable) lines = choose(f, filter, TRUE);
	GError *error = NULL;

	rs_trace_document_set_filter(f->document, (const char *const[]){filter, NULL}, &error);
	g_assert_no_error(error);
	traces_wait(rs_trace_document_filter_progress(f->document) == 1);
	g_assert_cmpuint(
		traces_check(f->document, rs_trace_document_shown(f->document), lines, f->rand), ==,
		traces_count(lines));
}

static void test_filter(Fixture *f, gconstpointer unused)
{
	check_filter(f, "next == 3");
	check_filter(f, "sched:switch: prev & 1");
	check_filter(f, "CPU == 1");
	check_filter(f, "COMM == \"worker\"");
	g_assert_true(rs_trace_document_set_filter(f->document, NULL, NULL));
	g_assert_true(rs_trace_document_shown(f->document) == rs_trace_document_all(f->document));
	g_assert_cmpfloat(rs_trace_document_filter_progress(f->document), ==, 1);
}

/* What the old filter left can still be read by who has it. */
static void test_kept(Fixture *f, gconstpointer unused)
{
	g_autoptr(RsTraceTimeline) old = NULL;
	g_autoptr(GPtrArray) rows = NULL;

	check_filter(f, "next == 3");
	old = rs_trace_timeline_ref(rs_trace_document_shown(f->document));
	check_filter(f, "next == 4");
	rows = traces_fetch(f->document, old, 0, 10, FALSE);
	g_assert_cmpuint(rows->len, ==, 10);
}

static void test_bad(Fixture *f, gconstpointer unused)
{
	g_autoptr(GError) error = NULL;

	check_filter(f, "next == 3");
	g_assert_false(rs_trace_document_set_filter(
		f->document, (const char *const[]){"next ==", NULL}, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	g_assert_cmpstr(rs_trace_document_filter(f->document)[0], ==, "next == 3");
}

/* The index of the file tells that no event has the field, before any record is looked at. */
static void test_no_field(Fixture *f, gconstpointer unused)
{
	g_assert_true(rs_trace_document_set_filter(
		f->document, (const char *const[]){"nothing == 3", NULL}, NULL));
	traces_wait(rs_trace_document_filter_error(f->document));
	g_assert_nonnull(strstr(rs_trace_document_filter_error(f->document)->message, "nothing"));
	g_assert_cmpfloat(rs_trace_document_filter_progress(f->document), ==, 1);
	g_assert_cmpuint(count_rows(rs_trace_document_shown(f->document)), ==, 0);
	check_filter(f, "next == 3");
	g_assert_null(rs_trace_document_filter_error(f->document));
}

static void test_pick(Fixture *f, gconstpointer unused)
{
	static const char *const texts[] = {"sched:switch: next == 1", "demo:*: CPU >= 0"};
	RsTraceTimeline *picks[G_N_ELEMENTS(texts)];

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		const char *const filters[] = {texts[i], NULL};

		picks[i] = rs_trace_document_pick(f->document, filters, NULL);
	}
	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autoptr(GHashTable) lines = choose(f, texts[i], TRUE);

		traces_wait(count_rows(picks[i]) == traces_count(lines));
		traces_check(f->document, picks[i], lines, f->rand);
		rs_trace_timeline_unref(picks[i]);
	}
}

/* ---- what goes wrong ---- */

/* The files cannot be opened any more: that is said, and nothing is waited for. */
static void test_unreadable(Fixture *f, gconstpointer unused)
{
	const char *const filters[] = {"next == 3", NULL};
	struct rlimit old, none;
	RsTraceTimeline *pick;
	GError *error = NULL;
	int lowest;

	getrlimit(RLIMIT_NOFILE, &old);
	lowest = dup(STDERR_FILENO);
	close(lowest);
	none = (struct rlimit){(rlim_t)lowest, old.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	rs_trace_document_set_filter(f->document, filters, NULL);
	traces_wait(rs_trace_document_filter_error(f->document));
	g_assert_error(rs_trace_document_filter_error(f->document), G_IO_ERROR,
		       G_IO_ERROR_TOO_MANY_OPEN_FILES);
	pick = rs_trace_document_pick(f->document, filters, NULL);
	traces_wait(rs_trace_document_pick_progress(f->document, pick, &error) == 1);
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_TOO_MANY_OPEN_FILES);
	setrlimit(RLIMIT_NOFILE, &old);
	g_clear_error(&error);
	rs_trace_timeline_unref(pick);
	check_filter(f, "next == 3");
	g_assert_null(rs_trace_document_filter_error(f->document));
}

/* What a filter lacks is said while the trace still grows. */
static void test_early(Fixture *f, gconstpointer unused)
{
	g_autofree char *fifo = g_strconcat(f->path, ".fifo", NULL), *bytes = NULL;
	g_autoptr(RsTraceDocument) document = NULL;
	g_autoptr(GError) error = NULL;
	RsTraceTimeline *pick;
	gsize size;
	int fd;

	g_assert_true(g_file_get_contents(f->path, &bytes, &size, NULL));
	g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
	fd = g_open(fifo, O_RDWR | O_CLOEXEC, 0); /* so that it waits for nobody */
	g_assert_cmpint(fcntl(fd, F_SETPIPE_SZ, 1 << 20), >=, (int)size);
	g_assert_cmpint(write(fd, bytes, size - 100), ==, (gssize)size - 100);
	document = rs_trace_document_new((const char *const[]){fifo, NULL});
	rs_trace_document_set_filter(document, (const char *const[]){"nothing == 3", NULL}, NULL);
	pick = rs_trace_document_pick(document, (const char *const[]){"nothing == 4", NULL}, NULL);
	traces_wait(rs_trace_document_filter_error(document));
	while (rs_trace_document_pick_progress(document, pick, &error), !error)
		g_main_context_iteration(NULL, TRUE);
	g_assert_nonnull(strstr(error->message, "nothing"));
	g_assert_cmpint(rs_trace_document_state(document), ==, RS_TRACE_DOCUMENT_LOADING);
	rs_trace_timeline_unref(pick);
	rs_trace_document_close(document);
	g_assert_null(
		rs_trace_document_pick(document, (const char *const[]){"next == 3", NULL}, NULL));
	g_assert_null(rs_trace_document_search(document, NULL, "next", NULL));
	close(fd);
	g_unlink(fifo);
}

/* ---- values ---- */

/* What a plain reading finds in that field, in the order of time. */
static GArray *read_values(const Fixture *f, const char *event, const char *field)
{
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(f->path, NULL, NULL);
	GArray *found = g_array_new(FALSE, FALSE, sizeof(double));
	const RsTraceRecord *record;

	while ((record = rs_trace_reader_next(reader, NULL, NULL))) {
		if (!record->event || strcmp(record->event->name, event) != 0)
			continue;
		for (guint i = 0; i < record->event->n_fields; i++) {
			const RsTraceField *at = &record->event->fields[i];
			double value;

			if (strcmp(at->name, field) != 0)
				continue;
			value = at->is_signed
					? (double)(gint64)rs_trace_load_integer(
						  record->payload + at->offset, at->size, TRUE)
					: (double)rs_trace_load_integer(
						  record->payload + at->offset, at->size, FALSE);
			g_array_append_val(found, value);
		}
	}
	return found;
}

static void check_values(Fixture *f, const char *event, const char *field)
{
	g_autofree char *filter = g_strdup_printf("*:%s: CPU >= 0", event);
	g_autoptr(GArray) found = read_values(f, event, field);
	const guint64 edges[2] = {0, G_MAXUINT64};
	double least = INFINITY, most = -INFINITY;
	g_autoptr(RsTraceValues) values = NULL;
	RsTraceValueColumn column;
	g_autoptr(RsTraceTimeline) pick = rs_trace_document_pick_values(
		f->document, (const char *const[]){filter, NULL}, field, &values, NULL);

	for (guint i = 0; i < found->len; i++) {
		least = MIN(least, g_array_index(found, double, i));
		most = MAX(most, g_array_index(found, double, i));
	}
	traces_wait(rs_trace_document_pick_progress(f->document, pick, NULL) == 1);
	rs_trace_values_lock(values);
	g_test_message("%s: %u, %g to %g", field, found->len, least, most);
	g_assert_cmpuint(found->len, >, 50);
	g_assert_cmpuint(rs_trace_values_count(values), ==, found->len);
	rs_trace_values_columns(values, edges, 1, &column);
	g_assert_true(column.has);
	g_assert_cmpfloat(column.least, ==, least);
	g_assert_cmpfloat(column.most, ==, most);
	rs_trace_values_unlock(values);
}

/* Of fields that are numbers there is one for each record, and of others there is none. */
static void test_values(Fixture *f, gconstpointer unused)
{
	static const char *const others[] = {"comm", "nothing"};
	GError *error = NULL;
	RsTraceValues *none;

	check_values(f, "switch", "prev");
	check_values(f, "switch", "next");
	check_values(f, "all", "s");
	for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
		g_autoptr(RsTraceValues) values = NULL;
		g_autoptr(RsTraceTimeline) pick = rs_trace_document_pick_values(
			f->document, (const char *const[]){"demo:*: CPU >= 0", NULL}, others[i],
			&values, NULL);

		traces_wait(rs_trace_document_pick_progress(f->document, pick, NULL) == 1);
		g_assert_cmpuint(count_rows(pick), >, 0);
		rs_trace_values_lock(values);
		g_assert_cmpuint(rs_trace_values_count(values), ==, 0);
		rs_trace_values_unlock(values);
	}
	g_assert_null(rs_trace_document_pick_values(
		f->document, (const char *const[]){"next ==", NULL}, "next", &none, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	g_assert_null(none);
	g_clear_error(&error);
}

/* ---- where a mistake is ---- */

static void test_mistakes(void)
{
	static const struct {
		const char *text;
		guint at;
	} mistakes[] = {
		{"a == 1 && && b == 2", 10},
		{"sched:switch: a == 1 )", 21},
		{"a == \"x", 5},
	};
	guint at, length;

	g_assert_true(rs_trace_document_check_filter("a == 1 && b == 2", NULL, NULL, NULL));
	g_assert_true(rs_trace_document_check_filter("sched:*: a == 1", NULL, NULL, NULL));
	for (guint i = 0; i < G_N_ELEMENTS(mistakes); i++) {
		g_autofree char *message = NULL;

		g_assert_false(
			rs_trace_document_check_filter(mistakes[i].text, &at, &length, &message));
		g_test_message("%s: %u+%u %s", mistakes[i].text, at, length, message);
		g_assert_cmpuint(at, ==, mistakes[i].at);
	}
	g_assert_false(rs_trace_document_check_filter("", NULL, NULL, NULL));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, how) g_test_add("/filter/" #name, Fixture, how, set_up, test_##name, tear_down)
	ADD(filter, NULL);
	g_test_add("/filter/back", Fixture, GINT_TO_POINTER(TRUE), set_up, test_filter, tear_down);
	ADD(kept, NULL);
	ADD(bad, NULL);
	ADD(no_field, NULL);
	ADD(pick, NULL);
	ADD(values, NULL);
	ADD(unreadable, NULL);
	ADD(early, NULL);
	g_test_add_func("/filter/mistakes", test_mistakes);
	return g_test_run();
}
