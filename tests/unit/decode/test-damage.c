/* SPDX-License-Identifier: MIT */
/* Files that are damaged: what is missing is counted, and nothing is invented. */
#include "build-file.h"

#include <string.h>

/* The `n`th block of a kind. */
static struct rs_file_block *find_block(guint8 *bytes, gsize size, guint kind, guint n)
{
	for (gsize at = ((struct rs_file_header *)(void *)bytes)->header_size; at < size;) {
		struct rs_file_block *block = (void *)(bytes + at);

		if (block->kind == kind && !n--)
			return block;
		at += block->size;
	}
	g_assert_not_reached();
}

/* A page with three records in each window, of ring 0 and 1 in turn. */
static GByteArray *some_windows(File *f)
{
	GBytes *bytes;

	put_source(f, 0, "a");
	put_schema(f, 0);
	put_name(f, 0, "x");
	for (guint32 i = 1; i < 7; i++) {
		PAGE(f, 0, i % RINGS, 0, 10 * i, 10 * i + 1, 10 * i + 2);
		end_window(f, 10 * i + 9);
	}
	bytes = finish(f);
	return g_bytes_unref_to_array(bytes);
}

static void check_damaged(GByteArray *file, guint64 bytes, const char *expected)
{
	g_autoptr(GBytes) all = g_byte_array_free_to_bytes(file);
	Result result;

	for (guint i = 0; i < 2; i++) {
		g_autoptr(GInputStream) stream = i ? pipe_of(all) : stream_of(all);

		read_stream(stream, &result);
		g_assert_no_error(result.error);
		g_assert_false(result.cut);
		g_assert_cmpstr(result.text->str, ==, expected);
		g_assert_cmpuint(result.damage.gaps, ==, 1);
		g_assert_cmpuint(result.damage.bytes, ==, bytes);
		free_result(&result);
	}
}

/* Nothing is lost but the block, and what the ring's next page says is missing is a loss. */
static void test_lost_head(File *f, gconstpointer unused)
{
	static const guint at[] = {offsetof(struct rs_file_block, magic),
				   offsetof(struct rs_file_block, id),
				   offsetof(struct rs_file_block, size) + 3,
				   offsetof(struct rs_file_block, head_size) + 2,
				   offsetof(struct rs_file_block, crc),
				   sizeof(struct rs_file_block) + sizeof(struct rs_file_table)};

	for (guint i = 0; i < G_N_ELEMENTS(at); i++) {
		File fresh = {0};
		struct rs_file_block *block;
		GByteArray *file;
		guint size;

		set_up(&fresh, NULL);
		file = some_windows(&fresh);
		block = find_block(file->data, file->len, RS_FILE_PAGES, 2);
		size = block->size;
		((guint8 *)block)[at[i]] ^= 0x40;
		check_damaged(file, size,
			      "a:10x a:11x a:12x a:20x a:21x a:22x a:40x a:41x a:42x a:-3 a:50x "
			      "a:51x a:52x a:60x a:61x a:62x ");
		tear_down(&fresh, NULL);
	}
}

/* What cannot be decompressed is found only when it is wanted. */
static void test_lost_data(File *f, gconstpointer unused)
{
	GByteArray *file = some_windows(f);
	struct rs_file_block *block = find_block(file->data, file->len, RS_FILE_PAGES, 2);
	guint size = block->size - block->head_size;
	g_autoptr(GBytes) bytes = NULL;
	Result result;

	g_assert_cmpuint(block->flags, ==, RS_FILE_ZSTD);
	((guint8 *)block)[block->head_size] ^= 0x40;
	bytes = g_byte_array_free_to_bytes(file);
	read_bytes(bytes, g_bytes_get_size(bytes), &result);
	g_assert_cmpstr(result.text->str, ==,
			"a:10x a:11x a:12x a:20x a:21x a:22x a:40x a:41x a:42x a:-3 a:50x a:51x "
			"a:52x a:60x a:61x a:62x ");
	g_assert_cmpuint(result.damage.gaps, ==, 1);
	g_assert_cmpuint(result.damage.bytes, ==, size);
	free_result(&result);
}

