/* SPDX-License-Identifier: MIT */
/* Of more rings than whole pages have room, a reader holds slices: nobody sees a difference. */
#include "build-file.h"

#include <string.h>

#define MANY 500u /* rings; their pages of 64 KiB are more than a reader holds */
#define FEW 100u  /* theirs are not */

typedef struct {
	guint32 records, good; /* in the ring's page, and before what is invalid */
	guint32 seen;
	guint64 lost;
} Ring;

static Ring rings[MANY];

static void put_words(GByteArray *to, guint64 word, guint n)
{
	while (n--)
		test_put(to, word, sizeof(word));
}

/* Its call stack of up to 64 frames, marks, and a payload; the word says whose they are. */
static void put_record(TestPage *page, GRand *rand, guint64 word, guint32 ts)
{
	const guint frames = g_rand_boolean(rand) ? (guint)g_rand_int_range(rand, 1, 65) : 0;
	const guint words =
		g_rand_int_range(rand, 0, 10) ? 1 + (guint)g_rand_int_range(rand, 0, 30) : 1200;
	struct rs_rec_stack stack = {.id = RS_REC_STACK, .size = (guint16)(8 + 8 * frames)};
	g_autoptr(GByteArray) payload = g_byte_array_new();

	if (frames) {
		g_byte_array_append(payload, (const guint8 *)&stack, sizeof(stack));
		put_words(payload, ~word, frames);
		test_page_raw(page, payload->data, payload->len);
		test_page_context(page, 7, 0);
		g_byte_array_set_size(payload, 0);
	}
	put_words(payload, word, words);
	test_page_record(page, TEST_SWITCH, ts, payload->data, payload->len);
}

/* Fills a page. Every tenth one ends with what is no record, before two that are not found. */
static GByteArray *make_page(GRand *rand, guint ring, guint *half)
{
	TestPage *page = test_page_new(ring, 0, 1, 7, 0);
	const struct rs_rec_header bad = {.id = TEST_SWITCH, .size = 3};
	guint32 ts = 1;

	rings[ring] = (Ring){0};
	*half = RS_RING_PAGE_HEADER;
	while (test_page_size(page) < 32768) {
		ts += (guint32)g_rand_int_range(rand, 0, 100);
		if (rings[ring].records == 20 && ring >= FEW) {
			*half = test_page_size(page);
			ts = 1u << 19;
		}
		put_record(page, rand, (guint64)ring << 32 | rings[ring].records++, ts);
	}
	rings[ring].good = rings[ring].records;
	if (ring % 10 == 3)
		test_page_raw(page, &bad, sizeof(bad));
	for (guint i = 0; i < 2; i++) {
		put_record(page, rand, (guint64)ring << 32 | rings[ring].records++, ts);
		rings[ring].good += ring % 10 != 3;
	}
	return test_page_end(page);
}

static void put_part(File *f, guint ring, const GByteArray *page, guint from, guint to)
{
	const struct rs_file_page entry = {.from = from, .to = to, .ring = ring};

	g_assert_true(rs_trace_writer_put_page(f->writer, 0, page->data, &entry, NULL));
}

/* The page once more, with no new bytes, but something is lost behind it. */
static void put_loss(File *f, guint ring, const GByteArray *page)
{
	const struct rs_file_page entry = {
		.lost = 5, .from = page->len, .to = page->len, .ring = ring};

	g_assert_true(rs_trace_writer_put_page(f->writer, 0, page->data, &entry, NULL));
}

/* A page that says how many records there were before it. */
static void put_last(File *f, guint ring)
{
	TestPage *page = test_page_new(ring, 1, 1u << 20, 7, 0);
	g_autoptr(GByteArray) bytes = NULL;

	test_page_header(page)->records = rings[ring].records;
	test_page_record(page, TEST_SWITCH, 1u << 20, "last", 5);
	bytes = test_page_end(page);
	put_part(f, ring, bytes, RS_RING_PAGE_HEADER, bytes->len);
}

/*
 * The first window has so few rings that their pages are held as a whole, until those of the second
 * come. Those grow later, in the third.
 */
static GBytes *make_file(const RsTraceWriterConfig *config)
{
	struct rs_file_source info = {.size = sizeof(info), .ring_count = MANY};
	g_autoptr(GRand) rand = g_rand_new_with_seed(8);
	GByteArray *pages[MANY];
	guint half[MANY];
	GBytes *bytes;
	File f = {0};

	set_up(&f, config);
	rs_trace_writer_put(f.writer, RS_FILE_SOURCE, 0, &info, sizeof(info), NULL);
	put_schema(&f, 0);
	for (guint ring = 0; ring < MANY; ring++) {
		pages[ring] = make_page(rand, ring, &half[ring]);
		if (half[ring] == RS_RING_PAGE_HEADER)
			half[ring] = pages[ring]->len;
		put_part(&f, ring, pages[ring], RS_RING_PAGE_HEADER, half[ring]);
		if (ring == FEW)
			end_window(&f, 1u << 30);
	}
	end_window(&f, 1u << 30);
	for (guint ring = 0; ring < MANY; ring++) {
		if (half[ring] < pages[ring]->len)
			put_part(&f, ring, pages[ring], half[ring], pages[ring]->len);
		put_loss(&f, ring, pages[ring]);
		g_byte_array_unref(pages[ring]);
		put_last(&f, ring);
	}
	end_window(&f, 1u << 30);
	bytes = finish(&f);
	tear_down(&f, NULL);
	return bytes;
}

static void check_words(const guint8 *bytes, guint n, guint64 expected)
{
	guint64 word;

	for (guint i = 0; i < n; i++) {
		memcpy(&word, bytes + 8 * i, sizeof(word));
		g_assert_cmphex(word, ==, expected);
	}
}

static void take_record(const RsTraceRecord *record)
{
	Ring *ring = &rings[record->ring];

	if (record->kind == RS_TRACE_RECORD_LOSS) {
		ring->lost += record->lost;
	} else if (record->size != 5) {
		guint64 word = (guint64)record->ring << 32 | ring->seen++;

		check_words(record->payload, record->size / 8, word);
		check_words(record->stack, record->n_stack, ~word);
		g_assert_cmpuint(record->pid, ==, 7);
	}
}

static void test_slices_hold_the_same(gconstpointer compression)
{
	const RsTraceWriterConfig config = {.compression = GPOINTER_TO_INT(compression)};
	g_autoptr(GBytes) bytes = make_file(&config);
	g_autoptr(RsTraceReader) reader = rs_trace_reader_new(file_of(bytes));
	const RsTraceRecord *record;
	GError *error = NULL;
	guint64 last = 0;

	while ((record = rs_trace_reader_next(reader, NULL, &error))) {
		if (record->kind == RS_TRACE_RECORD_EVENT) {
			g_assert_cmpuint(record->sorted_ns, >=, last);
			last = record->sorted_ns;
		}
		take_record(record);
	}
	g_assert_no_error(error);
	for (guint i = 0; i < MANY; i++) {
		g_assert_cmpuint(rings[i].seen, ==, rings[i].good);
		/* Behind what is no record, nothing more of the page counts. */
		g_assert_cmpuint(rings[i].lost, ==,
				 i % 10 == 3 ? rings[i].records - rings[i].good : 5);
	}
	g_assert_cmpuint(rs_trace_reader_stats(reader)->bad_pages, ==, MANY / 10);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/slices/plain", GINT_TO_POINTER(0), test_slices_hold_the_same);
	g_test_add_data_func("/slices/packed", GINT_TO_POINTER(1), test_slices_hold_the_same);
	return g_test_run();
}
