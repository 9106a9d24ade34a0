/* SPDX-License-Identifier: MIT */
/* Names of addresses in a trace file: a guest boots again, and lies elsewhere. */
#include "build-file.h"

#include <zstd.h>

/* Both boots have something at this address. */
#define ADDRESS 0x2010u

/* One symbol, at an image's start. */
static void put_symbols(File *f, guint boot, guint64 from, const char *name)
{
	struct rs_file_symbols head = {.from = from, .to = from + 0x1000, .count = 1, .boot = boot};
	const struct rs_file_symbol symbol = {.at = from};
	g_autoptr(GByteArray) plain = g_byte_array_new();
	guint8 packed[256];
	RsTraceWriterTable table = {0, &head, 1, sizeof(head), packed, 0};

	g_byte_array_append(plain, (const guint8 *)&symbol, sizeof(symbol));
	g_byte_array_append(plain, (const guint8 *)name, (guint)strlen(name) + 1);
	head.unpacked = plain->len;
	table.data_size = ZSTD_compress(packed, sizeof(packed), plain->data, plain->len, 1);
	g_assert_true(rs_trace_writer_put_table(f->writer, RS_FILE_SYMBOLS, 0, &table, NULL));
}

static void put_record(File *f, guint boot, guint32 time)
{
	TestPage *page = test_page_new(0, f->seq[0], time, 7, 0);
	struct rs_file_page entry = {.from = RS_RING_PAGE_HEADER};
	g_autoptr(GByteArray) bytes = NULL;

	test_page_header(page)->records = f->seq[0]++;
	test_page_header(page)->boot = boot;
	test_page_record(page, TEST_SWITCH, time, &(guint64){1}, 8);
	bytes = test_page_end(page);
	entry.to = bytes->len;
	g_assert_true(rs_trace_writer_put_page(f->writer, 0, bytes->data, &entry, NULL));
}

/* The second boot's symbols come in the window in which the first one's last records are. */
static GBytes *two_boots(File *f)
{
	set_up(f, NULL);
	put_source(f, 0, "a");
	put_schema(f, 0);
	put_symbols(f, 1, 0x2000, "first");
	put_record(f, 1, 10);
	end_window(f, 15);
	put_record(f, 1, 20);
	put_symbols(f, 2, 0x1800, "second");
	put_record(f, 1, 30);
	end_window(f, 35);
	put_record(f, 2, 40);
	end_window(f, 45);
	put_record(f, 2, 50);
	end_window(f, 55);
	return finish(f);
}

static void check_names(RsTraceReader *reader, const char *expected)
{
	g_autoptr(GString) out = g_string_new(NULL);
	const RsTraceRecord *record;
	GError *error = NULL;
	const char *name;
	guint64 offset;

	while ((record = rs_trace_reader_next(reader, NULL, &error))) {
		if (record->kind != RS_TRACE_RECORD_EVENT)
			continue;
		g_assert_true(rs_trace_symbols_find(record->symbols, record->when, ADDRESS, &name,
						    &offset));
		g_string_append_printf(out, "%u:%s+%x ", (guint)record->ns, name, (guint)offset);
	}
	g_assert_no_error(error);
	g_assert_cmpstr(out->str, ==, expected);
}

static void test_boots(void)
{
	static const char all[] =
		"10:first+10 20:first+10 30:first+10 40:second+810 50:second+810 ";
	g_autoptr(RsTraceReader) reader = NULL;
	g_autoptr(GBytes) bytes = NULL;
	File f = {0};

	bytes = two_boots(&f);
	tear_down(&f, NULL);
	reader = rs_trace_reader_new(file_of(bytes));
	check_names(reader, all);
	for (guint i = 0; i < 2; i++) {
		g_assert_true(rs_trace_reader_seek(reader, 40, NULL, NULL));
		check_names(reader, strstr(all, "40"));
		g_assert_true(rs_trace_reader_seek(reader, 20, NULL, NULL));
		check_names(reader, strstr(all, "20"));
		g_assert_true(rs_trace_reader_seek(reader, 0, NULL, NULL));
		check_names(reader, all);
	}
}

/* Whoever reads a pipe has all that was told by two windows ahead. */
static void test_pipe(void)
{
	g_autoptr(RsTraceReader) reader = NULL;
	g_autoptr(GInputStream) pipe = NULL;
	g_autoptr(GBytes) bytes = NULL;
	File f = {0};

	bytes = two_boots(&f);
	tear_down(&f, NULL);
	pipe = pipe_of(bytes);
	reader = rs_trace_reader_new(rs_trace_file_new(pipe, NULL, NULL));
	check_names(reader, "10:first+10 20:first+10 30:first+10 40:second+810 50:second+810 ");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/file-symbols/boots", test_boots);
	g_test_add_func("/decode/file-symbols/pipe", test_pipe);
	return g_test_run();
}
