/* SPDX-License-Identifier: MIT */
/*
 * A hostile trace file as a window opens it, but for the window: its timeline, rows, a filter, a
 * search, lanes and the figures of a stretch, each from the thread that does it. Input: what the
 * user asks for, the file. The checks of its blocks are put right first.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "input.h"
#include "seed.h"
#include "trace-file.h"
#include "document/rs-trace-document.h"
#include "document/rs-trace-measure.h"
#include "rs-trace-writer.h"
#include "timeline/rs-trace-raster.h"
#include "../unit/decode/build.h"

#include <ringside/region.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COLUMNS 48u
#define ROWS 8u

struct asked {
	uint8_t filter, search, pair, ops;
	uint16_t row;   /* share of all rows */
	uint16_t from;  /* share of the trace's time */
	uint16_t until; /* likewise */
	uint16_t pad;
};

enum { OP_FILTER = 1, OP_SEARCH = 2, OP_PICK = 4, OP_MEASURE = 8, OP_ROWS = 16, OP_CLOSE = 32 };

static const char *const filters[] = {"prev < 3",
				      "sched:*",
				      "demo:all",
				      "CPU == 0",
				      "nosuch == 1",
				      "COMM ~ \"s*\"",
				      "sched:switch: next != 1"};
static const char *const searches[] = {"switch", "=", "seven", "\\x", ""};
static const char *const pairs[] = {"switch..switch", "*..*", "sched:switch..demo:all"};

/* ---- seeds ---- */

static void put_page(RsTraceWriter *writer, guint ring, guint64 seq, guint64 ns, guint64 lost)
{
	struct rs_file_page entry = {.from = RS_RING_PAGE_HEADER, .ring = ring, .lost = lost};
	g_autoptr(GByteArray) all = test_payload_all(), bytes = NULL;
	TestPage *page = test_page_new(ring, seq, ns, 7, 0);

	test_page_record(page, TEST_SWITCH, (guint32)ns, &(guint64){seq}, 8);
	test_page_context(page, 8, 0x321);
	test_page_record(page, TEST_ALL, (guint32)ns + 1, all->data, all->len);
	test_page_record(page, 999, (guint32)ns + 2, "?", 1);
	test_page_record(page, TEST_SWITCH, (guint32)ns + 2, &(guint64){7}, 8);
	bytes = test_page_end(page);
	entry.to = bytes->len;
	rs_trace_writer_put_page(writer, 0, bytes->data, &entry, NULL);
}

static void put_tables(RsTraceWriter *writer)
{
	const struct rs_clock_epoch epoch = {.mult = 1u << 31, .shift = 31};
	struct rs_cmdline_entry name = test_task(7, 1, "seven");
	g_autoptr(GByteArray) descs = g_byte_array_new();
	struct rs_provider entry;
	RsTraceWriterTable provider = {0, &entry, 1, sizeof(entry), NULL, 0};
	const RsTraceWriterTable clock = {1, &epoch, 1, sizeof(epoch), NULL, 0};
	const RsTraceWriterTable names = {0, &name, 1, sizeof(name), NULL, 0};

	test_desc_switch(descs);
	test_desc_all(descs);
	test_provider(&entry, 0, descs);
	provider.data = descs->data;
	provider.data_size = descs->len;
	name.sequence = 2;
	rs_trace_writer_put_table(writer, RS_FILE_PROVIDER, 0, &provider, NULL);
	rs_trace_writer_put_table(writer, RS_FILE_CLOCK, 0, &clock, NULL);
	rs_trace_writer_put_table(writer, RS_FILE_NAMES, 0, &names, NULL);
}

static void put_seed(const char *name, struct asked asked)
{
	struct rs_file_source source = {.size = sizeof(source), .ring_count = 2, .name = "a"};
	GOutputStream *stream = g_memory_output_stream_new_resizable();
	RsTraceWriter *writer = rs_trace_writer_new(stream, &(RsTraceWriterConfig){0}, NULL);
	g_autoptr(GByteArray) seed = g_byte_array_new();

	rs_trace_writer_put(writer, RS_FILE_SOURCE, 0, &source, sizeof(source), NULL);
	put_tables(writer);
	for (guint i = 0; i < 6; i++) {
		put_page(writer, i % 2, i / 2, 10 + i * 10, i == 3 ? 5 : 0);
		rs_trace_writer_end_window(writer, 15 + i * 10, NULL);
	}
	rs_trace_writer_close(writer, NULL);
	rs_trace_writer_free(writer);
	g_byte_array_append(seed, (const guint8 *)&asked, sizeof(asked));
	g_byte_array_append(
		seed, g_memory_output_stream_get_data(G_MEMORY_OUTPUT_STREAM(stream)),
		(guint)g_memory_output_stream_get_data_size(G_MEMORY_OUTPUT_STREAM(stream)));
	rs_fuzz_seed(name, seed->data, seed->len);
	g_object_unref(stream);
}

