/* SPDX-License-Identifier: MIT */
/*
 * A hostile trace file in all formats of other tools. Input: the file, whose id says which format
 * and with which options. Its checks are put right first. No control character may come out of a
 * format that is text, and no format may take more memory than a bound allows.
 */
#include "seed.h"
#include "trace-file.h"
#include "rs-trace-exporter.h"
#include "rs-trace-writer.h"
#include "../unit/decode/build.h"

#include <stdlib.h>

#define OUT_MAX ((gsize)64 << 20) /* no input of a fuzzer is worth more text */

/* ---- seeds ---- */

static void describe(RsTraceWriter *writer)
{
	GByteArray *descs = g_byte_array_new();
	TestDesc *desc;
	struct rs_provider entry;
	RsTraceWriterTable table = {0, &entry, 1, sizeof(entry), NULL, 0};

	test_desc_all(descs);
	test_desc_later(descs);
	desc = test_desc_new(TEST_ALL + 2, "io", "x_begin");
	test_desc_int(desc, "value", RS_KIND_SINT, 8);
	test_desc_end(desc, NULL, NULL, descs);
	desc = test_desc_new(TEST_ALL + 3, "io", "x_end");
	test_desc_end(desc, NULL, NULL, descs);
	desc = test_desc_new(TEST_ALL + 4, "sched", "switch");
	test_desc_int(desc, "next_pid", RS_KIND_UINT, 4);
	test_desc_array(desc, "next_comm", RS_KIND_STRING, 1, 8, 0);
	test_desc_end(desc, NULL, NULL, descs);
	test_provider(&entry, 0, descs);
	entry.last_boot = 2;
	table.data = descs->data;
	table.data_size = descs->len;
	rs_trace_writer_put_table(writer, RS_FILE_PROVIDER, 1, &table, NULL);
	g_byte_array_unref(descs);
}

static void put_page(RsTraceWriter *writer, guint seq, guint boot)
{
	TestPage *page = test_page_new(seq % 2, seq / 2, seq * 100, 7, 0);
	struct rs_file_page entry = {.lost = seq, .from = RS_RING_PAGE_HEADER, .ring = seq % 2};
	static const guint8 next[12] = {9, 0, 0, 0, 't', 0xff, '"', '\n'};
	GByteArray *all = test_payload_all(), *later = test_payload_later(), *bytes;

	test_page_header(page)->boot = boot;
	test_page_record(page, TEST_ALL + 4, seq * 100 + 1, next, sizeof(next));
	test_page_record(page, TEST_ALL + 2, seq * 100 + 1, &(guint64){5}, 8);
	test_page_record(page, TEST_ALL, seq * 100 + 2, all->data, all->len);
	test_page_context(page, 0, 0x321);
	test_page_record(page, TEST_ALL + 1, seq * 100 + 3, later->data, later->len);
	test_page_record(page, 999, seq * 100 + 4, "?", 1);
	test_page_record(page, TEST_ALL + 3, seq * 100 + 5, NULL, 0);
	bytes = test_page_end(page);
	entry.to = bytes->len;
	rs_trace_writer_put_page(writer, 1, bytes->data, &entry, NULL);
	g_byte_array_unref(bytes);
	g_byte_array_unref(all);
	g_byte_array_unref(later);
}

static void put_seed(const char *name, guint32 id)
{
	struct rs_file_source source = {
		.size = sizeof(source), .ring_count = 2, .name = "\"a\xff", .number = 1};
	struct rs_cmdline_entry comm = test_task(7, 1, "=7\"");
	const RsTraceWriterTable names = {0, &comm, 1, sizeof(comm), NULL, 0};
	GOutputStream *stream = g_memory_output_stream_new_resizable();
	const RsTraceWriterConfig config = {.wall_ns = 5};
	RsTraceWriter *writer = rs_trace_writer_new(stream, &config, NULL);
	struct rs_file_header *header;

	rs_trace_writer_put(writer, RS_FILE_SOURCE, 1, &source, sizeof(source), NULL);
	describe(writer);
	rs_trace_writer_put_table(writer, RS_FILE_NAMES, 1, &names, NULL);
	for (guint i = 0; i < 4; i++)
		put_page(writer, i, 1 + i / 2);
	rs_trace_writer_close(writer, NULL);
	rs_trace_writer_free(writer);
	header = g_memory_output_stream_get_data(G_MEMORY_OUTPUT_STREAM(stream));
	header->id = id;
	rs_fuzz_seed(name, header,
		     g_memory_output_stream_get_data_size(G_MEMORY_OUTPUT_STREAM(stream)));
	g_object_unref(stream);
}

static void rs_fuzz_seeds(void)
{
	static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		put_seed(names[i], i);
}

/* ---- the target ---- */

/* Lines of printable text. */
RS_FUZZ_NOT_SEEN static void check_text(GMemoryOutputStream *stream)
{
	const guint8 *text = g_memory_output_stream_get_data(stream);
	gsize size = g_memory_output_stream_get_data_size(stream);

	for (gsize i = 0; i < size; i++)
		if ((text[i] < ' ' && text[i] != '\n') || text[i] == 0x7f)
			abort();
	if (!g_utf8_validate_len((const char *)text, size, NULL))
		abort();
}

static void export_as(RsTraceReader *reader, const RsTraceExportFormat *format, gboolean more)
{
	static const char *const slices[] = {"all..x_end", NULL};
	static const char *const counters[] = {"demo:all.u", NULL};
	GOutputStream *stream = g_memory_output_stream_new_resizable();
	RsTraceOutput *output = format->is_directory ? rs_trace_output_new_nowhere()
						     : rs_trace_output_new_for_stream(stream);
	const RsTraceExportConfig config = {
		.header = rs_trace_reader_header(reader),
		.output = output,
		.columns = more ? "demo:all" : NULL,
		.slices = more ? slices : NULL,
		.counters = more ? counters : NULL,
	};
	RsTraceExportResult result;

	if (!rs_trace_export(reader, NULL, NULL, format, &config, &result, NULL))
		abort();
	g_clear_error(&result.damage);
	if (g_memory_output_stream_get_data_size(G_MEMORY_OUTPUT_STREAM(stream)) > OUT_MAX)
		abort();
	if (g_str_equal(format->name, "csv") || g_str_equal(format->name, "chrome"))
		check_text(G_MEMORY_OUTPUT_STREAM(stream));
	rs_trace_output_free(output);
	g_object_unref(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const RsTraceExportFormat *const *formats = rs_trace_export_formats();
	guint8 *copy = g_memdup2(data, size);
	GInputStream *stream = g_memory_input_stream_new_from_data(copy, (gssize)size, NULL);
	RsTraceFile *file;
	guint n = 0, id;

	rs_fuzz_put_right(copy, size);
	file = rs_trace_file_new(stream, NULL, NULL);
	g_object_unref(stream);
	if (file) {
		RsTraceReader *reader = rs_trace_reader_new(file);

		id = rs_trace_reader_header(reader)->id;
		while (formats[n])
			n++;
		export_as(reader, formats[id % n], id / n % 2);
		g_object_unref(reader);
	}
	g_free(copy);
	return 0;
}
