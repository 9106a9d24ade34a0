/* SPDX-License-Identifier: MIT */
/* What is counted and said of pages that are invalid from some place on, and of pieces of pages. */
#include "rs-trace-decoder.h"
#include "build.h"

#include <string.h>

typedef struct {
	RsTraceSchema *schema;
	RsTraceDecoder *decoder;
	guint events, losses, boots;
	guint64 lost;    /* of the last loss */
	guint loss_seen; /* events before it */
	const RsTraceOrigin *origin;
	guint16 ring;
} Fixture;

static void collect(const RsTraceRecord *record, gpointer data)
{
	Fixture *f = data;

	f->origin = record->origin;
	f->ring = record->ring;
	switch (record->kind) {
	case RS_TRACE_RECORD_EVENT:
		f->events++;
		break;
	case RS_TRACE_RECORD_LOSS:
		f->losses++;
		f->lost = record->lost;
		f->loss_seen = f->events;
		break;
	case RS_TRACE_RECORD_BOOT:
		f->boots++;
		break;
	}
}

static void set_up(Fixture *f, gconstpointer unused)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	test_desc_switch(bytes);
	f->schema = rs_trace_schema_new();
	test_take(f->schema, 0, bytes);
	f->decoder = rs_trace_decoder_new(2, f->schema, NULL, collect, f);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	rs_trace_decoder_free(f->decoder);
	rs_trace_schema_free(f->schema);
}

/* Of `good` records of 16 bytes, after `before` others of the ring. Then an invalid one. */
static GByteArray *page_of(guint64 seq, guint64 before, guint good, gboolean bad)
{
	static const struct rs_rec_header invalid = {.id = TEST_SWITCH, .size = 7};
	TestPage *page = test_page_new(1, seq, 1000, 1, 0);

	test_page_header(page)->records = before;
	for (guint i = 0; i < good; i++)
		test_page_record(page, TEST_SWITCH, 1000 + i, &(guint64){1}, 8);
	if (bad)
		test_page_raw(page, &invalid, sizeof(invalid));
	return test_page_end(page);
}

static gboolean push(Fixture *f, const GByteArray *page, guint from, guint to, guint64 lost)
{
	return rs_trace_decoder_push(f->decoder, 1, page->data, RS_RING_PAGE_HEADER + from,
				     to ? RS_RING_PAGE_HEADER + to : page->len, lost);
}

static void check_stats(Fixture *f, guint64 records, guint64 lost, guint64 bad_pages)
{
	const RsTraceDecoderStats *stats;

	stats = rs_trace_decoder_stats(f->decoder);
	g_assert_cmpuint(stats->records, ==, records);
	g_assert_cmpuint(stats->lost, ==, lost);
	g_assert_cmpuint(stats->bad_pages, ==, bad_pages);
	g_assert_cmpuint(stats->unknown, ==, 0);
	g_assert_cmpuint(f->events, ==, records);
}

/* The page right behind an invalid part says how many records that had. */
static void test_bad_part(Fixture *f, gconstpointer unused)
{
	static const struct {
		guint64 seq, records, lost, expected;
	} next[] = {
		{6, 110, 0, 8}, {6, 103, 0, 1}, {6, 102, 0, 0},  {6, 50, 0, 0},
		{7, 110, 0, 0}, {5, 110, 0, 0}, {6, 110, 3, 11}, {7, 110, 3, 3},
	};
	const RsTraceOrigin origin = {.name = "a"};
	guint64 lost = 0;

	rs_trace_decoder_set_origin(f->decoder, &origin);
	for (guint i = 0; i < G_N_ELEMENTS(next); i++) {
		g_autoptr(GByteArray) bad = page_of(5, 100, 2, TRUE);
		g_autoptr(GByteArray) good = page_of(next[i].seq, next[i].records, 1, FALSE);

		g_test_message("%u", i);
		g_assert_false(push(f, bad, 0, 0, 0));
		g_assert_cmpuint(f->losses, ==, 0);
		g_assert_true(push(f, good, 0, 0, next[i].lost));
		g_assert_cmpuint(f->losses, ==, next[i].expected > 0);
		if (next[i].expected) {
			g_assert_cmpuint(f->lost, ==, next[i].expected);
			g_assert_cmpuint(f->loss_seen, ==, 3 * i + 2);
		}
		lost += next[i].expected;
		f->losses = 0;
		check_stats(f, 3 * (i + 1), lost, i + 1);
	}
	g_assert_true(f->origin == &origin);
	g_assert_cmpuint(f->ring, ==, 1);
	g_assert_cmpuint(f->boots, ==, 0);
}

