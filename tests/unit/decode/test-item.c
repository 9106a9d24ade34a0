/* SPDX-License-Identifier: MIT */
/* Records as values of their own, which say what lines of text and JSON say. */
#include "build-file.h"
#include "rs-trace-json.h"
#include "rs-trace-text.h"

#include <ringside/record.h>
#include <string.h>
#include <zstd.h>

#define SOURCE "a\tb\xff"

static const guint64 frames[] = {0x1010, 0x5000};

/* A page with a boot's events: of every kind of field, of nobody's schema, and one that is cut. */
static void put_events(File *f, guint source)
{
	TestPage *page = test_page_new(0, 0, 10, 7, RS_CTX_IRQS_OFF | RS_CTX_HARDIRQ);
	struct rs_file_page entry = {.lost = 3, .from = RS_RING_PAGE_HEADER};
	const struct rs_rec_stack stack = {RS_REC_STACK, sizeof(stack) + sizeof(frames), 0};
	const struct rs_rec_header cut = {.id = TEST_SWITCH, .size = 8 | RS_REC_CUT};
	g_autoptr(GByteArray) all = test_payload_all(), bytes = NULL;
	guint8 mark[sizeof(stack) + sizeof(frames)];

	memcpy(mark, &stack, sizeof(stack));
	memcpy(mark + sizeof(stack), frames, sizeof(frames));
	test_page_raw(page, mark, sizeof(mark));
	test_page_record(page, TEST_ALL, 20, all->data, all->len);
	test_page_record(page, 99, 30, "x", 1);
	test_page_raw(page, &cut, sizeof(cut));
	bytes = test_page_end(page);
	entry.to = bytes->len;
	g_assert_true(rs_trace_writer_put_page(f->writer, source, bytes->data, &entry, NULL));
}

static void put_all(File *f, guint source)
{
	g_autoptr(GByteArray) descs = g_byte_array_new();
	struct rs_provider entry;
	RsTraceWriterTable table = {0, &entry, 1, sizeof(entry), NULL, 0};

	test_desc_switch(descs);
	test_desc_all(descs);
	test_provider(&entry, 0, descs);
	table.data = descs->data;
	table.data_size = descs->len;
	g_assert_true(rs_trace_writer_put_table(f->writer, RS_FILE_PROVIDER, source, &table, NULL));
}

/* The function at 0x1000, and what the pointer of demo:all points to. */
static void add_symbols(RsTraceSymbols *symbols, const struct rs_provider *entry, gpointer data)
{
	const struct {
		struct rs_file_symbol list[2];
		char names[16];
	} table = {{{0x1000, 0x40, 0}, {0xffff800012345670, 16, 7}}, "caller\0it\xff"};
	struct rs_file_symbols head = {
		.from = 0x1000, .to = G_MAXUINT64, .count = 2, .unpacked = sizeof(table)};
	guint8 packed[256];
	gsize size = ZSTD_compress(packed, sizeof(packed), &table, sizeof(table), 1);

	g_assert_true(rs_trace_symbols_take(symbols, &head, packed, size, 1 << 20, NULL));
}

static GBytes *make_file(File *f)
{
	put_source(f, 0, SOURCE);
	put_all(f, 0);
	put_name(f, 0, "sh\"\n");
	put_events(f, 0);
	end_window(f, 100);
	return finish(f);
}

static RsTraceItem *read_item(RsTraceReader *reader)
{
	GError *error = NULL;
	RsTraceItem *item = rs_trace_reader_read(reader, NULL, &error);

	g_assert_no_error(error);
	g_assert_nonnull(item);
	return item;
}

static void check_line(const char *line, const GString *want)
{
	g_assert_cmpuint(strlen(line), ==, want->len - 1);
	g_assert_true(g_str_has_prefix(want->str, line));
}

/* The lines of items are those that the command prints: rs_trace_json_line() makes them. */
static void test_lines(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = make_file(f);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(file_of(bytes));
	g_autoptr(RsTraceReader) same = rs_trace_reader_new(file_of(bytes));
	const RsTraceRecord *record;
	guint n = 0;

	for (; (record = rs_trace_reader_next(same, NULL, NULL)); n++) {
		const RsTraceTask *task = rs_trace_reader_task(same);
		g_autoptr(GString) text = g_string_new(NULL), json = g_string_new(NULL);
		g_autoptr(RsTraceItem) item = read_item(reader);

		rs_trace_json_line(json, record, task);
		check_line(rs_trace_item_to_json(item), json);
		g_assert_nonnull(strstr(json->str, "\"source\":\"a\\tb\\uefff\","));
		rs_trace_text_line(text, record, task, RS_TRACE_TEXT_NONE);
		check_line(rs_trace_item_to_text(item), text);
	}
	g_assert_cmpuint(n, ==, 4);
	g_assert_null(rs_trace_reader_read(reader, NULL, NULL));
}

