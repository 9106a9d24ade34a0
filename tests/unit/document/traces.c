/* SPDX-License-Identifier: MIT */
#include "traces.h"

#include "rs-trace-reader.h"
#include "rs-trace-text.h"
#include "rs-trace-writer.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define RINGS 3u

/* ---- writing ---- */

typedef struct {
	RsTraceWriter *writer;
	GRand *rand;
	const Plan *plan;
	guint64 next; /* number of the next record */
	guint64 now;
	guint64 seq[16][RINGS], records[16][RINGS];
	guint boot[16];
	gboolean is_there[16];
} Build;

static guint draw(Build *b, guint n)
{
	return (guint)g_rand_int_range(b->rand, 0, (gint32)n);
}

static void join(Build *b, guint source)
{
	struct rs_file_source info = {.size = sizeof(info),
				      .ring_count = RINGS,
				      .number = source + 1,
				      .session_id = b->plan->session};
	g_autoptr(GByteArray) descs = g_byte_array_new();
	struct rs_provider entry;
	RsTraceWriterTable table = {0, &entry, 1, sizeof(entry), NULL, 0};
	struct rs_cmdline_entry task = test_task(7, 1, "worker");
	const RsTraceWriterTable names = {0, &task, 1, sizeof(task), NULL, 0};

	g_snprintf(info.name, sizeof(info.name), "source-%u", source);
	test_desc_switch(descs);
	test_desc_all(descs);
	test_provider(&entry, 0, descs);
	table.data = descs->data;
	table.data_size = descs->len;
	task.sequence = 2;
	g_assert_true(
		rs_trace_writer_put(b->writer, RS_FILE_SOURCE, source, &info, sizeof(info), NULL));
	g_assert_true(rs_trace_writer_put_table(b->writer, RS_FILE_PROVIDER, source, &table, NULL));
	g_assert_true(rs_trace_writer_put_table(b->writer, RS_FILE_NAMES, source, &names, NULL));
	memset(b->seq[source], 0, sizeof(b->seq[source]));
	memset(b->records[source], 0, sizeof(b->records[source]));
	b->boot[source] = 1;
	b->is_there[source] = TRUE;
}

/* Some records of equal times, some of one event, some of another, some of none. */
static void put_records(Build *b, TestPage *page, guint64 *ts, guint n)
{
	g_autoptr(GByteArray) all = test_payload_all();

	for (guint i = 0; i < n; i++) {
		guint32 pair[2] = {(guint32)b->next, (guint32)b->next % 5};
		guint kind = draw(b, 8);

		*ts += draw(b, 3) ? 0 : draw(b, 20);
		b->next++;
		if (kind < 6)
			test_page_record(page, TEST_SWITCH, (guint32)*ts, pair, sizeof(pair));
		else if (kind == 6)
			test_page_record(page, TEST_ALL, (guint32)*ts, all->data, all->len);
		else
			test_page_record(page, TEST_ALL + 40, (guint32)*ts, pair, sizeof(pair));
	}
}

static void put_page(Build *b, guint source)
{
	const guint ring = draw(b, RINGS), n = 1 + draw(b, 40);
	guint64 ts = b->now + draw(b, 60), lost = draw(b, 4) ? 0 : 1 + draw(b, 9);
	struct rs_file_page entry = {.lost = lost, .from = RS_RING_PAGE_HEADER, .ring = ring};
	g_autoptr(GByteArray) bytes = NULL;
	TestPage *page;

	if (b->plan->back && !draw(b, 4))
		ts -= MIN(ts - 1, draw(b, 300));
	page = test_page_new(ring, b->seq[source][ring]++, ts, 7, 0);
	b->records[source][ring] += lost;
	test_page_header(page)->records = b->records[source][ring];
	test_page_header(page)->boot = b->boot[source];
	put_records(b, page, &ts, n);
	b->records[source][ring] += n;
	bytes = test_page_end(page);
	entry.to = bytes->len;
	g_assert_true(rs_trace_writer_put_page(b->writer, source, bytes->data, &entry, NULL));
}

