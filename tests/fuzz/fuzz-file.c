/* SPDX-License-Identifier: MIT */
/*
 * A hostile trace file: its records in the order of time, from the start, from a time on, and the
 * last ones; together with a second file; from a pipe; and its index. Input: the file, whose id
 * says which of this is done. The checks of its blocks are put right first, as who makes a hostile
 * file would do, up to one whose sizes are wrong: there the search for the next block begins.
 */
#include "input.h"
#include "seed.h"
#include "trace-file.h"
#include "rs-trace-reader.h"
#include "rs-trace-writer.h"
#include "../unit/decode/build.h"

#include <ringside/region.h>
#include <string.h>

static void put_page(RsTraceWriter *writer, guint source, guint ring, guint64 ts)
{
	struct rs_file_page entry = {.from = RS_RING_PAGE_HEADER, .ring = ring};
	TestPage *page = test_page_new(ring, ts, ts, 7, 0);
	GByteArray *bytes;

	for (guint i = 0; i < 3; i++)
		test_page_record(page, TEST_SWITCH, (guint32)(ts + i), &(guint64){1}, 8);
	bytes = test_page_end(page);
	entry.to = bytes->len;
	rs_trace_writer_put_page(writer, source, bytes->data, &entry, NULL);
	g_byte_array_unref(bytes);
}

static void put_tables(RsTraceWriter *writer, guint source)
{
	struct rs_clock_epoch epoch = {.tsc_base = 1, .mult = 1};
	struct rs_cmdline_entry name = test_task(7, 1, "seven");
	struct rs_boot boots[RS_BOOTS] = {{.boot = 1, .ts = 1}};
	struct rs_provider entry;
	GByteArray *descs = g_byte_array_new();
	RsTraceWriterTable provider = {0, &entry, 1, sizeof(entry), NULL, 0};
	const RsTraceWriterTable clock = {1, &epoch, 1, sizeof(epoch), NULL, 0};
	const RsTraceWriterTable names = {0, &name, 1, sizeof(name), NULL, 0};
	const RsTraceWriterTable table = {1000, boots, RS_BOOTS, sizeof(*boots), NULL, 0};

	test_desc_switch(descs);
	test_provider(&entry, 0, descs);
	provider.data = descs->data;
	provider.data_size = descs->len;
	name.sequence = 2;
	rs_trace_writer_put_table(writer, RS_FILE_PROVIDER, source, &provider, NULL);
	rs_trace_writer_put_table(writer, RS_FILE_CLOCK, source, &clock, NULL);
	rs_trace_writer_put_table(writer, RS_FILE_NAMES, source, &names, NULL);
	rs_trace_writer_put_table(writer, RS_FILE_BOOTS, source, &table, NULL);
	g_byte_array_unref(descs);
}

static void put_no_provider(RsTraceWriter *writer, guint source)
{
	const RsTraceWriterTable none = {0, NULL, 0, sizeof(struct rs_provider), NULL, 0};

	rs_trace_writer_put_table(writer, RS_FILE_PROVIDER, source, &none, NULL);
}

/* `cut`: bytes that are missing at the end. */
static void put_seed(const char *name, gint compression, gsize cut)
{
	struct rs_file_source source = {.size = sizeof(source), .ring_count = 2};
	const struct rs_file_lost lost = {.lost = 3, .ring = 1};
	GOutputStream *stream = g_memory_output_stream_new_resizable();
	RsTraceWriterConfig config = {.compression = compression};
	RsTraceWriter *writer = rs_trace_writer_new(stream, &config, NULL);

	for (guint i = 0; i < 2; i++) {
		rs_trace_writer_put(writer, RS_FILE_SOURCE, i, &source, sizeof(source), NULL);
		put_no_provider(writer, i);
		put_tables(writer, i);
	}
	put_page(writer, 0, 0, 10);
	put_page(writer, 1, 1, 5);
	rs_trace_writer_end_window(writer, 20, NULL);
	put_page(writer, 0, 1, 15);
	put_page(writer, 0, 0, 25);
	rs_trace_writer_put(writer, RS_FILE_LOST, 0, &lost, sizeof(lost), NULL);
	rs_trace_writer_put(writer, RS_FILE_LEFT, 0, NULL, 0, NULL);
	rs_trace_writer_end_window(writer, 30, NULL);
	put_page(writer, 1, 0, 40);
	rs_trace_writer_close(writer, NULL);
	rs_trace_writer_free(writer);
	rs_fuzz_seed(name, g_memory_output_stream_get_data(G_MEMORY_OUTPUT_STREAM(stream)),
		     g_memory_output_stream_get_data_size(G_MEMORY_OUTPUT_STREAM(stream)) - cut);
	g_object_unref(stream);
}

