/* SPDX-License-Identifier: MIT */
/*
 * A hostile trace.dat: read by ringside-import, which may fail in any way, and by the reader behind
 * it, which may not. Input: what is changed of a good file, 4 bytes each: where (24 bits, of which
 * the highest two say in which part of the file) and which byte is there; and, if a byte is left,
 * how much of the file is missing. What guides the fuzzer is this side of the pipe.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "input.h"
#include "seed.h"
#include "rs-trace-dat-stream-private.h"
#include "rs-trace-exporter.h"
#include "rs-trace-reader.h"
#include "rs-trace-writer.h"
#include "../unit/decode/build.h"

#include <ringside/region.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A trace of two records, a loss and a third. */
static GBytes *make_trace(void)
{
	GOutputStream *stream = g_memory_output_stream_new_resizable();
	RsTraceWriter *writer = rs_trace_writer_new(stream, &(RsTraceWriterConfig){0}, NULL);
	struct rs_file_source source = {
		.size = sizeof(source), .ring_count = 2, .ring_page_size = 4096};
	struct rs_boot boots[RS_BOOTS] = {0};
	struct rs_cmdline_entry name = test_task(7, 1, "seven");
	GByteArray *descs = g_byte_array_new(), *payload = test_payload_all();
	struct rs_provider entry;
	GBytes *bytes;

	boots[1].boot = 1;
	rs_trace_writer_put(writer, RS_FILE_SOURCE, 0, &source, sizeof(source), NULL);
	rs_trace_writer_put_table(
		writer, RS_FILE_BOOTS, 0,
		&(RsTraceWriterTable){1000000000, boots, RS_BOOTS, sizeof(*boots), NULL, 0}, NULL);
	test_desc_switch(descs);
	test_desc_all(descs);
	test_provider(&entry, 0, descs);
	rs_trace_writer_put_table(
		writer, RS_FILE_PROVIDER, 0,
		&(RsTraceWriterTable){0, &entry, 1, sizeof(entry), descs->data, descs->len}, NULL);
	rs_trace_writer_put_table(writer, RS_FILE_NAMES, 0,
				  &(RsTraceWriterTable){0, &name, 1, sizeof(name), NULL, 0}, NULL);
	for (guint i = 0; i < 2; i++) {
		struct rs_file_page at = {.from = RS_RING_PAGE_HEADER, .ring = i, .lost = i * 3};
		TestPage *page = test_page_new(i, 0, 1000 + i, 7, 0);
		GByteArray *content;

		test_page_record(page, TEST_SWITCH, 1000 + i, &(guint64){1}, 8);
		test_page_record(page, TEST_ALL, 2000 + i, payload->data, payload->len);
		content = test_page_end(page);
		at.to = content->len;
		rs_trace_writer_put_page(writer, 0, content->data, &at, NULL);
		g_byte_array_unref(content);
	}
	rs_trace_writer_close(writer, NULL);
	bytes = g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(stream));
	rs_trace_writer_free(writer);
	g_object_unref(stream);
	g_byte_array_unref(descs);
	g_byte_array_unref(payload);
	return bytes;
}

static GBytes *make_dat(void)
{
	GBytes *trace = make_trace(), *dat;
	GInputStream *in = g_memory_input_stream_new_from_bytes(trace);
	GOutputStream *out = g_memory_output_stream_new_resizable();
	RsTraceReader *reader = rs_trace_reader_new(rs_trace_file_new(in, NULL, NULL));
	RsTraceOutput *output = rs_trace_output_new_for_stream(out);
	const RsTraceExportConfig config = {.header = rs_trace_reader_header(reader),
					    .output = output};
	RsTraceExportResult result;

	if (!rs_trace_export(reader, NULL, NULL, rs_trace_export_format("trace.dat"), &config,
			     &result, NULL))
		abort();
	dat = g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(out));
	rs_trace_output_free(output);
	g_object_unref(reader);
	g_object_unref(in);
	g_object_unref(out);
	g_bytes_unref(trace);
	return dat;
}

static void rs_fuzz_seeds(void)
{
	rs_fuzz_seed("good", "", 0);
	rs_fuzz_seed("version", "\x0a\x00\x00\x36", 4);
	rs_fuzz_seed("page", "\x08\x00\x80\xff", 4);
	rs_fuzz_seed("options", "\x10\x00\x40\xff", 4);
	rs_fuzz_seed("cut", "\x80", 1);
}

#define METADATA 6000u /* the formats and what is before them */
#define TAIL 600u      /* the options */
#define PAGES 8192u

/* A changed copy. */
static guint8 *change(GBytes *good, const guint8 *data, gsize size, gsize *length)
{
	guint8 *bytes = g_memdup2(g_bytes_get_data(good, length), g_bytes_get_size(good));

	for (; size >= 4; data += 4, size -= 4) {
		gsize at = data[0] | data[1] << 8 | (data[2] & 0x3f) << 16;

		if (data[2] >> 6 == 0)
			at %= METADATA;
		else if (data[2] >> 6 == 1)
			at = *length - 1 - at % TAIL;
		else if (data[2] >> 6 == 2)
			at = PAGES + at % 300;
		bytes[at % *length] = data[3];
	}
	if (size)
		*length -= *length * data[0] / 256;
	return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static GBytes *good;
	int fd = memfd_create("trace.dat", MFD_CLOEXEC);
	guint8 *bytes;
	gsize length;
	GError *error = NULL, *again = NULL;
	GInputStream *stream;
	RsTraceFile *file;
	char byte;

	g_setenv("RINGSIDE_LIBEXEC", RS_FUZZ_LIBEXEC, TRUE);
	if (!good)
		good = make_dat();
	bytes = change(good, data, size, &length);
	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
		abort();
	g_free(bytes);
	lseek(fd, 0, SEEK_SET);
	stream = rs_trace_dat_stream_new(fd, &error);
	if (!stream)
		abort();
	file = rs_trace_file_new(stream, NULL, &error);
	if (file) {
		RsTraceReader *reader = rs_trace_reader_new(file);

		const RsTraceRecord *record;

		while ((record = rs_trace_reader_next(reader, NULL, &error)))
			if (!record->origin->name)
				abort();
		g_object_unref(reader);
	}
	/* Once it has ended with an error, it says so again. */
	if (error && !g_input_stream_is_closed(stream) &&
	    g_input_stream_read(stream, &byte, 1, NULL, &again) > 0 && !again)
		abort();
	g_clear_error(&error);
	g_clear_error(&again);
	g_object_unref(stream);
	return 0;
}