/* A page that grows behind its invalid part is counted once, and what it has is not repeated. */
static void test_grown(Fixture *f, gconstpointer unused)
{
	g_autoptr(GByteArray) bad = page_of(5, 100, 2, TRUE);
	g_autoptr(GByteArray) next = page_of(6, 105, 1, FALSE);

	g_assert_true(push(f, bad, 0, 16, 0));
	check_stats(f, 1, 0, 0);
	g_assert_false(push(f, bad, 16, 0, 0));
	check_stats(f, 2, 0, 1);
	g_assert_false(push(f, bad, 40, 40, 0));
	g_assert_false(push(f, bad, 32, 0, 9));
	check_stats(f, 2, 0, 1);
	g_assert_true(push(f, next, 0, 0, 0));
	check_stats(f, 3, 3, 1);
	/* It is forgotten now: the next page's number follows, and nothing is lost. */
	g_byte_array_unref(g_steal_pointer(&next));
	next = page_of(7, 200, 1, FALSE);
	g_assert_true(push(f, next, 0, 0, 0));
	check_stats(f, 4, 3, 1);
}

/* Pieces that follow each other, that do not, and that belong to another page. */
static void test_pieces(Fixture *f, gconstpointer unused)
{
	g_autoptr(GByteArray) page = page_of(5, 0, 4, FALSE);
	g_autoptr(GByteArray) other = page_of(6, 4, 4, FALSE);

	g_assert_true(push(f, page, 0, 16, 0));
	check_stats(f, 1, 0, 0);
	g_assert_true(push(f, page, 16, 16, 0));
	check_stats(f, 1, 0, 0);
	g_assert_true(push(f, page, 32, 48, 1)); /* one was left out */
	check_stats(f, 2, 1, 0);
	g_assert_true(push(f, other, 48, 0, 0));
	check_stats(f, 3, 1, 0);
	g_assert_true(push(f, other, 0, 0, 0)); /* from the start again */
	check_stats(f, 7, 1, 0);
	/* A piece must begin between two items. */
	g_assert_false(push(f, page, 8, 0, 0));
	check_stats(f, 7, 1, 1);
}

/* Whoever passes what cannot be is told so, and nothing happens. */
static void test_impossible(Fixture *f, gconstpointer unused)
{
	g_autoptr(GByteArray) page = page_of(5, 0, 1, FALSE);
	static const guint places[][3] = {
		{2, RS_RING_PAGE_HEADER, RS_RING_PAGE_HEADER + 16},
		{1, RS_RING_PAGE_HEADER - 1, RS_RING_PAGE_HEADER + 16},
		{1, RS_RING_PAGE_HEADER + 16, RS_RING_PAGE_HEADER + 15},
	};

	for (guint i = 0; i < G_N_ELEMENTS(places); i++) {
		g_test_expect_message(NULL, G_LOG_LEVEL_CRITICAL, "*assertion*");
		g_assert_false(rs_trace_decoder_push(f->decoder, places[i][0], page->data,
						     places[i][1], places[i][2], 0));
		g_test_assert_expected_messages();
	}
	check_stats(f, 0, 0, 0);
}

#define ADD(path, test) g_test_add("/decode/decoder/" path, Fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("bad-part", test_bad_part);
	ADD("grown", test_grown);
	ADD("pieces", test_pieces);
	ADD("impossible", test_impossible);
	return g_test_run();
}
