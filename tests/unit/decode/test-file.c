/* SPDX-License-Identifier: MIT */
/* Trace files that are written block by block: what is read of them, whole, cut, and damaged. */
#include "build-file.h"

#include <string.h>

/* ---- order ---- */

/* A page of ring 1 comes a window later than a younger one of ring 0. */
static void test_windows(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = NULL;

	put_source(f, 0, "a");
	put_schema(f, 0);
	put_name(f, 0, "x");
	PAGE(f, 0, 0, 0, 10, 40, 90);
	end_window(f, 100);
	PAGE(f, 0, 1, 0, 20, 95, 130);
	PAGE(f, 0, 0, 3, 120);
	end_window(f, 200);
	end_window(f, 210);
	PAGE(f, 0, 0, 0, 205);
	PAGE(f, 0, 1, 0, 140, 201);
	end_window(f, 300);
	bytes = finish(f);
	check(bytes, "a:10x a:20x a:40x a:90x a:95x a:-3 a:120x a:130x a:140x a:201x a:205x ");
}

/* Ring 1 says times of far later. They come when their window says, and hold up nobody. */
static void test_future(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = NULL;

	put_source(f, 0, "a");
	put_schema(f, 0);
	PAGE(f, 0, 1, 0, 5, 4000000);
	PAGE(f, 0, 0, 0, 10);
	end_window(f, 100);
	PAGE(f, 0, 0, 0, 110, 120);
	end_window(f, 200);
	PAGE(f, 0, 0, 0, 210);
	bytes = finish(f);
	check(bytes, "a:5<...> a:10<...> a:4000000<...> a:110<...> a:120<...> a:210<...> ");
}

/* A source leaves, with a loss at its end; another one gets its number. */
static void test_sources(File *f, gconstpointer unused)
{
	const struct rs_file_lost lost = {.lost = 9, .ring = 1};
	g_autoptr(GBytes) bytes = NULL;

	put_source(f, 3, "a");
	put_schema(f, 3);
	put_source(f, 4, "b");
	put_schema(f, 4);
	put_name(f, 3, "x");
	PAGE(f, 3, 1, 0, 30);
	PAGE(f, 4, 0, 0, 20, 50);
	rs_trace_writer_put(f->writer, RS_FILE_LOST, 3, &lost, sizeof(lost), NULL);
	rs_trace_writer_put(f->writer, RS_FILE_LEFT, 3, NULL, 0, NULL);
	end_window(f, 60);
	put_source(f, 3, "c");
	PAGE(f, 3, 1, 0, 70);
	bytes = finish(f);
	check(bytes, "b:20<...> a:30x a:-9 b:50<...> c:70? ");
}

/* Sources that have left take memory until their window is read, so there is a bound. */
static void test_many_leave(File *f, gconstpointer unused)
{
	const guint sources = 10000;
	g_autoptr(RsTraceReader) reader = NULL;
	g_autoptr(GInputStream) pipe = NULL; /* a file counts all that it has */
	g_autoptr(GBytes) bytes = NULL;
	const RsTraceRecord *record;
	guint n = 0;

	for (guint i = 0; i < sources; i++) {
		put_source(f, 0, "a");
		PAGE(f, 0, 0, 0, 10 + i);
		rs_trace_writer_put(f->writer, RS_FILE_LEFT, 0, NULL, 0, NULL);
	}
	end_window(f, 20 + sources);
	bytes = finish(f);
	pipe = pipe_of(bytes);
	reader = rs_trace_reader_open_stream(pipe, NULL, NULL);
	for (; (record = rs_trace_reader_next(reader, NULL, NULL)); n++) {
		g_assert_cmpuint(record->ns, ==, 10 + n);
		if (!n)
			g_assert_cmpuint(rs_trace_reader_n_sources(reader), <, 4200);
	}
	g_assert_cmpuint(n, ==, sources);
	g_assert_cmpuint(rs_trace_reader_n_sources(reader), ==, sources);
	g_assert_true(rs_trace_reader_is_unordered(reader));
}

