/* SPDX-License-Identifier: MIT */
/*
 * A document of 10 million events, as a window has it: how long until the first of them are there
 * and until all are, what they take in memory, how long a filter takes, and what rows cost.
 */
#include "document/rs-trace-document.h"
#include "rs-trace-writer.h"
#include "../unit/decode/build.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define RINGS 4u
#define PAGE_RECORDS 250u
#define FETCHES 1000u

static const struct rs_file_source source = {.size = sizeof(source), .ring_count = RINGS};

static void put_told(RsTraceWriter *writer)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();
	struct rs_cmdline_entry name = test_task(1234, 0, "bench");
	const RsTraceWriterTable names = {0, &name, 1, sizeof(name), NULL, 0};
	struct rs_provider entry;
	RsTraceWriterTable provider = {0, &entry, 1, sizeof(entry), NULL, 0};

	test_desc_switch(descs);
	test_desc_all(descs);
	test_provider(&entry, 0, descs);
	provider.data = descs->data;
	provider.data_size = descs->len;
	name.sequence = 2;
	rs_trace_writer_put(writer, RS_FILE_SOURCE, 0, &source, sizeof(source), NULL);
	rs_trace_writer_put_table(writer, RS_FILE_PROVIDER, 0, &provider, NULL);
	rs_trace_writer_put_table(writer, RS_FILE_NAMES, 0, &names, NULL);
}

static void put_page(RsTraceWriter *writer, guint ring, guint64 seq, guint64 ts)
{
	TestPage *page = test_page_new(ring, seq, ts, 1234 + (guint)(seq % 7), 0);
	struct rs_file_page entry = {.from = RS_RING_PAGE_HEADER, .ring = ring};
	g_autoptr(GByteArray) bytes = NULL;

	test_page_header(page)->records = seq * PAGE_RECORDS;
	for (guint32 i = 0; i < PAGE_RECORDS; i++) {
		const guint32 pair[2] = {i * 77, i};

		test_page_record(page, TEST_SWITCH, (guint32)(ts + i * 400 + ring * 90), pair,
				 sizeof(pair));
	}
	bytes = test_page_end(page);
	entry.to = bytes->len;
	rs_trace_writer_put_page(writer, 0, bytes->data, &entry, NULL);
}

/* A window is 100 ms, as a recorder has it. */
static char *write_trace(guint64 events)
{
	const RsTraceWriterConfig config = {0};
	g_autoptr(GOutputStream) stream = NULL;
	g_autoptr(GFile) file = NULL;
	RsTraceWriter *writer;
	guint64 ts = 1000;
	char *path = NULL;

	close(g_file_open_tmp("rs-bench-XXXXXX", &path, NULL));
	file = g_file_new_for_path(path);
	stream = G_OUTPUT_STREAM(g_file_replace(file, NULL, FALSE, 0, NULL, NULL));
	writer = rs_trace_writer_new(stream, &config, NULL);
	put_told(writer);
	for (guint64 seq = 0; seq < events / PAGE_RECORDS / RINGS; seq++) {
		for (guint ring = 0; ring < RINGS; ring++)
			put_page(writer, ring, seq, ts);
		ts += PAGE_RECORDS * 400;
		if (seq % 1000 == 999)
			rs_trace_writer_end_window(writer, ts, NULL);
	}
	rs_trace_writer_close(writer, NULL);
	rs_trace_writer_free(writer);
	return path;
}

