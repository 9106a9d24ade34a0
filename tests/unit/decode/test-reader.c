/* SPDX-License-Identifier: MIT */
/* Places in trace files, and several files on one clock. */
#include "build-file.h"

#include <string.h>

/* ---- several files ---- */

/* Source "a" with a record at each of these times, 0 behind the last. */
static RsTraceFile *make(const RsTraceWriterConfig *config, const char *name, const guint32 *times)
{
	g_autoptr(GBytes) bytes = NULL;
	File f = {0};

	set_up(&f, config);
	put_source(&f, 3, name);
	put_schema(&f, 3);
	put_page(&f, 3, 0, times, 0);
	bytes = finish(&f);
	tear_down(&f, NULL);
	return file_of(bytes);
}

#define MAKE(config, name, ...) make(config, name, (const guint32[]){__VA_ARGS__, 0})

static void check_rest(RsTraceReader *reader, const char *expected)
{
	Result result;

	read_rest(reader, &result);
	g_assert_no_error(result.error);
	g_assert_cmpstr(result.text->str, ==, expected);
	free_result(&result);
}

/* Two files of one boot differ by their origins; an earlier file moves the others. */
static void test_same_boot(void)
{
	const RsTraceWriterConfig first = {.origin_ns = 1000, .wall_ns = 7, .host_boot = "x"};
	const RsTraceWriterConfig second = {.origin_ns = 1020, .wall_ns = 999, .host_boot = "x"};
	const RsTraceWriterConfig third = {.origin_ns = 990, .host_boot = "x"};
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(MAKE(&first, "a", 10, 30, 50));
	const RsTraceRecord *record;
	GError *error = NULL;

	g_assert_true(rs_trace_reader_add(reader, MAKE(&second, "b", 5, 15, 35), &error));
	g_assert_true(rs_trace_reader_add(reader, MAKE(&third, "c", 1, 70), &error));
	g_assert_no_error(error);
	g_assert_cmpuint(rs_trace_reader_header(reader)->origin_ns, ==, 990);
	g_assert_nonnull((record = rs_trace_reader_next(reader, NULL, &error)));
	g_assert_cmpuint(record->origin->index, ==, 2);
	check_rest(reader, "a:20<...> b:35<...> a:40<...> b:45<...> a:60<...> b:65<...> "
			   "c:70<...> ");
	g_assert_cmpuint(rs_trace_reader_n_sources(reader), ==, 3);
}