/* Part of a page, then the rest of it. */
static void test_grown(File *f, gconstpointer unused)
{
	struct rs_file_page entry = {.from = RS_RING_PAGE_HEADER};
	TestPage *page = test_page_new(0, 5, 10, 1, 0);
	g_autoptr(GByteArray) page_bytes = NULL;
	g_autoptr(GBytes) bytes = NULL;

	put_source(f, 0, "a");
	put_schema(f, 0);
	put_name(f, 0, "x");
	test_page_record(page, TEST_SWITCH, 10, &(guint64){1}, 8);
	test_page_context(page, 7, 0);
	test_page_record(page, TEST_SWITCH, 20, &(guint64){1}, 8);
	page_bytes = test_page_end(page);
	entry.to = entry.from + 16;
	g_assert_true(rs_trace_writer_put_page(f->writer, 0, page_bytes->data, &entry, NULL));
	end_window(f, 15);
	entry.from = entry.to;
	entry.to = page_bytes->len;
	g_assert_true(rs_trace_writer_put_page(f->writer, 0, page_bytes->data, &entry, NULL));
	bytes = finish(f);
	check(bytes, "a:10<...> a:20x ");
}

/* ---- files that are not whole ---- */

static GBytes *some_file(File *f)
{
	put_source(f, 0, "a");
	put_schema(f, 0);
	put_name(f, 0, "x");
	for (guint32 i = 1; i < 8; i++) {
		PAGE(f, 0, i % RINGS, 0, 10 * i, 10 * i + 1, 10 * i + 2);
		end_window(f, 10 * i + 9);
	}
	return finish(f);
}

static const char *all_of_it = "a:10x a:11x a:12x a:20x a:21x a:22x a:30x a:31x a:32x a:40x a:41x "
			       "a:42x a:50x a:51x a:52x a:60x a:61x a:62x a:70x a:71x a:72x ";

/* Cut at each byte: what is there is read, and that it was cut is said. */
static void test_cut(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = some_file(f);
	gsize size = g_bytes_get_size(bytes), shown = 0;
	Result result;

	check(bytes, all_of_it);
	for (gsize n = 0; n < size; n++) {
		read_bytes(bytes, n, &result);
		if (n < RS_FILE_HEADER_MIN_SIZE) {
			g_assert_error(result.error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE);
		} else {
			g_assert_no_error(result.error);
			g_assert_true(result.cut);
			g_assert_cmpuint(result.damage.gaps, ==, 0);
			g_assert_true(g_str_has_prefix(all_of_it, result.text->str));
			g_assert_cmpuint(result.text->len, >=, shown);
			shown = result.text->len;
		}
		free_result(&result);
	}
	g_assert_cmpuint(shown, ==, strlen(all_of_it));
}

/* Each byte in turn is another one: nothing breaks, and nothing wrong is shown in silence. */
static void test_damaged(File *f, gconstpointer packed)
{
	g_autoptr(GBytes) bytes = some_file(f);
	gsize size = g_bytes_get_size(bytes);
	guint noticed = 0;
	Result result;

	for (gsize n = 0; n < size; n++) {
		g_autofree guint8 *copy =
			g_memdup2(g_bytes_get_data(bytes, NULL), g_bytes_get_size(bytes));
		g_autoptr(GBytes) bad = NULL;

		copy[n] ^= 0x55;
		bad = g_bytes_new_take(g_steal_pointer(&copy), size);
		read_bytes(bad, size, &result);
		if (result.error || result.damage.gaps || result.cut || result.bad_pages)
			noticed++;
		else
			g_assert_cmpstr(result.text->str, ==, all_of_it);
		g_assert_cmpuint(result.text->len, <=, 2 * strlen(all_of_it));
		free_result(&result);
	}
	/* Others pad a block, or say what no record shows: they are the file's header. */
	g_assert_cmpuint(noticed, >, size - 128 - size / 20);
}