static void rs_fuzz_seeds(void)
{
	put_seed("rows", (struct asked){.ops = OP_ROWS});
	put_seed("filter", (struct asked){.ops = OP_FILTER | OP_ROWS, .row = 30000});
	put_seed("search", (struct asked){.ops = OP_FILTER | OP_SEARCH, .filter = 1});
	put_seed("lane", (struct asked){.ops = OP_PICK, .filter = 2});
	put_seed("measure", (struct asked){.ops = OP_MEASURE, .until = 65535});
	put_seed("close", (struct asked){.ops = 0xff, .until = 65535});
}

/* ---- threads ---- */

typedef struct {
	GThreadFunc func;
	gpointer data;
} Job;

static GMutex lock;
static GCond ended;
static guint n_running;

static void run_job(gpointer data, gpointer user)
{
	Job job = *(Job *)data;

	g_free(data);
	job.func(job.data);
	g_mutex_lock(&lock);
	n_running--;
	g_cond_signal(&ended);
	g_mutex_unlock(&lock);
}

/* What they still have would look like a leak. */
static void wait_for_all(void)
{
	g_mutex_lock(&lock);
	while (n_running)
		g_cond_wait(&ended, &lock);
	g_mutex_unlock(&lock);
}

/* A thread that is there already: to make one takes longer than all that it does. Nobody joins. */
GThread *__wrap_g_thread_new(const char *name, GThreadFunc func, gpointer data);
GThread *__wrap_g_thread_new(const char *name, GThreadFunc func, gpointer data)
{
	static GThreadPool *pool;
	Job *job = g_new(Job, 1);

	if (!pool) {
		g_thread_pool_set_max_unused_threads(-1);
		g_thread_pool_set_max_idle_time(0);
		pool = g_thread_pool_new(run_job, NULL, -1, FALSE, NULL);
	}
	*job = (Job){func, data};
	g_mutex_lock(&lock);
	n_running++;
	g_mutex_unlock(&lock);
	g_thread_pool_push(pool, job, NULL);
	return g_thread_ref(g_thread_self());
}

int __wrap_malloc_trim(size_t pad);
int __wrap_malloc_trim(size_t pad)
{
	return 0;
}

/* ---- the target ---- */

#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#define wait_until(condition)                                                                      \
	while (!(condition))                                                                       \
	g_main_context_iteration(NULL, TRUE)

static guint64 share_of(guint64 from, guint64 until, guint16 share)
{
	return from + (guint64)((double)(until - from) * share / 65535);
}

/* All pixels of a lane, and that nothing gets lost between them. */
static void draw(const RsTraceTimelineRing *ring, guint64 from, guint64 until)
{
	guint64 edges[COLUMNS + 1], points = 0;
	RsTraceShade shades[COLUMNS];
	guint32 pixels[COLUMNS];
	guint8 marks[COLUMNS] = {0};
	guint n;

	if (until <= from)
		return;
	n = rs_trace_raster_edges(from, until, COLUMNS, edges);
	must(n > 0 && n <= COLUMNS && edges[0] == from && edges[n] == until);
	rs_trace_series_columns(ring->events, edges, n, until, shades);
	for (guint i = 0; i < n; i++)
		points += shades[i].weight;
	must(points ==
	     rs_trace_series_rank(ring->events, until) - rs_trace_series_rank(ring->events, from));
	rs_trace_raster_points(shades, n, 4, pixels, COLUMNS);
	rs_trace_series_columns(ring->tasks, edges, n, until, shades);
	rs_trace_raster_spans(shades, edges, n, pixels, COLUMNS);
	rs_trace_raster_losses((const RsTraceTimelineLoss *)(void *)ring->losses->data,
			       ring->losses->len, edges, n, marks);
	rs_trace_raster_marks(marks, n, 0xffff0000, pixels, COLUMNS);
}

/* Rows are in the order of time, and each is found by its place. */
static guint look(RsTraceTimeline *timeline, const struct asked *asked, RsTraceTimelineRow *rows)
{
	const RsTraceTimelineRing *ring;
	guint64 first, end, all, sum = 0, from;
	guint n;

	rs_trace_timeline_lock(timeline);
	rs_trace_timeline_span(timeline, &first, &end);
	all = rs_trace_timeline_n_rows(timeline);
	for (guint i = 0; (ring = rs_trace_timeline_ring(timeline, i)); i++) {
		sum += rs_trace_series_count(ring->events);
		draw(ring, first, end);
		draw(ring, share_of(first, end, asked->from), share_of(first, end, asked->until));
	}
	must(sum == all);
	for (guint i = 0; rs_trace_timeline_task(timeline, i) && i < 4; i++)
		must(rs_trace_timeline_task(timeline, i)->comm != NULL);
	from = share_of(0, all, asked->row);
	n = rs_trace_timeline_rows(timeline, from, ROWS, rows);
	must(n == MIN(ROWS, all - from));
	for (guint i = 0; i < n; i++) {
		must(!i || rows[i].ns >= rows[i - 1].ns);
		must(rs_trace_timeline_row_of(timeline, rows[i].ring, rows[i].index) == from + i);
		must(rs_trace_timeline_rank(timeline, rows[i].ns) <= from + i);
		must(rs_trace_timeline_class(timeline, rows[i].class) != NULL);
	}
	rs_trace_timeline_unlock(timeline);
	return n;
}