static gdouble resident_mib(void)
{
	g_autofree char *text = NULL;
	guint64 pages = 0;

	if (g_file_get_contents("/proc/self/statm", &text, NULL, NULL))
		pages = g_ascii_strtoull(strchr(text, ' '), NULL, 10);
	return (gdouble)pages * (gdouble)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* ---- what is measured ---- */

static void note_time(RsTraceDocument *document, gpointer data)
{
	gint64 *at = data;

	if (!*at)
		*at = g_get_monotonic_time();
}

static RsTraceDocument *open_trace(const char *path, guint64 events)
{
	const gdouble before = resident_mib();
	gint64 start = g_get_monotonic_time(), grown = 0, ended = 0;
	RsTraceDocument *document = rs_trace_document_new((const char *const[]){path, NULL});
	gdouble all;

	g_signal_connect(document, "grown", G_CALLBACK(note_time), &grown);
	g_signal_connect(document, "ended", G_CALLBACK(note_time), &ended);
	while (!ended)
		g_main_context_iteration(NULL, TRUE);
	all = (gdouble)(ended - start) / 1e3;
	g_print("open %" G_GUINT64_FORMAT " M events: first ones after %.0f ms, all after %.0f ms, "
		"%.0f ns an event\n",
		events / 1000000, (gdouble)(grown - start) / 1e3, all, all * 1e6 / (gdouble)events);
	g_print("memory: %.1f bytes an event, %.0f MiB resident\n",
		(gdouble)rs_trace_timeline_size(rs_trace_document_all(document)) / (gdouble)events,
		resident_mib() - before);
	g_signal_handlers_disconnect_by_data(document, &grown);
	g_signal_handlers_disconnect_by_data(document, &ended);
	return document;
}

static guint64 count_rows(RsTraceTimeline *timeline)
{
	guint64 n;

	rs_trace_timeline_lock(timeline);
	n = rs_trace_timeline_n_rows(timeline);
	rs_trace_timeline_unlock(timeline);
	return n;
}

static void measure_filter(RsTraceDocument *document, const char *filter)
{
	gint64 start = g_get_monotonic_time(), first = 0;

	rs_trace_document_set_filter(document, (const char *const[]){filter, NULL}, NULL);
	while (rs_trace_document_filter_progress(document) < 1) {
		g_main_context_iteration(NULL, TRUE);
		if (!first && count_rows(rs_trace_document_shown(document)))
			first = g_get_monotonic_time();
	}
	g_print("filter %-24s %8" G_GUINT64_FORMAT " rows, first ones after %.0f ms, all after "
		"%.0f ms\n",
		filter, count_rows(rs_trace_document_shown(document)),
		(gdouble)(first - start) / 1e3, (gdouble)(g_get_monotonic_time() - start) / 1e3);
}

/* A window's width of columns, of all of the trace and of a tenth. */
static void measure_columns(const RsTraceValues *values, guint64 end)
{
	const guint n = 1400, rounds = 50;
	g_autofree guint64 *edges = g_new(guint64, n + 1);
	g_autofree RsTraceValueColumn *columns = g_new(RsTraceValueColumn, n);
	gint64 start, took[2];

	for (guint zoom = 0; zoom < 2; zoom++) {
		for (guint i = 0; i <= n; i++)
			edges[i] = end / (zoom ? 10 : 1) * i / n;
		start = g_get_monotonic_time();
		for (guint i = 0; i < rounds; i++)
			rs_trace_values_columns(values, edges, n, columns);
		took[zoom] = g_get_monotonic_time() - start;
	}
	g_print("curve: %u columns take %.2f ms, of a tenth of the trace %.2f ms\n", n,
		(gdouble)took[0] / 1e3 / rounds, (gdouble)took[1] / 1e3 / rounds);
}

static void measure_curve(RsTraceDocument *document, const char *filter, const char *field)
{
	const gdouble before = resident_mib();
	const gint64 start = g_get_monotonic_time();
	gint64 first = 0;
	g_autoptr(RsTraceValues) values = NULL;
	g_autoptr(RsTraceTimeline) pick = rs_trace_document_pick_values(
		document, (const char *const[]){filter, NULL}, field, &values, NULL);
	guint64 n = 0, from, end;

	while (rs_trace_document_pick_progress(document, pick, NULL) < 1) {
		g_main_context_iteration(NULL, TRUE);
		rs_trace_values_lock(values);
		n = rs_trace_values_count(values);
		rs_trace_values_unlock(values);
		if (!first && n)
			first = g_get_monotonic_time();
	}
	rs_trace_timeline_lock(pick);
	rs_trace_timeline_span(pick, &from, &end);
	rs_trace_timeline_unlock(pick);
	rs_trace_values_lock(values);
	n = rs_trace_values_count(values);
	g_print("curve of %s: %" G_GUINT64_FORMAT " values, first ones after %.0f ms, all after "
		"%.0f ms; %.1f bytes each and %.0f MiB more resident with their events\n",
		field, n, (gdouble)(first - start) / 1e3,
		(gdouble)(g_get_monotonic_time() - start) / 1e3,
		(gdouble)rs_trace_values_size(values) / (gdouble)MAX(n, 1),
		resident_mib() - before);
	measure_columns(values, end);
	rs_trace_values_unlock(values);
}

static void on_rows(GObject *object, GAsyncResult *result, gpointer data)
{
	*(GPtrArray **)data =
		rs_trace_document_read_finish(RS_TRACE_DOCUMENT(object), result, NULL);
}

/* FALSE: a row could not be read. */
static gboolean fetch(RsTraceDocument *document, RsTraceTimeline *timeline, guint64 first, guint n)
{
	g_autofree RsTraceTimelineRow *rows = g_new(RsTraceTimelineRow, n);
	g_autoptr(GPtrArray) found = NULL;

	rs_trace_timeline_lock(timeline);
	n = rs_trace_timeline_rows(timeline, first, n, rows);
	rs_trace_timeline_unlock(timeline);
	rs_trace_document_read_async(document, timeline, rows, n, FALSE, NULL, on_rows, &found);
	while (!found)
		g_main_context_iteration(NULL, TRUE);
	for (guint i = 0; i < n; i++)
		if (!found->pdata[i])
			return FALSE;
	return n > 0;
}

static int by_time(gconstpointer a, gconstpointer b)
{
	const gint64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void measure_rows(RsTraceDocument *document, const char *what, RsTraceTimeline *timeline,
			 guint n)
{
	const guint64 total = count_rows(timeline);
	gint64 took[FETCHES];
	gboolean right = TRUE;

	for (guint i = 0; i < FETCHES; i++) {
		gint64 start = g_get_monotonic_time();

		right &= fetch(document, timeline, (guint64)g_random_int() * 7919 % (total - n), n);
		took[i] = g_get_monotonic_time() - start;
	}
	qsort(took, FETCHES, sizeof(*took), by_time);
	g_print("fetch %2u rows anywhere%s: %.2f ms at the median, %.2f at p99%s\n", n, what,
		(gdouble)took[FETCHES / 2] / 1e3, (gdouble)took[FETCHES * 99 / 100] / 1e3,
		right ? "" : " (wrong)");
}

int main(int argc, char **argv)
{
	const guint64 millions = argc > 1 ? g_ascii_strtoull(argv[1], NULL, 10) : 10;
	const guint64 events = millions * 1000000;
	char *path = write_trace(events);
	RsTraceDocument *document = open_trace(path, events);

	measure_rows(document, "", rs_trace_document_all(document), 1);
	measure_rows(document, "", rs_trace_document_all(document), 50);
	measure_curve(document, "sched:switch: CPU >= 0", "prev");
	measure_filter(document, "next == 7");
	measure_rows(document, " of a filter", rs_trace_document_shown(document), 50);
	measure_filter(document, "PID == 1235");
	rs_trace_document_close(document);
	g_object_unref(document);
	g_unlink(path);
	g_free(path);
	return 0;
}