/* What is no trace file, and what is of a later version. */
static void test_foreign(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = some_file(f), elf = g_bytes_new_static("\177ELF", 4);
	g_autoptr(GBytes) none = g_bytes_new_static("", 0);
	struct rs_file_header *header = (void *)g_bytes_get_data(bytes, NULL);
	Result result;

	read_bytes(elf, 4, &result);
	g_assert_error(result.error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE);
	free_result(&result);
	read_bytes(none, 0, &result);
	g_assert_error(result.error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE);
	g_assert_cmpstr(result.error->message, ==, "the file is empty");
	free_result(&result);
	read_bytes(bytes, 100, &result);
	g_assert_cmpstr(result.error->message, ==, "the file ends in its header");
	free_result(&result);
	header->abi_minor++;
	check(bytes, all_of_it);
	header->features = 1ull << 40; /* not required */
	check(bytes, all_of_it);
	header->features = 1;
	read_bytes(bytes, g_bytes_get_size(bytes), &result);
	g_assert_error(result.error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION);
	g_assert_nonnull(strstr(result.error->message, "features 0x1,"));
	free_result(&result);
	header->features = 0;
	header->abi_major++;
	read_bytes(bytes, g_bytes_get_size(bytes), &result);
	g_assert_error(result.error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION);
	free_result(&result);
}

/* ---- files that contradict themselves, with good checks ---- */

static void check_rejected(File *f, const char *why)
{
	g_autoptr(GBytes) bytes = NULL;
	Result result;

	end_window(f, 30);
	PAGE(f, 0, 0, 0, 40);
	bytes = finish(f);
	read_bytes(bytes, g_bytes_get_size(bytes), &result);
	g_assert_no_error(result.error);
	g_assert_cmpuint(result.damage.gaps, ==, 1);
	g_assert_nonnull(strstr(result.damage.why, why));
	/* All else is shown. */
	g_assert_cmpstr(result.text->str, ==, "a:10? a:40? ");
	free_result(&result);
}

static void test_pages(void)
{
	static const struct rs_file_page entries[] = {
		{.from = RS_RING_PAGE_HEADER, .to = RS_RING_PAGE_HEADER + 17},
		{.at = 8, .from = RS_RING_PAGE_HEADER, .to = RS_RING_PAGE_HEADER + 16},
		{.at = 4, .from = RS_RING_PAGE_HEADER, .to = RS_RING_PAGE_HEADER},
		{.at = 0xfffffff8, .from = RS_RING_PAGE_HEADER, .to = RS_RING_PAGE_HEADER},
		{.from = RS_RING_PAGE_HEADER + 8, .to = RS_RING_PAGE_HEADER},
		{.from = RS_RING_PAGE_HEADER - 8, .to = RS_RING_PAGE_HEADER},
		{.from = RS_RING_PAGE_HEADER, .to = RS_RING_PAGE_HEADER, .ring = RINGS},
	};
	static const guint8 data[RS_RING_PAGE_HEADER + 16];

	for (guint i = 0; i < G_N_ELEMENTS(entries); i++) {
		const RsTraceWriterTable table = {0,    &entries[i], 1, sizeof(entries[i]),
						  data, sizeof(data)};
		File f = {0};

		set_up(&f, NULL);
		put_source(&f, 0, "a");
		PAGE(&f, 0, 0, 0, 10);
		end_window(&f, 20);
		rs_trace_writer_put_table(f.writer, RS_FILE_PAGES, 0, &table, NULL);
		check_rejected(&f, "a page does not fit its block");
		tear_down(&f, NULL);
	}
}

static void test_contradictions(void)
{
	const struct rs_file_source none = {.size = sizeof(none)};
	const struct rs_file_source huge = {.size = sizeof(huge), .ring_count = RS_MAX_CPUS + 1};
	const struct rs_file_source longer = {.size = sizeof(longer) + 8, .ring_count = 1};
	const RsTraceWriterTable narrow = {.count = 1, .stride = 8, .elements = &none};
	const RsTraceWriterTable odd = {.count = 1, .stride = 28, .elements = &none};
	const struct {
		guint kind, source;
		gconstpointer body;
		gsize size;
		const RsTraceWriterTable *table;
		const char *why;
	} cases[] = {
		{RS_FILE_SOURCE, 0, &huge, sizeof(huge), NULL, "two sources"},
		{RS_FILE_SOURCE, 1, &none, sizeof(none), NULL, "described wrongly"},
		{RS_FILE_SOURCE, 1, &huge, sizeof(huge), NULL, "described wrongly"},
		{RS_FILE_SOURCE, 1, &longer, sizeof(longer), NULL, "described wrongly"},
		{RS_FILE_SOURCE, 65536, &longer, sizeof(longer), NULL, "described wrongly"},
		{RS_FILE_SOURCE, 1, &huge, 8, NULL, "too short"},
		{RS_FILE_LEFT, 1, NULL, 0, NULL, "of no source"},
		{RS_FILE_LOST, 0, NULL, 0, NULL, "too short"},
		{RS_FILE_WINDOW, 0, NULL, 0, NULL, "too short"},
		{RS_FILE_PAGES, 0, &none, 8, NULL, "too short"},
		{RS_FILE_PAGES, 0, NULL, 0, &narrow, "does not fit"},
		{RS_FILE_PAGES, 0, NULL, 0, &odd, "does not fit"},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		File f = {0};

		set_up(&f, NULL);
		put_source(&f, 0, "a");
		PAGE(&f, 0, 0, 0, 10);
		end_window(&f, 20);
		if (cases[i].table)
			rs_trace_writer_put_table(f.writer, cases[i].kind, cases[i].source,
						  cases[i].table, NULL);
		else
			rs_trace_writer_put(f.writer, cases[i].kind, cases[i].source, cases[i].body,
					    cases[i].size, NULL);
		check_rejected(&f, cases[i].why);
		tear_down(&f, NULL);
	}
}