static void put_window(Build *b)
{
	for (guint i = 0; i < b->plan->sources; i++) {
		if (b->plan->late && !b->is_there[i] && !draw(b, 3))
			join(b, i);
		for (guint n = draw(b, 8); b->is_there[i] && n > 0; n--)
			put_page(b, i);
		if (b->is_there[i] && !draw(b, 20))
			b->boot[i]++;
		if (b->plan->late && b->is_there[i] && !draw(b, 6)) {
			g_assert_true(
				rs_trace_writer_put(b->writer, RS_FILE_LEFT, i, NULL, 0, NULL));
			b->is_there[i] = FALSE;
		}
	}
	b->now += 100;
	g_assert_true(rs_trace_writer_end_window(b->writer, b->now + 50, NULL));
}

static void damage(Build *b, char *bytes, gsize size)
{
	for (guint i = 0; i < 6; i++)
		bytes[size / 8 + draw(b, (guint)(size - size / 8))] ^= (char)(1 + draw(b, 255));
}

char *traces_write(GRand *rand, const Plan *plan)
{
	const RsTraceWriterConfig config = {.wall_ns = plan->wall_ns};
	g_autoptr(GOutputStream) stream = g_memory_output_stream_new_resizable();
	Build b = {.rand = rand, .plan = plan, .now = 100, .next = (guint64)plan->session << 20};
	g_autoptr(GBytes) bytes = NULL;
	g_autofree char *data = NULL;
	char *path = NULL;
	gsize size;

	b.writer = rs_trace_writer_new(stream, &config, NULL);
	for (guint i = 0; i < plan->sources; i++)
		if (!plan->late || !i)
			join(&b, i);
	for (guint i = 0; i < plan->windows; i++) {
		gsize end;

		put_window(&b);
		end = (gsize)g_seekable_tell(G_SEEKABLE(stream));
		if (plan->ends)
			g_array_append_val(plan->ends, end);
	}
	g_assert_true(rs_trace_writer_close(b.writer, NULL));
	rs_trace_writer_free(b.writer);
	bytes = g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(stream));
	data = g_memdup2(g_bytes_get_data(bytes, &size), g_bytes_get_size(bytes));
	if (plan->damaged)
		damage(&b, data, size);
	close(g_file_open_tmp("ringside-XXXXXX", &path, NULL));
	g_assert_true(g_file_set_contents(path, data, (gssize)size, NULL));
	return path;
}

/* ---- reading ---- */

static GPtrArray *lines_of(GHashTable *lines, guint source, guint ring)
{
	g_autofree char *key = g_strdup_printf("%u/%u", source, ring);
	GPtrArray *found = g_hash_table_lookup(lines, key);

	if (!found) {
		found = g_ptr_array_new_with_free_func(g_free);
		g_hash_table_insert(lines, g_steal_pointer(&key), found);
	}
	return found;
}

void traces_take(GHashTable *lines, RsTraceReader *reader, const RsTraceRecord *record)
{
	g_autoptr(GString) line = g_string_new(NULL);

	rs_trace_text_line(line, record, rs_trace_reader_task(reader),
			   rs_trace_reader_n_sources(reader) > 1 ? RS_TRACE_TEXT_SOURCE
								 : RS_TRACE_TEXT_NONE);
	g_string_truncate(line, line->len - 1);
	g_ptr_array_add(lines_of(lines, record->origin->index, record->ring), g_strdup(line->str));
}

GHashTable *traces_read(const char *const *paths)
{
	GHashTable *lines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
						  (GDestroyNotify)g_ptr_array_unref);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_open(paths[0], NULL, NULL);
	const RsTraceRecord *record;

	g_assert_nonnull(reader);
	for (guint i = 1; paths[i]; i++)
		g_assert_true(rs_trace_reader_add_path(reader, paths[i], NULL, NULL));
	while ((record = rs_trace_reader_next(reader, NULL, NULL)))
		traces_take(lines, reader, record);
	return lines;
}

