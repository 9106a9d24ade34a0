/* SPDX-License-Identifier: MIT */
#include "build-file.h"

#include <string.h>

/* ---- writing ---- */

void set_up(File *f, gconstpointer config)
{
	static const RsTraceWriterConfig plain = {0};

	f->stream = g_memory_output_stream_new_resizable();
	f->writer = rs_trace_writer_new(f->stream, config ? config : &plain, NULL);
	g_assert_nonnull(f->writer);
}

void tear_down(File *f, gconstpointer unused)
{
	rs_trace_writer_free(f->writer);
	g_object_unref(f->stream);
}

void put_source(File *f, guint number, const char *name)
{
	struct rs_file_source info = {.size = sizeof(info), .ring_count = RINGS, .ring_pages = 4};

	g_strlcpy(info.name, name, sizeof(info.name));
	g_assert_true(
		rs_trace_writer_put(f->writer, RS_FILE_SOURCE, number, &info, sizeof(info), NULL));
}

void put_schema(File *f, guint source)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();
	struct rs_provider entry;
	RsTraceWriterTable table = {0, &entry, 1, sizeof(entry), NULL, 0};

	test_desc_switch(descs);
	test_provider(&entry, 0, descs);
	table.data = descs->data;
	table.data_size = descs->len;
	g_assert_true(rs_trace_writer_put_table(f->writer, RS_FILE_PROVIDER, source, &table, NULL));
}

void put_name(File *f, guint source, const char *comm)
{
	struct rs_cmdline_entry entry = test_task(7, 1, comm);
	const RsTraceWriterTable table = {0, &entry, 1, sizeof(entry), NULL, 0};

	entry.sequence = 2;
	g_assert_true(rs_trace_writer_put_table(f->writer, RS_FILE_NAMES, source, &table, NULL));
}

void put_page(File *f, guint source, guint ring, const guint32 *times, guint64 lost)
{
	TestPage *page = test_page_new(ring, f->seq[ring]++, *times, 7, 0);
	struct rs_file_page entry = {.lost = lost, .from = RS_RING_PAGE_HEADER, .ring = ring};
	g_autoptr(GByteArray) bytes = NULL;

	test_page_header(page)->records = f->records[ring];
	for (; *times; times++, f->records[ring]++)
		test_page_record(page, TEST_SWITCH, *times, &(guint64){1}, 8);
	bytes = test_page_end(page);
	entry.to = bytes->len;
	g_assert_true(rs_trace_writer_put_page(f->writer, source, bytes->data, &entry, NULL));
}

void end_window(File *f, guint64 until)
{
	g_assert_true(rs_trace_writer_end_window(f->writer, until, NULL));
}

GBytes *finish(File *f)
{
	g_assert_true(rs_trace_writer_close(f->writer, NULL));
	return g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(f->stream));
}

/* ---- reading ---- */

void read_rest(RsTraceReader *reader, Result *result)
{
	const RsTraceRecord *record;
	const RsTraceTask *task;

	*result = (Result){.text = g_string_new(NULL)};
	while ((record = rs_trace_reader_next(reader, NULL, &result->error))) {
		task = rs_trace_reader_task(reader);
		g_string_append(result->text, record->origin->name);
		if (record->kind == RS_TRACE_RECORD_LOSS)
			g_string_append_printf(result->text, ":-%u ", (guint)record->lost);
		else
			g_string_append_printf(result->text, ":%u%s ", (guint)record->ns,
					       record->event ? task->comm : "?");
	}
	result->cut = rs_trace_reader_is_cut(reader);
	result->damage = *rs_trace_reader_damage(reader);
	result->bad_pages = rs_trace_reader_stats(reader)->bad_pages;
}

void read_stream(GInputStream *stream, Result *result)
{
	g_autoptr(RsTraceReader) reader = NULL;
	GError *error = NULL;
	RsTraceFile *file = rs_trace_file_new(stream, NULL, &error);

	if (file) {
		reader = rs_trace_reader_new(file);
		read_rest(reader, result);
	} else {
		*result = (Result){.text = g_string_new(NULL), .error = error};
	}
}

void read_bytes(GBytes *bytes, gsize size, Result *result)
{
	g_autoptr(GBytes) part = g_bytes_new_from_bytes(bytes, 0, size);
	g_autoptr(GInputStream) stream = g_memory_input_stream_new_from_bytes(part);

	read_stream(stream, result);
}

void free_result(Result *result)
{
	g_string_free(result->text, TRUE);
	g_clear_error(&result->error);
}

void check(GBytes *bytes, const char *expected)
{
	Result result;

	read_bytes(bytes, g_bytes_get_size(bytes), &result);
	g_assert_no_error(result.error);
	g_assert_false(result.cut);
	g_assert_cmpuint(result.damage.gaps, ==, 0);
	g_assert_cmpstr(result.text->str, ==, expected);
	free_result(&result);
}

GInputStream *stream_of(GBytes *bytes)
{
	return g_memory_input_stream_new_from_bytes(bytes);
}

GInputStream *pipe_of(GBytes *bytes)
{
	g_autoptr(GConverter) none = G_CONVERTER(g_charset_converter_new("latin1", "latin1", NULL));
	g_autoptr(GInputStream) memory = stream_of(bytes);

	return g_converter_input_stream_new(memory, none);
}

RsTraceFile *file_of(GBytes *bytes)
{
	g_autoptr(GInputStream) stream = stream_of(bytes);
	RsTraceFile *file = rs_trace_file_new(stream, NULL, NULL);

	g_assert_nonnull(file);
	return file;
}