static void hear_event(const RsTraceEvent *event, const RsTraceOrigin *origin, gpointer count)
{
	++*(guint *)count;
}

/* Blocks of no provider: they tell nothing, whether there is a schema or not. */
static void test_no_provider(File *f, gconstpointer unused)
{
	static const RsTraceWriterTable none = {.stride = sizeof(struct rs_provider)};
	g_autoptr(RsTraceReader) reader = NULL;
	g_autoptr(GInputStream) stream = NULL;
	g_autoptr(GBytes) bytes = NULL;
	guint n_records = 0, n_events = 0;

	put_source(f, 0, "a");
	rs_trace_writer_put_table(f->writer, RS_FILE_PROVIDER, 0, &none, NULL);
	PAGE(f, 0, 0, 0, 10);
	put_schema(f, 0);
	rs_trace_writer_put_table(f->writer, RS_FILE_PROVIDER, 0, &none, NULL);
	end_window(f, 20);
	bytes = finish(f);
	stream = stream_of(bytes);
	reader = rs_trace_reader_open_stream(stream, NULL, NULL);
	rs_trace_reader_set_event_func(reader, hear_event, &n_events);
	while (rs_trace_reader_next(reader, NULL, NULL))
		n_records++;
	g_assert_cmpuint(n_records, ==, 1);
	g_assert_cmpuint(n_events, ==, 1);
}

/* A block of a kind that comes later, and a table whose elements have grown. */
static void test_later(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = NULL;
	struct {
		struct rs_cmdline_entry entry;
		guint64 more;
	} grown = {test_task(7, 1, "x"), 5};
	const RsTraceWriterTable names = {0, &grown, 1, sizeof(grown), NULL, 0};

	grown.entry.sequence = 2;
	put_source(f, 0, "a");
	put_schema(f, 0);
	rs_trace_writer_put(f->writer, RS_FILE_SYMBOLS + 1, 77, "whatever", 8, NULL);
	rs_trace_writer_put_table(f->writer, RS_FILE_NAMES, 0, &names, NULL);
	PAGE(f, 0, 0, 0, 10);
	bytes = finish(f);
	check(bytes, "a:10x ");
}

/* ---- pipes, and the index ---- */

/* One can read a pipe, but not go back in it: the stream's own base class is such. */
static void test_pipe(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = some_file(f);
	g_autoptr(GInputStream) pipe = pipe_of(bytes);
	Result result;

	g_assert_false(G_IS_SEEKABLE(pipe));
	read_stream(pipe, &result);
	g_assert_no_error(result.error);
	g_assert_cmpstr(result.text->str, ==, all_of_it);
	free_result(&result);
}

static GArray *places_of(GBytes *bytes, gsize size, gboolean *complete)
{
	g_autoptr(GBytes) part = g_bytes_new_from_bytes(bytes, 0, size);
	g_autoptr(GInputStream) stream = g_memory_input_stream_new_from_bytes(part);
	g_autoptr(RsTraceFile) file = rs_trace_file_new(stream, NULL, NULL);
	GArray *places;

	g_assert_nonnull(file);
	places = rs_trace_file_places(file, TRUE, complete, NULL);
	g_assert_nonnull(places);
	return places;
}