/* Those of different boots by the wall clock, also by way of a third one. */
static void test_other_boot(void)
{
	const RsTraceWriterConfig first = {.origin_ns = 1000, .wall_ns = 500, .host_boot = "x"};
	const RsTraceWriterConfig second = {.origin_ns = 10, .wall_ns = 520, .host_boot = "y"};
	const RsTraceWriterConfig third = {.origin_ns = 20, .host_boot = "y"};
	const RsTraceWriterConfig nowhere = {.origin_ns = 20, .host_boot = "z"};
	const RsTraceWriterConfig unknown = {.origin_ns = 20};
	const RsTraceWriterConfig far = {.wall_ns = G_MAXUINT64, .host_boot = "z"};
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(MAKE(&first, "a", 10, 30, 50));
	GError *error = NULL;

	g_assert_true(rs_trace_reader_add(reader, MAKE(&second, "b", 5), &error));
	g_assert_true(rs_trace_reader_add(reader, MAKE(&third, "c", 5), &error));
	g_assert_no_error(error);
	g_assert_false(rs_trace_reader_add(reader, MAKE(&nowhere, "d", 5), &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE);
	g_clear_error(&error);
	g_assert_false(rs_trace_reader_add(reader, MAKE(&unknown, "d", 5), &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE);
	g_clear_error(&error);
	g_assert_false(rs_trace_reader_add(reader, MAKE(&far, "d", 5), &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE);
	g_clear_error(&error);
	rs_trace_reader_add_at(reader, MAKE(&unknown, "e", 7), 40);
	check_rest(reader, "a:10<...> b:25<...> a:30<...> c:35<...> e:47<...> a:50<...> ");
}

/* ---- places ---- */

/* Ring 0 is quick, ring 1 tells late; a source leaves, and its number is used again. */
static GBytes *some_file(File *f)
{
	put_source(f, 0, "a");
	put_schema(f, 0);
	put_name(f, 0, "x");
	put_source(f, 1, "b");
	for (guint32 i = 1; i < 40; i++) {
		PAGE(f, 0, 0, i % 7 ? 0 : 2, 10 * i, 10 * i + 1, 10 * i + 2);
		if (i % 5 == 0)
			PAGE(f, 1, 1, 0, 10 * i - 4, 10 * i + 3);
		if (i == 20) {
			rs_trace_writer_put(f->writer, RS_FILE_LEFT, 1, NULL, 0, NULL);
			put_source(f, 1, "c");
		}
		end_window(f, 10 * i + 9);
	}
	return finish(f);
}

/* What is behind the first record of that time. */
static const char *text_from(const char *all, guint time)
{
	for (const char *at = all; *at; at = strchr(at, ' ') + 1)
		if (at[2] != '-' && strtoul(at + 2, NULL, 10) >= time)
			return at;
	return "";
}

static const char *skip_loss(const char *text)
{
	return text[0] && text[2] == '-' ? strchr(text, ' ') + 1 : text;
}

static void check_seeks(RsTraceReader *reader, const char *all)
{
	GError *error = NULL;
	Result result;

	for (guint i = 0; i < 45; i++) {
		guint time = i * 173 % 450;

		g_assert_true(rs_trace_reader_seek(reader, time, NULL, &error));
		g_assert_no_error(error);
		read_rest(reader, &result);
		g_assert_cmpstr(skip_loss(result.text->str), ==, text_from(all, time));
		free_result(&result);
	}
	g_assert_true(rs_trace_reader_seek(reader, 0, NULL, &error));
	check_rest(reader, all);
	g_assert_cmpuint(rs_trace_reader_n_sources(reader), ==, 3);
}

static void check_last(RsTraceReader *reader, const char *all)
{
	GError *error = NULL;
	const char *from = all + strlen(all);
	Result result;

	for (guint n = 0; n < 140; n++) {
		g_assert_true(rs_trace_reader_seek_last(reader, n, NULL, &error));
		g_assert_no_error(error);
		read_rest(reader, &result);
		g_assert_cmpstr(n < 132 ? skip_loss(result.text->str) : result.text->str, ==, from);
		free_result(&result);
		do
			for (from -= from > all; from > all && from[-1] != ' ';)
				from--;
		while (from > all && from[2] == '-');
	}
}

/* Going to a time shows what reading from the start shows from there on, with names. */
static void test_places(File *f, gconstpointer packed)
{
	g_autoptr(GBytes) bytes = some_file(f);
	g_autoptr(GBytes) cut = g_bytes_new_from_bytes(bytes, 0, g_bytes_get_size(bytes) - 8);
	Result all;

	for (guint i = 0; i < 2; i++) {
		g_autoptr(RsTraceReader) reader = rs_trace_reader_new(file_of(i ? cut : bytes));

		read_bytes(bytes, g_bytes_get_size(bytes), &all);
		check_seeks(reader, all.text->str);
		check_last(reader, all.text->str);
		g_assert_cmpint(rs_trace_reader_is_cut(reader), ==, i);
		free_result(&all);
	}
}

/* ---- pipes, and large windows ---- */

static void test_pipe(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = some_file(f);
	g_autoptr(GInputStream) pipe = pipe_of(bytes);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(rs_trace_file_new(pipe, NULL, NULL));
	guint64 done, total;
	GError *error = NULL;
	Result all, rest;

	g_assert_false(rs_trace_reader_seek_last(reader, 3, NULL, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED);
	g_clear_error(&error);
	read_bytes(bytes, g_bytes_get_size(bytes), &all);
	g_assert_true(rs_trace_reader_seek(reader, 200, NULL, &error));
	read_rest(reader, &rest);
	g_assert_cmpstr(rest.text->str, ==, text_from(all.text->str, 200));
	free_result(&rest);
	rs_trace_reader_progress(reader, &done, &total);
	g_assert_cmpuint(done, ==, g_bytes_get_size(bytes));
	g_assert_cmpuint(total, ==, 0);
	free_result(&all);
}

static void test_back_in_pipe(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = some_file(f);
	g_autoptr(GInputStream) pipe = pipe_of(bytes);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(rs_trace_file_new(pipe, NULL, NULL));
	const RsTraceRecord *record;
	GError *error = NULL;

	for (guint i = 0; i < 5; i++)
		g_assert_nonnull((record = rs_trace_reader_next(reader, NULL, &error)));
	g_assert_cmpuint(record->ns, ==, 21);
	g_assert_false(rs_trace_reader_seek(reader, 20, NULL, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED);
	g_clear_error(&error);
	g_assert_nonnull((record = rs_trace_reader_next(reader, NULL, &error)));
	g_assert_cmpuint(record->ns, ==, 22);
	while ((record = rs_trace_reader_next(reader, NULL, NULL)))
		;
	g_assert_false(rs_trace_reader_seek(reader, 0, NULL, &error));
	g_assert_error(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED);
	g_clear_error(&error);
}

static void test_progress(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = some_file(f);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(file_of(bytes));
	guint64 done, total;
	GError *error = NULL;

	rs_trace_reader_progress(reader, &done, &total);
	g_assert_cmpuint(done, <, 200);
	g_assert_cmpuint(total, ==, g_bytes_get_size(bytes));
	while (rs_trace_reader_next(reader, NULL, NULL))
		;
	rs_trace_reader_progress(reader, &done, &total);
	g_assert_cmpuint(done, ==, total);
	g_assert_false(rs_trace_reader_add(reader, file_of(bytes), &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE);
	g_clear_error(&error);
}

/* A page with one record, and nothing else up to its end. */
static void put_large_page(File *f, guint source, guint ring, guint32 time)
{
	static const guint8 zeros[RS_RING_PAGE_MAX - 4096];
	TestPage *page = test_page_new(ring, f->seq[ring]++, time, 7, 0);
	struct rs_file_page entry = {.from = RS_RING_PAGE_HEADER, .ring = ring};
	g_autoptr(GByteArray) bytes = NULL;

	test_page_record(page, TEST_SWITCH, time, &(guint64){time}, 8);
	test_page_raw(page, zeros, sizeof(zeros));
	bytes = test_page_end(page);
	entry.to = bytes->len;
	g_assert_true(rs_trace_writer_put_page(f->writer, source, bytes->data, &entry, NULL));
}

/* The earliest record lies at the end of a window of 40 MiB. */
static void test_large_window(File *f, gconstpointer unused)
{
	const guint n = (40u << 20) / RS_RING_PAGE_MAX;
	g_autoptr(GBytes) bytes = NULL;

	put_source(f, 0, "a");
	put_schema(f, 0);
	for (guint i = 0; i < n; i++)
		put_large_page(f, 0, 0, 100 + i);
	PAGE(f, 0, 1, 0, 50);
	end_window(f, 10000);
	bytes = finish(f);
	for (guint as_pipe = 0; as_pipe < 2; as_pipe++) {
		g_autoptr(GInputStream) stream = as_pipe ? pipe_of(bytes) : stream_of(bytes);
		g_autoptr(RsTraceReader) reader =
			rs_trace_reader_new(rs_trace_file_new(stream, NULL, NULL));
		guint64 last = 0, count = 0, back = 0;
		const RsTraceRecord *record;

		while ((record = rs_trace_reader_next(reader, NULL, NULL))) {
			back += record->ns < last;
			last = record->ns;
			count++;
		}
		g_assert_cmpuint(count, ==, n + 1);
		g_assert_cmpint(rs_trace_reader_is_unordered(reader), ==, as_pipe);
		g_assert_cmpuint(back, ==, as_pipe);
	}
}

/* A file that counts how often it is read. */
typedef struct {
	GMemoryInputStream parent;
	guint reads;
} Counted;
typedef GMemoryInputStreamClass CountedClass;
GType counted_get_type(void);
G_DEFINE_TYPE(Counted, counted, G_TYPE_MEMORY_INPUT_STREAM)

static gssize counted_read(GInputStream *stream, void *to, gsize size, GCancellable *cancellable,
			   GError **error)
{
	((Counted *)stream)->reads++;
	return G_INPUT_STREAM_CLASS(counted_parent_class)
		->read_fn(stream, to, size, cancellable, error);
}

static void counted_class_init(CountedClass *class)
{
	class->parent_class.read_fn = counted_read;
}

static void counted_init(Counted *counted)
{
}

/* Rings whose pages lie in blocks of their own, more than are kept: no block for each page. */
static void test_many_blocks(File *f, gconstpointer unused)
{
	const guint n_sources = 60, n_pages = 16;
	g_autoptr(GInputStream) stream = g_object_new(counted_get_type(), NULL);
	g_autoptr(RsTraceReader) reader = NULL;
	g_autoptr(GBytes) bytes = NULL;
	const RsTraceDecoderStats *stats;
	const RsTraceRecord *record;
	guint n = 0;

	for (guint source = 0; source < n_sources; source++) {
		put_source(f, source, "a");
		put_schema(f, source);
		for (guint i = 0; i < n_pages; i++)
			put_large_page(f, source, 0, 100 + i * n_sources + source);
	}
	bytes = finish(f);
	g_memory_input_stream_add_bytes(G_MEMORY_INPUT_STREAM(stream), bytes);
	reader = rs_trace_reader_new(rs_trace_file_new(stream, NULL, NULL));
	for (; (record = rs_trace_reader_next(reader, NULL, NULL)); n++) {
		g_assert_cmpuint(record->ns, ==, 100 + n);
		g_assert_cmpuint(record->payload[0], ==, (100 + n) & 255);
	}
	g_assert_cmpuint(n, ==, n_sources * n_pages);
	stats = rs_trace_reader_stats(reader);
	g_assert_cmpuint(stats->bad_pages, ==, 0);
	/* A look at the head, and three unpackings at most. */
	g_assert_cmpuint(((Counted *)stream)->reads, <, 6 * n_sources);
}

#define ADD(path, config, test)                                                                    \
	g_test_add("/decode/reader/" path, File, config, set_up, test, tear_down)

int main(int argc, char **argv)
{
	static const RsTraceWriterConfig packed = {.compression = 3};

	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/reader/same-boot", test_same_boot);
	g_test_add_func("/decode/reader/other-boot", test_other_boot);
	ADD("places", NULL, test_places);
	ADD("places/packed", &packed, test_places);
	ADD("pipe", NULL, test_pipe);
	ADD("pipe/back", NULL, test_back_in_pipe);
	ADD("progress", NULL, test_progress);
	ADD("window/large", NULL, test_large_window);
	ADD("window/packed", &packed, test_large_window);
	ADD("window/many-blocks", &packed, test_many_blocks);
	return g_test_run();
}