/* Bytes are missing, so that what follows lies elsewhere. */
static void test_shifted(File *f, gconstpointer unused)
{
	GByteArray *file = some_windows(f);
	struct rs_file_block *block = find_block(file->data, file->len, RS_FILE_NAMES, 0);
	guint size = block->size;

	g_byte_array_remove_range(file, (guint)((guint8 *)block - file->data) + 40, 5);
	check_damaged(file, size - 5,
		      "a:10<...> a:11<...> a:12<...> a:20<...> a:21<...> a:22<...> a:30<...> "
		      "a:31<...> a:32<...> a:40<...> a:41<...> a:42<...> a:50<...> a:51<...> "
		      "a:52<...> a:60<...> a:61<...> a:62<...> ");
}

static void test_remarks(File *f, gconstpointer unused)
{
	GByteArray *file = some_windows(f);
	g_autoptr(GBytes) bytes = NULL;
	g_autoptr(RsTraceReader) reader = NULL;
	g_auto(GStrv) before = NULL, after = NULL;
	RsTraceFile *opened;
	Result result;

	find_block(file->data, file->len, RS_FILE_NAMES, 0)->crc++;
	g_byte_array_set_size(file, file->len - 1);
	bytes = g_byte_array_free_to_bytes(file);
	opened = file_of(bytes);
	rs_trace_file_set_name(opened, "b\x1b[2J");
	reader = rs_trace_reader_new(opened);
	before = rs_trace_reader_remarks(reader);
	g_assert_cmpuint(g_strv_length(before), ==, 0);
	read_rest(reader, &result);
	free_result(&result);
	after = rs_trace_reader_remarks(reader);
	g_assert_cmpuint(g_strv_length(after), ==, 2);
	g_assert_nonnull(strstr(after[0], "1 place were passed over"));
	g_assert_nonnull(strstr(after[0], "a block's check is wrong"));
	g_assert_nonnull(strstr(after[1], "was not ended"));
	g_assert_true(g_str_has_prefix(after[1], "b\\x1b[2J: "));
}

/* ---- pages and data ---- */

static guint8 *data_of(struct rs_file_block *block)
{
	return (guint8 *)block + block->head_size;
}

/* Three pages of ring 0 in one block, and one of ring 1 behind. */
static GByteArray *pages_in_a_block(File *f)
{
	put_source(f, 0, "a");
	put_schema(f, 0);
	put_name(f, 0, "x");
	for (guint32 i = 1; i < 4; i++)
		PAGE(f, 0, 0, 0, 10 * i, 10 * i + 1);
	end_window(f, 39);
	PAGE(f, 0, 0, 0, 40);
	PAGE(f, 0, 1, 0, 45);
	end_window(f, 49);
	return g_bytes_unref_to_array(finish(f));
}

static void check_pages(GByteArray *file, guint64 bad_pages, guint64 gaps, const char *expected)
{
	g_autoptr(GBytes) all = g_byte_array_free_to_bytes(file);
	Result result;

	for (guint i = 0; i < 2; i++) {
		g_autoptr(GInputStream) stream = i ? pipe_of(all) : stream_of(all);

		read_stream(stream, &result);
		g_assert_no_error(result.error);
		g_assert_cmpstr(result.text->str, ==, expected);
		g_assert_cmpuint(result.bad_pages, ==, bad_pages);
		g_assert_cmpuint(result.damage.gaps, ==, gaps);
		free_result(&result);
	}
}

/* One bit anywhere in a page. */
static void test_bad_page(File *f, gconstpointer unused)
{
	for (guint at = 0; at < RS_RING_PAGE_HEADER + 32; at += 4) {
		GByteArray *file;
		File fresh = {0};

		set_up(&fresh, NULL);
		file = pages_in_a_block(&fresh);
		data_of(find_block(file->data, file->len, RS_FILE_PAGES,
				   0))[RS_RING_PAGE_HEADER + 32 + at] ^= 0x10;
		check_pages(file, 1, 0, "a:10x a:11x a:-2 a:30x a:31x a:40x a:45x ");
		tear_down(&fresh, NULL);
	}
}

