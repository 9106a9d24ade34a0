/* SPDX-License-Identifier: MIT */
/* Figures of a stretch are those of a plain reading of it. */
#include "document/rs-trace-measure.h"
#include "traces.h"

#include <glib/gstdio.h>

typedef struct {
	GRand *rand;
	char *path;
	RsTraceDocument *document;
	guint64 first, end;
	GAsyncResult *result;
	guint told;
	double share;
} Fixture;

static void set_up(Fixture *f, gconstpointer unused)
{
	const char *paths[] = {NULL, NULL};
	RsTraceTimeline *all;

	f->rand = g_rand_new_with_seed(7);
	f->path = traces_write(f->rand, &(Plan){.sources = 3, .windows = 60, .session = 1});
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
	g_free(f->path);
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
	f->told++;
}

static RsTraceMeasure *measure(Fixture *f, const RsTraceMeasureConfig *config,
			       GCancellable *cancellable, GError **error)
{
	g_clear_object(&f->result);
	f->share = 0;
	rs_trace_document_measure_async(f->document, config, cancellable, on_progress, on_done, f);
	traces_wait(f->result);
	return rs_trace_document_measure_finish(f->result, error);
}

/* Records have random times, which may go back: what comes up to the first that is too late. */
static guint64 plain(const Fixture *f, guint64 from, guint64 until)
{
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(f->path, NULL, NULL);
	const RsTraceRecord *record;
	guint64 events = 0;

	if (from > f->first)
		rs_trace_reader_seek(reader, from, NULL, NULL);
	while ((record = rs_trace_reader_next(reader, NULL, NULL)) && record->sorted_ns < until)
		events += record->kind == RS_TRACE_RECORD_EVENT;
	return events;
}

/* As who reads the trace from its start sees them, where its rows have them. */
static guint64 plain_losses(const Fixture *f, guint64 from, guint64 until)
{
	g_autoptr(GHashTable) last =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(f->path, NULL, NULL);
	const RsTraceRecord *record;
	guint64 lost = 0;

	while ((record = rs_trace_reader_next(reader, NULL, NULL))) {
		const guint64 key = (guint64)record->origin->index << 32 | record->ring;
		guint64 *ns = g_hash_table_lookup(last, &key);

		if (!ns) {
			ns = g_new0(guint64, 2);
			ns[1] = key;
			g_hash_table_insert(last, &ns[1], ns);
		}
		ns[0] = MAX(ns[0], record->sorted_ns);
		if (ns[0] >= from && ns[0] < until)
			lost += record->lost;
	}
	return lost;
}

static void test_stretches(Fixture *f, gconstpointer unused)
{
	guint64 all = 0;

	for (guint i = 0; i < 20; i++) {
		guint64 length = f->end - f->first;
		guint64 a = f->first + (i ? g_rand_int(f->rand) % length : 0);
		guint64 b = i ? f->first + g_rand_int(f->rand) % length : f->end;
		const RsTraceMeasureConfig config = {.from = MIN(a, b), .until = MAX(a, b) + 1};
		g_autoptr(GError) error = NULL;
		g_autoptr(RsTraceMeasure) got = measure(f, &config, NULL, &error);
		guint64 events, known = 0;

		g_assert_no_error(error);
		events = plain(f, config.from, config.until);
		g_assert_cmpuint(rs_trace_stat_total(got->stat)->events, ==, events);
		g_assert_cmpuint(rs_trace_stat_total(got->stat)->lost, ==,
				 plain_losses(f, config.from, config.until));
		g_assert_cmpuint(rs_trace_stat_span(got->stat), ==,
				 MAX(MIN(config.until, f->end), config.from + 1) - config.from);
		for (guint k = 0; k < got->tasks->len; k++)
			known += g_array_index(got->tasks, RsTraceMeasureTask, k).ns;
		g_assert_cmpuint(known, <=, got->vcpu_ns);
		all = MAX(all, events);
	}
	g_assert_cmpuint(all, >, 1000);
}

/* A marker behind the trace gives its last tasks no time. */
static void test_beyond(Fixture *f, gconstpointer unused)
{
	RsTraceMeasureConfig config = {.from = f->first, .until = f->end};
	g_autoptr(RsTraceMeasure) all = measure(f, &config, NULL, NULL), beyond = NULL;

	config.until = f->end + G_TIME_SPAN_DAY;
	beyond = measure(f, &config, NULL, NULL);
	g_assert_cmpuint(all->tasks->len, >, 0);
	g_assert_cmpuint(beyond->tasks->len, ==, all->tasks->len);
	for (guint i = 0; i < all->tasks->len; i++)
		g_assert_cmpuint(g_array_index(beyond->tasks, RsTraceMeasureTask, i).ns, ==,
				 g_array_index(all->tasks, RsTraceMeasureTask, i).ns);
	g_assert_cmpuint(beyond->vcpu_ns, ==, all->vcpu_ns);
}

static void test_filter(Fixture *f, gconstpointer unused)
{
	const char *const none[] = {"nothing:*", NULL}, *const bad[] = {"pid = 1", NULL};
	RsTraceMeasureConfig config = {.from = f->first, .until = f->end, .filters = none};
	g_autoptr(GError) error = NULL;
	g_autoptr(RsTraceMeasure) got = measure(f, &config, NULL, &error);

	g_assert_no_error(error);
	g_assert_cmpuint(rs_trace_stat_total(got->stat)->events, ==, 0);
	config.filters = bad;
	g_assert_null(measure(f, &config, NULL, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
	g_clear_error(&error);
	config.filters = NULL;
	config.pair = "no pair";
	g_assert_null(measure(f, &config, NULL, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_SELECTION);
}

static void test_latency(Fixture *f, gconstpointer unused)
{
	const RsTraceMeasureConfig config = {
		.from = f->first, .until = f->end, .pair = "sched:switch..sched:switch"};
	g_autoptr(RsTraceMeasure) got = measure(f, &config, NULL, NULL);
	RsTraceLatencyResult result;

	rs_trace_latency_result(got->latency, &result);
	g_assert_cmpuint(rs_trace_distribution_count(result.ns) + result.spanning, >, 100);
}

static void test_cancel(Fixture *f, gconstpointer unused)
{
	const RsTraceMeasureConfig config = {.from = f->first, .until = f->end};
	g_autoptr(GCancellable) cancellable = g_cancellable_new();
	g_autoptr(GError) error = NULL;

	g_cancellable_cancel(cancellable);
	g_assert_null(measure(f, &config, cancellable, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_CANCELLED);
	g_assert_cmpuint(f->told, ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, func) g_test_add("/measure/" name, Fixture, NULL, set_up, func, tear_down)
	ADD("stretches", test_stretches);
	ADD("beyond", test_beyond);
	ADD("filter", test_filter);
	ADD("latency", test_latency);
	ADD("cancel", test_cancel);
	return g_test_run();
}
