/* SPDX-License-Identifier: MIT */
/* Files whose index is wrong: one comes to the same records as in all of the file. */
#include "build-file.h"
#include "rs-trace-crc-private.h"

#include <string.h>

#define WINDOWS 100u
#define FILLER 2000u /* bytes of each, so that an index is searched for, too */
#define RENAMED 50u  /* the window before which the task is told to be called otherwise */

/* Two records in each window, behind a block that nobody looks at. */
static GByteArray *some_file(File *f)
{
	static const guint8 filler[FILLER];
	struct rs_cmdline_entry entry = test_task(7, 10 * RENAMED, "y");
	const RsTraceWriterTable name = {0, &entry, 1, sizeof(entry), NULL, 0};

	entry.sequence = 4;
	put_source(f, 0, "a");
	put_schema(f, 0);
	put_name(f, 0, "x");
	for (guint32 i = 1; i <= WINDOWS; i++) {
		rs_trace_writer_put(f->writer, RS_FILE_SYMBOLS + 1, 0, filler, FILLER, NULL);
		if (i == RENAMED)
			rs_trace_writer_put_table(f->writer, RS_FILE_NAMES, 0, &name, NULL);
		PAGE(f, 0, i % RINGS, 0, 10 * i, 10 * i + 1);
		end_window(f, 10 * i + 9);
	}
	return g_bytes_unref_to_array(finish(f));
}

static struct rs_file_end *end_of(GByteArray *file)
{
	return (void *)(file->data + file->len - RS_FILE_END_SIZE + sizeof(struct rs_file_block));
}

static struct rs_file_block *index_of(GByteArray *file)
{
	return (void *)(file->data + end_of(file)->index);
}

static void put_check_right(struct rs_file_block *block)
{
	block->crc = 0;
	block->crc = rs_trace_crc((const guint8 *)block, block->head_size);
}

/* In the middle of this window's filler. What is before it must not be damaged. */
static guint filler_at(GByteArray *file, guint window)
{
	guint at = ((struct rs_file_header *)(void *)file->data)->header_size;

	for (;;) {
		const struct rs_file_block *block = (void *)(file->data + at);

		if (block->kind == RS_FILE_SYMBOLS + 1 && !--window)
			return at + block->size / 2;
		at += block->size;
	}
}

static void insert(GByteArray *file, guint window, guint n)
{
	const guint at = filler_at(file, window), size = file->len;

	g_byte_array_set_size(file, size + n);
	memmove(file->data + at + n, file->data + at, size - at);
	memset(file->data + at, 0, n);
}

static void remove_some(GByteArray *file, guint window, guint n)
{
	g_byte_array_remove_range(file, filler_at(file, window), n);
}

/* ---- what one sees ---- */

static guint n_events(const char *text)
{
	guint n = 0;

	for (const char *at = text; (at = strchr(at, ' ')); at++)
		n++;
	return n;
}

static void check_rest(RsTraceReader *reader, const char *all, guint n)
{
	Result rest;

	read_rest(reader, &rest);
	g_assert_no_error(rest.error);
	g_assert_cmpuint(n_events(rest.text->str), ==, n);
	g_assert_true(g_str_has_suffix(all, rest.text->str));
	free_result(&rest);
}

/* `damaged`: that is said, whether or not all of the file is read. */
static void check_places(GBytes *bytes, gboolean damaged)
{
	Result all;

	read_bytes(bytes, g_bytes_get_size(bytes), &all);
	g_assert_cmpuint(n_events(all.text->str), ==, 2 * WINDOWS);
	g_assert_nonnull(strstr(all.text->str, "a:491x a:500y"));
	for (guint i = 1; i <= WINDOWS; i += 9) {
		g_autoptr(RsTraceReader) reader = rs_trace_reader_new(file_of(bytes));
		g_autoptr(RsTraceReader) other = rs_trace_reader_new(file_of(bytes));

		g_assert_true(rs_trace_reader_seek(reader, 10 * i, NULL, NULL));
		check_rest(reader, all.text->str, 2 * (WINDOWS + 1 - i));
		g_assert_true(rs_trace_reader_seek_last(other, i, NULL, NULL));
		check_rest(other, all.text->str, i);
		g_assert_cmpuint(rs_trace_reader_n_sources(other), ==, 1);
		/* From before it one comes to it; from behind it, the index does not fit. */
		if (damaged)
			g_assert_cmpuint(rs_trace_reader_damage(reader)->gaps, ==, 1);
		g_assert_true(rs_trace_reader_seek(other, 0, NULL, NULL));
		check_rest(other, all.text->str, 2 * WINDOWS);
	}
	free_result(&all);
}

/* With its end, and without. */
static void check_file(GByteArray *file, gboolean damaged)
{
	g_autoptr(GBytes) whole = g_byte_array_free_to_bytes(file);
	g_autoptr(GBytes) cut =
		g_bytes_new_from_bytes(whole, 0, g_bytes_get_size(whole) - RS_FILE_END_SIZE);

	check_places(whole, damaged);
	check_places(cut, damaged);
}

/* ---- the files ---- */