static void check_field(const RsTraceItem *item, const char *name, const char *value)
{
	g_autoptr(GVariant) field = rs_trace_item_get_field(item, name);
	g_autofree char *text = g_variant_print(field, FALSE);

	g_assert_cmpstr(text, ==, value);
}

static void check_event(const RsTraceItem *item)
{
	g_autofree char *names = g_variant_print(rs_trace_item_get_names(item), FALSE);
	guint n_frames;

	g_assert_cmpint(rs_trace_item_get_kind(item), ==, RS_TRACE_ITEM_KIND_EVENT);
	g_assert_cmpstr(rs_trace_item_get_full_name(item), ==, "demo:all");
	g_assert_cmpstr(rs_trace_item_get_system(item), ==, "demo");
	g_assert_cmpstr(rs_trace_item_get_name(item), ==, "all");
	g_assert_cmpstr(rs_trace_item_get_comm(item), ==, "sh\"\n");
	g_assert_cmpstr(rs_trace_item_get_flags(item), ==, "d.h..");
	g_assert_false(rs_trace_item_is_cut(item));
	check_field(item, "state", "1");
	check_field(item, "why", "'done!'");
	check_field(item, "mac", "[0x02, 0x00, 0x00, 0xab, 0xcd, 0xef]");
	g_assert_cmpstr(names, ==,
			"{'p': 'it\xef\xbf\xbd+0x8', 'state': 'S\"quoted\"', 'bits': 'A|C'}");
	g_assert_cmpuint(rs_trace_item_get_stack(item, &n_frames)[0], ==, frames[0]);
	g_assert_cmpuint(n_frames, ==, 2);
	g_assert_cmpstr(rs_trace_item_get_stack_names(item)[0], ==, "caller+0x10");
	g_assert_cmpstr(rs_trace_item_get_stack_names(item)[1], ==, "0x5000");
	g_assert_null(rs_trace_item_get_stack_names(item)[2]);
}

/* What is known of an event can be asked without a look at its lines. */
static void test_event(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = make_file(f);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(file_of(bytes));
	g_autoptr(RsTraceItem) loss = NULL, event = NULL;

	rs_trace_reader_set_provider_func(reader, add_symbols, NULL);
	loss = read_item(reader);
	event = read_item(reader);
	g_object_unref(g_steal_pointer(&reader)); /* items stay */
	g_assert_cmpint(rs_trace_item_get_kind(loss), ==, RS_TRACE_ITEM_KIND_LOSS);
	g_assert_cmpuint(rs_trace_item_get_lost(loss), ==, 3);
	g_assert_cmpstr(rs_trace_item_get_source(loss), ==, "a\tb\xef\xbf\xbd");
	g_assert_cmpuint(rs_trace_item_get_source_number(loss), ==, 0);
	g_assert_cmpuint(rs_trace_item_get_source_index(loss), ==, 0);
	check_event(event);
}

/* What an item is not, or lacks, is NULL or 0. */
static void test_lacks(File *f, gconstpointer unused)
{
	g_autoptr(GBytes) bytes = make_file(f);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(file_of(bytes));
	g_autoptr(RsTraceItem) loss = read_item(reader), event = read_item(reader);
	g_autoptr(RsTraceItem) unknown = read_item(reader), cut = read_item(reader);
	guint n_frames = 1;

	g_assert_null(rs_trace_item_get_full_name(loss));
	g_assert_null(rs_trace_item_get_flags(loss));
	g_assert_null(rs_trace_item_get_fields(loss));
	g_assert_null(rs_trace_item_get_names(loss));
	g_assert_cmpstr(rs_trace_item_get_stack_names(event)[0], ==, "0x1010");
	g_assert_false(g_variant_lookup(rs_trace_item_get_names(event), "p", "s", NULL));
	g_assert_null(rs_trace_item_get_full_name(unknown));
	g_assert_cmpuint(g_variant_n_children(rs_trace_item_get_fields(unknown)), ==, 0);
	g_assert_null(rs_trace_item_get_stack(unknown, &n_frames));
	g_assert_cmpuint(n_frames, ==, 0);
	g_assert_null(rs_trace_item_get_stack_names(unknown));
	g_assert_true(rs_trace_item_is_cut(cut));
	g_assert_cmpuint(g_variant_n_children(rs_trace_item_get_fields(cut)), ==, 0);
}

#define ADD(path, test) g_test_add("/decode/item/" path, File, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("lines", test_lines);
	ADD("event", test_event);
	ADD("lacks", test_lacks);
	return g_test_run();
}