/* A hole, as a copy that failed or a power cut leaves it. */
static void test_hole(File *f, gconstpointer unused)
{
	GByteArray *file = pages_in_a_block(f);
	struct rs_file_block *block = find_block(file->data, file->len, RS_FILE_PAGES, 0);

	memset(data_of(block) + RS_RING_PAGE_HEADER + 32 + 8, 0, RS_RING_PAGE_HEADER + 40);
	check_pages(file, 2, 0, "a:10x a:11x a:-4 a:40x a:45x ");
}

/* If bytes are missing in a block, nothing of the next ones is lost. */
static void test_missing_bytes(File *f, gconstpointer unused)
{
	GByteArray *file = pages_in_a_block(f);
	struct rs_file_block *block = find_block(file->data, file->len, RS_FILE_PAGES, 0);
	g_autoptr(GBytes) all = NULL;
	Result result;

	g_byte_array_remove_range(file, (guint)(data_of(block) - file->data) + 120, 13);
	all = g_byte_array_free_to_bytes(file);
	read_bytes(all, g_bytes_get_size(all), &result);
	g_assert_cmpstr(result.text->str, ==, "a:10x a:11x a:-4 a:40x a:45x ");
	g_assert_cmpuint(result.damage.gaps, ==, 1);
	g_assert_false(result.cut);
	free_result(&result);
}

/* Descriptors that are damaged make no events. */
static void test_bad_data(File *f, gconstpointer unused)
{
	GByteArray *file = pages_in_a_block(f);

	data_of(find_block(file->data, file->len, RS_FILE_PROVIDER, 0))[20] ^= 1;
	check_pages(file, 0, 1, "a:10? a:11? a:20? a:21? a:30? a:31? a:40? a:45? ");
}

/* The loss of a ring that has no page comes among its source's records. */
static void test_loss_without_a_page(File *f, gconstpointer unused)
{
	const struct rs_file_lost lost = {.lost = 17, .ring = 1};
	g_autoptr(RsTraceReader) reader = NULL;
	g_autoptr(GBytes) bytes = NULL;
	const RsTraceRecord *record;
	guint64 ns = 0, losses = 0;

	put_source(f, 0, "a");
	put_schema(f, 0);
	PAGE(f, 0, 0, 0, 10, 20);
	g_assert_true(rs_trace_writer_put(f->writer, RS_FILE_LOST, 0, &lost, sizeof(lost), NULL));
	end_window(f, 50);
	bytes = finish(f);
	reader = rs_trace_reader_new(file_of(bytes));
	while ((record = rs_trace_reader_next(reader, NULL, NULL))) {
		g_assert_cmpuint(record->ns, >=, 10);
		g_assert_cmpuint(record->ns, >=, ns);
		g_assert_cmpuint(record->ns, <=, 20);
		ns = record->ns;
		losses += record->lost;
	}
	g_assert_cmpuint(losses, ==, 17);
}

#define ADD(name, config, function)                                                                \
	g_test_add("/decode/damage/" name, File, config, set_up, function, tear_down)

int main(int argc, char **argv)
{
	static const RsTraceWriterConfig packed = {.compression = 3};

	g_test_init(&argc, &argv, NULL);
	ADD("head", NULL, test_lost_head);
	ADD("packed", &packed, test_lost_data);
	ADD("shifted", NULL, test_shifted);
	ADD("remarks", NULL, test_remarks);
	ADD("page", NULL, test_bad_page);
	ADD("hole", NULL, test_hole);
	ADD("missing-bytes", NULL, test_missing_bytes);
	ADD("data", NULL, test_bad_data);
	ADD("loss", NULL, test_loss_without_a_page);
	return g_test_run();
}