/* An index, with several blocks, says the same as a look at all heads. */
static void test_index(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = NULL;
	g_autoptr(GArray) index = NULL, scan = NULL;
	gboolean complete;

	put_source(f, 0, "a");
	for (guint32 i = 1; i < 1000; i++) {
		PAGE(f, 0, i % RINGS, 0, 10 * i);
		end_window(f, 10 * i + 9);
	}
	bytes = finish(f);
	index = places_of(bytes, g_bytes_get_size(bytes), &complete);
	g_assert_true(complete);
	scan = places_of(bytes, g_bytes_get_size(bytes) - RS_FILE_END_SIZE, &complete);
	g_assert_false(complete);
	g_assert_cmpuint(index->len, ==, 1000);
	g_assert_cmpmem(index->data, index->len * sizeof(struct rs_file_place), scan->data,
			scan->len * sizeof(struct rs_file_place));
	g_assert_cmpuint(g_array_index(index, struct rs_file_place, 999).until_ns, ==, 9999);
}

/* Where blocks of this kind are. */
static GArray *blocks_of(GBytes *bytes, guint kind)
{
	g_autoptr(RsTraceFile) file = file_of(bytes);
	GArray *all = g_array_new(FALSE, FALSE, sizeof(guint64));
	RsTraceFileBlock block;

	while (rs_trace_file_next(file, FALSE, &block, NULL) == RS_TRACE_FILE_BLOCK)
		if (block.kind == kind)
			g_array_append_val(all, block.at);
	return all;
}

/* How many places are found if the block at `at` is damaged, and the file's end is missing. */
static guint places_without(GBytes *bytes, guint64 at)
{
	const gsize size = g_bytes_get_size(bytes);
	guint8 *copy = g_memdup2(g_bytes_get_data(bytes, NULL), size);
	g_autoptr(GBytes) damaged = g_bytes_new_take(copy, size);
	g_autoptr(GArray) places = NULL;
	gboolean complete;

	copy[at + sizeof(struct rs_file_block)] ^= 1;
	places = places_of(damaged, size - RS_FILE_END_SIZE, &complete);
	g_assert_false(complete);
	return places->len;
}

/* Wherever a file was cut: what its last index lists need not be looked at. */
static void test_cut_index(File *f, gconstpointer unused)
{
	g_autoptr(GArray) index = NULL, indices = NULL;
	g_autoptr(GBytes) bytes = NULL;
	gboolean complete;

	put_source(f, 0, "a");
	for (guint32 i = 1; i < 1000; i++) {
		PAGE(f, 0, i % RINGS, 0, 10 * i);
		end_window(f, 10 * i + 9);
	}
	bytes = finish(f);
	index = places_of(bytes, g_bytes_get_size(bytes), &complete);
	g_assert_cmpuint(index->len, ==, 1000);
	for (guint i = 1; i < 1000; i += 37) {
		const guint64 at = g_array_index(index, struct rs_file_place, i).at;
		g_autoptr(GArray) before = places_of(bytes, at, &complete);
		g_autoptr(GArray) within = places_of(bytes, at + 40, &complete);

		g_assert_false(complete);
		g_assert_cmpmem(before->data, before->len * sizeof(struct rs_file_place),
				index->data, i * sizeof(struct rs_file_place));
		g_assert_cmpuint(within->len, ==, i);
	}
	/* The others are seen without a look at them, or one by one. */
	g_assert_cmpuint(places_without(bytes, g_array_index(index, struct rs_file_place, 5).at),
			 ==, 1000);
	indices = blocks_of(bytes, RS_FILE_INDEX);
	g_assert_cmpuint(indices->len, ==, 4);
	for (guint i = 0; i < indices->len; i++)
		g_assert_cmpuint(places_without(bytes, g_array_index(indices, guint64, i)), ==,
				 1000);
}

static void check_heads(GBytes *bytes, guint n_names, guint n_indices)
{
	g_autoptr(RsTraceFile) file = file_of(bytes);
	RsTraceFileStatus status;
	const RsTraceFileDamage *damage;
	RsTraceFileBlock block;

	while ((status = rs_trace_file_next(file, FALSE, &block, NULL)) == RS_TRACE_FILE_BLOCK) {
		g_assert_cmpuint(block.place.at - block.at, <=, RS_FILE_HEAD_MAX);
		if (block.kind == RS_FILE_NAMES)
			n_names -= block.count;
		n_indices -= block.kind == RS_FILE_INDEX;
	}
	g_assert_cmpint(status, ==, RS_TRACE_FILE_END);
	g_assert_cmpuint(n_names, ==, 0);
	g_assert_cmpuint(n_indices, ==, 0);
	damage = rs_trace_file_damage(file);
	g_assert_cmpuint(damage->gaps, ==, 0);
}