typedef struct {
	GPtrArray *rows;
	gboolean done;
} Answer;

static void on_rows(GObject *object, GAsyncResult *result, gpointer data)
{
	Answer *answer = data;

	answer->rows = rs_trace_document_read_finish(RS_TRACE_DOCUMENT(object), result, NULL);
	answer->done = TRUE;
}

static void fetch(RsTraceDocument *document, RsTraceTimeline *timeline, const struct asked *asked)
{
	RsTraceTimelineRow rows[ROWS];
	guint n = look(timeline, asked, rows);
	Answer answer = {0};

	if (!n || !(asked->ops & OP_ROWS))
		return;
	rs_trace_document_read_async(document, timeline, rows, n, asked->ops & OP_CLOSE, NULL,
				     on_rows, &answer);
	wait_until(answer.done);
	if (!answer.rows)
		return;
	must(answer.rows->len == n);
	for (guint i = 0; i < n; i++) {
		const RsTraceRow *row = answer.rows->pdata[i];

		must(!row ||
		     (row->line && row->json && row->text && g_utf8_validate(row->line, -1, NULL)));
	}
	g_ptr_array_unref(answer.rows);
}

static void on_measured(GObject *object, GAsyncResult *result, gpointer data)
{
	rs_trace_measure_free(rs_trace_document_measure_finish(result, NULL));
	*(gboolean *)data = TRUE;
}

static void measure(RsTraceDocument *document, const struct asked *asked)
{
	RsTraceTimeline *timeline = rs_trace_document_all(document);
	RsTraceMeasureConfig config = {.pair = pairs[asked->pair % G_N_ELEMENTS(pairs)],
				       .filters = rs_trace_document_filter(document)};
	gboolean done = FALSE;
	guint64 first, end;

	rs_trace_timeline_lock(timeline);
	rs_trace_timeline_span(timeline, &first, &end);
	rs_trace_timeline_unlock(timeline);
	config.from = share_of(first, end, asked->from);
	config.until = share_of(first, end, asked->until);
	rs_trace_document_measure_async(document, &config, NULL, NULL, on_measured, &done);
	wait_until(done);
}

static void ask(RsTraceDocument *document, const struct asked *asked)
{
	const char *const filter[] = {filters[asked->filter % G_N_ELEMENTS(filters)], NULL};
	g_autoptr(RsTraceTimeline) found = NULL, lane = NULL;
	RsTraceTimelineRow rows[ROWS];

	fetch(document, rs_trace_document_all(document), asked);
	if (asked->ops & OP_FILTER) {
		must(rs_trace_document_set_filter(document, filter, NULL));
		wait_until(rs_trace_document_filter_progress(document) >= 1);
		fetch(document, rs_trace_document_shown(document), asked);
	}
	if (asked->ops & OP_SEARCH) {
		found = rs_trace_document_search(
			document, NULL, searches[asked->search % G_N_ELEMENTS(searches)], NULL);
		wait_until(rs_trace_document_pick_progress(document, found, NULL) >= 1);
		look(found, asked, rows);
	}
	if (asked->ops & OP_PICK) {
		lane = rs_trace_document_pick(document, filter, NULL);
		wait_until(rs_trace_document_pick_progress(document, lane, NULL) >= 1);
		look(lane, asked, rows);
	}
	if (asked->ops & OP_MEASURE)
		measure(document, asked);
}

/* A file without a name: its path is that of its descriptor. */
static int make_file(const guint8 *data, gsize size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	g_autofree char *path = NULL;
	g_autofree guint8 *copy = NULL;
	RsTraceDocument *document;
	struct asked asked;
	int fd;

	if (!rs_fuzz_take(&in, &asked, sizeof(asked)))
		return 0;
	copy = g_memdup2(in.data, in.left);
	rs_fuzz_put_right(copy, in.left);
	fd = make_file(copy, in.left);
	path = g_strdup_printf("/proc/self/fd/%d", fd);
	document = rs_trace_document_new((const char *const[]){path, NULL});
	wait_until(rs_trace_document_state(document) != RS_TRACE_DOCUMENT_LOADING);
	if (rs_trace_document_state(document) == RS_TRACE_DOCUMENT_READY)
		ask(document, &asked);
	rs_trace_document_close(document);
	g_object_unref(document);
	wait_for_all();
	close(fd);
	return 0;
}