static void check_sound(GBytes *bytes, gsize size)
{
	g_autoptr(GBytes) part = g_bytes_new_from_bytes(bytes, 0, size);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(file_of(part));

	g_assert_true(rs_trace_reader_seek_last(reader, 1, NULL, NULL));
	g_assert_true(rs_trace_reader_seek(reader, 500, NULL, NULL));
	g_assert_cmpuint(rs_trace_reader_damage(reader)->gaps, ==, 0);
}

/* A file that was cut is not damaged, nor is its index, whether or not that is looked for. */
static void test_right(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = NULL, small = NULL;
	GByteArray *file = some_file(f);
	File other = {0};

	check_file(g_byte_array_append(g_byte_array_new(), file->data, file->len), FALSE);
	bytes = g_byte_array_free_to_bytes(file);
	check_sound(bytes, g_bytes_get_size(bytes));
	check_sound(bytes, g_bytes_get_size(bytes) - RS_FILE_END_SIZE);
	check_sound(bytes, g_bytes_get_size(bytes) / 2);
	set_up(&other, NULL);
	put_source(&other, 0, "a");
	PAGE(&other, 0, 0, 0, 10);
	end_window(&other, 20);
	small = finish(&other);
	check_sound(small, g_bytes_get_size(small));
	check_sound(small, g_bytes_get_size(small) - RS_FILE_END_SIZE);
	tear_down(&other, NULL);
}

static void test_missing(File *f, gconstpointer unused)
{
	static const guint n[] = {1, 8, 40, 150};

	for (guint i = 0; i < 3 * G_N_ELEMENTS(n); i++) {
		File fresh = {0};
		GByteArray *file;

		set_up(&fresh, NULL);
		file = some_file(&fresh);
		remove_some(file, 10 + 40 * (i % 3), n[i / 3]);
		check_file(file, TRUE);
		tear_down(&fresh, NULL);
	}
}

static void test_surplus(File *f, gconstpointer unused)
{
	static const guint n[] = {3, 8, 64, 4096};

	for (guint i = 0; i < 3 * G_N_ELEMENTS(n); i++) {
		File fresh = {0};
		GByteArray *file;

		set_up(&fresh, NULL);
		file = some_file(&fresh);
		insert(file, 10 + 40 * (i % 3), n[i / 3]);
		check_file(file, TRUE);
		tear_down(&fresh, NULL);
	}
}

/* The index is where the end says, but not all of what it lists. */
static void test_both(File *f, gconstpointer unused)
{
	GByteArray *file = some_file(f);

	insert(file, 80, 16);
	remove_some(file, 20, 16);
	check_file(file, FALSE);
}

/* What the end says of the index is wrong. */
static void test_elsewhere(File *f, gconstpointer unused)
{
	GByteArray *file = some_file(f);
	struct rs_file_end *end = end_of(file);
	g_autoptr(GBytes) bytes = NULL;

	end->index -= 8;
	put_check_right((struct rs_file_block *)(void *)end - 1);
	bytes = g_byte_array_free_to_bytes(file);
	check_places(bytes, TRUE);
}

/* One place of the index is changed, or all of its windows are. */
typedef struct {
	const char *path;
	gint64 at;
	guint64 until_ns; /* 0: as it is */
	guint32 kind;     /* likewise */
	guint32 source;
} Lie;

static void tell(struct rs_file_place *place, const Lie *lie)
{
	place->at += (guint64)lie->at;
	place->source += lie->source;
	if (lie->until_ns)
		place->until_ns = lie->until_ns;
	if (lie->kind)
		place->kind = lie->kind;
}

static void test_lie(gconstpointer data)
{
	const gsize first = sizeof(struct rs_file_block) + sizeof(struct rs_file_table);
	const Lie *lie = data;
	g_autoptr(GBytes) bytes = NULL;
	struct rs_file_block *block;
	GByteArray *file;
	File f = {0};
	guint n = 0;

	set_up(&f, NULL);
	file = some_file(&f);
	block = index_of(file);
	for (gsize at = first; at < block->head_size; at += sizeof(struct rs_file_place)) {
		struct rs_file_place *place = (void *)((guint8 *)block + at);

		if (place->kind != RS_FILE_WINDOW)
			continue;
		tell(place, lie);
		n++;
	}
	g_assert_cmpuint(n, ==, WINDOWS);
	put_check_right(block);
	bytes = g_byte_array_free_to_bytes(file);
	check_places(bytes, TRUE);
	tear_down(&f, NULL);
}

#define ADD(path, test) g_test_add("/decode/index/" path, File, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	static const Lie lies[] = {
		{.path = "early", .until_ns = 1}, {.path = "late", .until_ns = G_MAXUINT64},
		{.path = "place", .at = -8},      {.path = "kind", .kind = RS_FILE_NAMES},
		{.path = "source", .source = 1},
	};

	g_test_init(&argc, &argv, NULL);
	ADD("right", test_right);
	ADD("missing", test_missing);
	ADD("surplus", test_surplus);
	ADD("both", test_both);
	ADD("elsewhere", test_elsewhere);
	for (guint i = 0; i < G_N_ELEMENTS(lies); i++) {
		g_autofree char *path = g_strconcat("/decode/index/", lies[i].path, NULL);

		g_test_add_data_func(path, &lies[i], test_lie);
	}
	return g_test_run();
}