/*
 * A block's head is bounded, not its data, however much is told at once, and however long no window
 * ends.
 */
static void test_long_tables(File *f, gconstpointer unused)
{
	const guint n_names = 2 * RS_FILE_HEAD_MAX / sizeof(struct rs_cmdline_entry);
	const guint n_clock = RS_FILE_HEAD_MAX / sizeof(struct rs_clock_epoch);
	g_autofree struct rs_cmdline_entry *names = g_new0(struct rs_cmdline_entry, n_names);
	g_autofree struct rs_clock_epoch *epochs = g_new0(struct rs_clock_epoch, n_clock);
	const RsTraceWriterTable table = {0, names, n_names, sizeof(*names), NULL, 0};
	const RsTraceWriterTable clock = {n_clock, epochs, n_clock, sizeof(*epochs), NULL, 0};
	const struct rs_provider provider = {.sequence = 2};
	g_autofree guint8 *large = g_malloc0(2 * RS_FILE_HEAD_MAX);
	RsTraceWriterTable with_data = {
		0, &provider, 1, sizeof(provider), large, RS_FILE_DESCS_MAX + 1};
	const struct rs_file_lost lost = {.lost = 1};
	g_autoptr(GBytes) bytes = NULL;
	g_autoptr(GArray) index = NULL;
	g_autoptr(GError) error = NULL;
	gboolean complete;

	for (guint i = 0; i < n_names; i++)
		names[i] = (struct rs_cmdline_entry){.sequence = 2, .pid = i};
	put_source(f, 0, "a");
	g_assert_false(rs_trace_writer_put_table(f->writer, RS_FILE_CLOCK, 0, &clock, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_FILE);
	g_assert_true(rs_trace_writer_put_table(f->writer, RS_FILE_NAMES, 0, &table, NULL));
	g_assert_false(rs_trace_writer_put_table(f->writer, RS_FILE_PROVIDER, 0, &with_data, NULL));
	with_data.data_size = RS_FILE_DESCS_MAX;
	g_assert_true(rs_trace_writer_put_table(f->writer, RS_FILE_PROVIDER, 0, &with_data, NULL));
	for (guint i = 0; i < 140000; i++)
		g_assert_true(
			rs_trace_writer_put(f->writer, RS_FILE_LOST, 0, &lost, sizeof(lost), NULL));
	bytes = finish(f);
	index = places_of(bytes, g_bytes_get_size(bytes), &complete);
	g_assert_true(complete);
	g_assert_cmpuint(index->len, ==, 1 + 3 + 1 + 140000);
	check_heads(bytes, n_names, 3);
}

#define ADD(path, config, test)                                                                    \
	g_test_add("/decode/file/" path, File, config, set_up, test, tear_down)

int main(int argc, char **argv)
{
	static const RsTraceWriterConfig packed = {.compression = 3};

	g_test_init(&argc, &argv, NULL);
	ADD("windows", NULL, test_windows);
	ADD("future", NULL, test_future);
	ADD("sources", NULL, test_sources);
	ADD("many-leave", NULL, test_many_leave);
	ADD("grown", NULL, test_grown);
	ADD("cut", NULL, test_cut);
	ADD("cut/packed", &packed, test_cut);
	ADD("damaged", NULL, test_damaged);
	ADD("damaged/packed", &packed, test_damaged);
	g_test_add_func("/decode/file/pages", test_pages);
	g_test_add_func("/decode/file/contradictions", test_contradictions);
	ADD("no-provider", NULL, test_no_provider);
	ADD("later", NULL, test_later);
	ADD("cut-index", NULL, test_cut_index);
	ADD("foreign", NULL, test_foreign);
	ADD("pipe", NULL, test_pipe);
	ADD("index", NULL, test_index);
	ADD("long-tables", NULL, test_long_tables);
	return g_test_run();
}