static void rs_fuzz_seeds(void)
{
	put_seed("plain", 0, 0);
	put_seed("packed", 1, 0);
	put_seed("cut", 0, RS_FILE_END_SIZE);
}

static RsTraceFile *open_file(const guint8 *data, gsize size, gboolean as_pipe)
{
	GInputStream *memory = g_memory_input_stream_new_from_data(data, (gssize)size, NULL);
	GConverter *none =
		as_pipe ? (GConverter *)g_charset_converter_new("latin1", "latin1", NULL) : NULL;
	GInputStream *stream =
		as_pipe ? g_converter_input_stream_new(memory, none) : g_object_ref(memory);
	RsTraceFile *file = rs_trace_file_new(stream, NULL, NULL);

	g_clear_object(&none);
	g_object_unref(memory);
	g_object_unref(stream);
	return file;
}

static void read_all(RsTraceReader *reader, guint64 *events, guint64 *decoded)
{
	const RsTraceDecoderStats *stats;
	GError *error = NULL;
	const RsTraceRecord *record;
	const RsTraceTask *task;
	guint64 n = 0;

	while ((record = rs_trace_reader_next(reader, NULL, &error))) {
		task = rs_trace_reader_task(reader);
		n += record->kind == RS_TRACE_RECORD_EVENT;
		if (!record->origin || !task->comm)
			abort();
	}
	stats = rs_trace_reader_stats(reader);
	if (stats->records < n || error)
		abort();
	*events = n;
	*decoded = stats->records;
}

/* An index may lie, but from the start on there is what there was before. */
static void go_about(RsTraceReader *reader, guint64 ns, guint64 all)
{
	guint64 events, decoded, before;

	if (rs_trace_reader_seek(reader, ns, NULL, NULL))
		read_all(reader, &events, &decoded);
	if (!rs_trace_reader_seek_last(reader, 2, NULL, NULL))
		return;
	read_all(reader, &before, &decoded);
	if (!rs_trace_reader_seek(reader, 0, NULL, NULL))
		return;
	read_all(reader, &events, &decoded);
	if (events != all || decoded != all)
		abort();
}

static void hear_event(const RsTraceEvent *event, const RsTraceOrigin *origin, gpointer unused)
{
	if (!event->name || !origin)
		abort();
}

static void read_file(RsTraceFile *file, RsTraceFile *second)
{
	RsTraceReader *reader = rs_trace_reader_new(file);
	const struct rs_file_header *header = rs_trace_reader_header(reader);
	guint64 ns = header->wall_ns, events, decoded, done, total;
	GStrv remarks;

	if (second && !rs_trace_reader_add(reader, second, NULL))
		second = NULL;
	rs_trace_reader_set_event_func(reader, hear_event, NULL);
	read_all(reader, &events, &decoded);
	if (events != decoded)
		abort();
	if (header->id % 3 == 0 && !rs_trace_reader_is_unordered(reader))
		go_about(reader, ns, events);
	remarks = rs_trace_reader_remarks(reader);
	rs_trace_reader_progress(reader, &done, &total);
	g_strfreev(remarks);
	g_object_unref(reader);
}

static void read_places(RsTraceFile *file)
{
	GError *error = NULL;
	gboolean complete;
	GArray *places = rs_trace_file_places(file, TRUE, &complete, &error);

	if (!places != !!error)
		abort();
	g_clear_error(&error);
	if (places)
		g_array_unref(places);
	rs_trace_file_free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	guint8 *copy = g_memdup2(data, size);
	RsTraceFile *file;
	guint kind;

	rs_fuzz_put_right(copy, size);
	file = open_file(copy, size, FALSE);
	if (file) {
		kind = rs_trace_file_header(file)->id % 6;
		read_file(file, kind == 3 ? open_file(copy, size, FALSE) : NULL);
		if (kind == 1)
			read_file(open_file(copy, size, TRUE), NULL);
		if (kind == 2)
			read_places(open_file(copy, size, FALSE));
	}
	g_free(copy);
	return 0;
}