guint traces_count(GHashTable *lines)
{
	GHashTableIter iter;
	gpointer value;
	guint n = 0;

	g_hash_table_iter_init(&iter, lines);
	while (g_hash_table_iter_next(&iter, NULL, &value))
		n += ((GPtrArray *)value)->len;
	return n;
}

/* ---- documents ---- */

RsTraceDocument *traces_open(const char *const *paths)
{
	RsTraceDocument *document = rs_trace_document_new(paths);

	traces_wait(rs_trace_document_state(document) != RS_TRACE_DOCUMENT_LOADING);
	return document;
}

static void on_rows(GObject *object, GAsyncResult *result, gpointer data)
{
	g_autoptr(GError) error = NULL;

	*(GPtrArray **)data =
		rs_trace_document_read_finish(RS_TRACE_DOCUMENT(object), result, &error);
	g_assert_no_error(error);
}

static guint get_rows(RsTraceTimeline *timeline, guint64 first, guint n, RsTraceTimelineRow *out)
{
	rs_trace_timeline_lock(timeline);
	n = rs_trace_timeline_rows(timeline, first, n, out);
	rs_trace_timeline_unlock(timeline);
	return n;
}

GPtrArray *traces_fetch(RsTraceDocument *document, RsTraceTimeline *timeline, guint64 first,
			guint n, gboolean with_details)
{
	g_autofree RsTraceTimelineRow *rows = g_new0(RsTraceTimelineRow, n + 1);
	GPtrArray *found = NULL;

	n = get_rows(timeline, first, n, rows);
	rs_trace_document_read_async(document, timeline, rows, n, with_details, NULL, on_rows,
				     &found);
	traces_wait(found);
	g_assert_cmpuint(found->len, ==, n);
	return found;
}

static void check_row(RsTraceTimeline *timeline, const RsTraceTimelineRow *at,
		      const RsTraceRow *row, GHashTable *lines)
{
	const RsTraceTimelineRing *ring;
	GPtrArray *of_ring;

	rs_trace_timeline_lock(timeline);
	ring = rs_trace_timeline_ring(timeline, at->ring);
	rs_trace_timeline_unlock(timeline);
	of_ring = lines_of(lines, ring->source, ring->ring);
	g_assert_cmpuint(at->index, <, of_ring->len);
	if (!row)
		g_test_message("not found: %s, at %" G_GUINT64_FORMAT ", %u of ring %u",
			       (const char *)of_ring->pdata[at->index], at->ns, at->nth, at->ring);
	g_assert_nonnull(row);
	g_assert_cmpstr(row->line, ==, of_ring->pdata[at->index]);
	g_assert_cmpuint(row->sorted_ns, ==, at->ns);
	g_assert_cmpuint(row->cpu, ==, ring->ring);
	g_assert_cmpuint(row->source, ==, ring->source);
}

guint64 traces_check(RsTraceDocument *document, RsTraceTimeline *timeline, GHashTable *lines,
		     GRand *rand)
{
	RsTraceTimelineRow at[40];
	guint64 total, done = 0;

	rs_trace_timeline_lock(timeline);
	total = rs_trace_timeline_n_rows(timeline);
	rs_trace_timeline_unlock(timeline);
	for (guint i = 0; total && i < 60; i++) {
		guint64 first =
			i < 10 ? done : (guint64)g_rand_double_range(rand, 0, (double)total);
		guint n = get_rows(timeline, first, G_N_ELEMENTS(at), at);
		g_autoptr(GPtrArray) rows =
			traces_fetch(document, timeline, first, G_N_ELEMENTS(at), i % 2);

		g_assert_cmpuint(n, ==, rows->len);
		for (guint k = 0; k < n; k++)
			check_row(timeline, &at[k], rows->pdata[k], lines);
		done += n;
	}
	return total;
}
