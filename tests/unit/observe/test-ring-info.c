/* SPDX-License-Identifier: MIT */
/* Where a ring's producer is, and what the ring holds, by words that a guest writes as it likes. */
#include "rs-trace-ring-change.h"
#include "rs-trace-ring-info.h"
#include "rs-trace-ring-private.h"

#include "region/regions.h"
#include <string.h>

#define PAGE 4096u
#define PAGES 4u
#define RING 1u

static guint64 word_of(guint64 seq, guint64 offset, guint64 records)
{
	return records << RS_WORD_RECORDS_SHIFT | (seq & RS_WORD_PAGE_MASK) << RS_WORD_PAGE_SHIFT |
	       offset / RS_RING_UNIT;
}

/* The word has the low bits of the page's number; `pages` is near it. */
static void test_locate(void)
{
	static const guint64 half = (RS_WORD_PAGE_MASK + 1) / 2, sane = (1ull << 62) - 1;
	const struct {
		guint64 pages, page; /* of which the word has the low bits */
		gint64 seq;
	} cases[] = {
		{0, G_MAXUINT64, -1},
		{0, G_MAXUINT64 - 1, -1}, /* before the first there is none */
		{0, G_MAXUINT64 - 99, -1},
		{0, 0, 0},
		{1, 0, 0},
		{10, 9, 9},
		{10, 10, 10},
		{10, 8, 8},
		{10, 9 + half - 1, (gint64)(9 + half) - 1},
		{10 + half, 9, 9},
		{10 + half, 9 + 2 * half, 9}, /* half a circle: the earlier one */
		{10 + half, 8, 8 + 2 * (gint64)half},
		{1ull << 40, (1ull << 40) - 1, (1ll << 40) - 1},
		{1ull << 40, 1ull << 40, 1ll << 40},
		/* Numbers that no ring reaches are cut. */
		{sane, sane - 1, (gint64)sane - 1},
		{sane + 1, G_MAXUINT64, -1},
		{sane + 6, 4, 4},
		{G_MAXUINT64, sane - 1, (gint64)sane - 1},
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rs_ring_state state = {.pages = cases[i].pages,
					      .word = word_of(cases[i].page, 64, 0)};
		const RsTraceRingPlace place = {
			.state = &state, .page_size = PAGE, .first_pages = PAGES};
		RsTraceRingPosition at;

		g_test_message("%u", i);
		rs_trace_ring_locate(&place, &at);
		g_assert_cmpint(at.seq, ==, cases[i].seq);
		g_assert_cmpuint(at.word, ==, state.word);
		g_assert_cmpuint(at.offset, ==, 64);
	}
}

/* The place is within the page, and the count of records near the one that the state has. */
static void test_words(void)
{
	static const guint offsets[][2] = {{0, 0},
					   {PAGE - 8, PAGE - 8},
					   {PAGE, PAGE},
					   {PAGE + 8, PAGE},
					   {RS_WORD_OFFSET_MASK * 8, PAGE}};
	static const struct {
		guint64 near, records;
		guint64 total;
	} counts[] = {
		{0, 0, 0},
		{5, 9, 9},
		{9, 5, 5},
		{0xffffffff, 0, 1ull << 32},
		{1ull << 32, 0xffffffff, 0xffffffff},
		{1ull << 40 | 7, 8, 1ull << 40 | 8},
		{100, 100 + 0x7fffffffu, 100 + 0x7fffffffull},
		{1ull << 32 | 100, 100 + 0x80000000u, 100 + 0x80000000ull},
	};

	for (guint i = 0; i < G_N_ELEMENTS(offsets); i++) {
		struct rs_ring_state state = {.pages = 1, .word = word_of(0, offsets[i][0], 0)};
		const RsTraceRingPlace place = {
			.state = &state, .page_size = PAGE, .first_pages = PAGES};
		RsTraceRingPosition at;

		rs_trace_ring_locate(&place, &at);
		g_assert_cmpuint(at.offset, ==, offsets[i][1]);
	}
	for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
		struct rs_ring_state state = {.records = counts[i].near,
					      .word = word_of(0, 0, counts[i].records)};
		const RsTraceRingPlace place = {.state = &state};
		const RsTraceRingPosition at = {.word = state.word};

		g_assert_cmpuint(rs_trace_ring_total(&place, &at), ==, counts[i].total);
	}
}

typedef struct {
	RsTraceRegion *region;
	RsTraceRingPlace place;
	struct rs_ring_state *state;
} Fixture;

/* In one of PAGES slots, whatever the ring says. */
static struct rs_ring_page *page_at(Fixture *f, gint64 seq)
{
	return (void *)(uintptr_t)(f->place.first + (seq % PAGES) * PAGE);
}

/* Page 9 is the current one of ring RING; page n began with 10 * n records at time 1000 * n. */
static void set_up(Fixture *f, gconstpointer mode)
{
	struct rs_region_config config = {
		.vcpus = 2, .ring_bytes = PAGES * PAGE, .ring_mode = GPOINTER_TO_UINT(mode)};

	g_assert_cmpint(rs_region_create(&config, &f->region, NULL), ==, 0);
	rs_trace_ring_place(f->region, RING, &f->place);
	f->state = rs_trace_region_element(f->region, RS_SEC_RING_STATE, RING);
	g_assert_true(f->state == f->place.state);
	for (guint seq = 6; seq < 10; seq++) {
		struct rs_ring_page *page = page_at(f, seq);

		*page = (struct rs_ring_page){.seq = seq, .records = 10 * seq, .ts = 1000ull * seq};
	}
	f->state->pages = 10;
	f->state->records = 90;
	f->state->word = word_of(9, 800, 95);
	f->state->last_ts = 9500;
	f->state->dropped = 3;
	f->state->skipped = 4;
	f->state->too_large = 5;
}

static void tear_down(Fixture *f, gconstpointer mode)
{
	rs_trace_region_free(f->region);
}

static void check(Fixture *f, guint64 entries, guint64 overrun, guint64 bytes, guint64 oldest)
{
	RsTraceRingInfo info;

	rs_trace_ring_info(f->region, RING, &info);
	g_assert_cmpuint(info.records, ==, 95);
	g_assert_cmpuint(info.entries, ==, entries);
	g_assert_cmpuint(info.overrun, ==, overrun);
	g_assert_cmpuint(info.bytes, ==, bytes);
	g_assert_cmpuint(info.oldest_ts, ==, oldest);
	g_assert_cmpuint(info.newest_ts, ==, 9500);
	g_assert_cmpuint(info.dropped, ==, 3);
	g_assert_cmpuint(info.skipped, ==, 4);
	g_assert_cmpuint(info.too_large, ==, 5);
}

static void test_overwrite(Fixture *f, gconstpointer mode)
{
	check(f, 35, 60, 3 * PAGE + 800, 6000);
	/* The oldest page was skipped; then all but the current one; then all. */
	page_at(f, 6)->seq = 2;
	check(f, 25, 70, 3 * PAGE + 800, 7000);
	page_at(f, 7)->seq = page_at(f, 8)->seq = 0;
	check(f, 5, 90, 3 * PAGE + 800, 9000);
	page_at(f, 9)->seq = 5;
	check(f, 95, 0, 3 * PAGE + 800, 0);
	/* A page cannot have begun with more records than there are. */
	page_at(f, 6)->seq = 6;
	page_at(f, 6)->records = 95;
	check(f, 0, 95, 3 * PAGE + 800, 6000);
	page_at(f, 6)->records = 96;
	check(f, 0, 95, 3 * PAGE + 800, 6000);
}

static void test_young(Fixture *f, gconstpointer mode)
{
	for (guint seq = 0; seq < PAGES; seq++) {
		struct rs_ring_page *page = page_at(f, seq);

		*page = (struct rs_ring_page){.seq = seq, .records = 7 * seq, .ts = 100 + seq};
	}
	for (guint seq = 0; seq < PAGES; seq++) {
		f->state->pages = seq + 1;
		f->state->word = word_of(seq, PAGE, 95);
		check(f, 95, 0, (seq + 1) * PAGE, 100);
	}
	/* Before the first page only what was refused counts, and of no ring nothing. */
	f->state->pages = 0;
	f->state->word = RS_WORD_INITIAL(PAGE / RS_RING_UNIT);
	for (guint ring = RING; ring < 4; ring++) {
		RsTraceRingInfo info;

		memset(&info, 0xee, sizeof(info));
		rs_trace_ring_info(f->region, ring, &info);
		g_assert_cmpuint(info.dropped, ==, ring == RING ? 3 : 0);
		g_assert_cmpuint(info.skipped, ==, ring == RING ? 4 : 0);
		g_assert_cmpuint(info.too_large, ==, ring == RING ? 5 : 0);
		g_assert_cmpuint(info.records, ==, 0);
		g_assert_cmpuint(info.entries, ==, 0);
		g_assert_cmpuint(info.bytes, ==, 0);
		g_assert_cmpuint(info.newest_ts, ==, 0);
		g_assert_cmpuint(info.oldest_ts, ==, 0);
	}
}

/* Pages that were consumed are no longer there, and nothing is overwritten. */
static void test_drop(Fixture *f, gconstpointer mode)
{
	static const struct {
		guint64 consumed, first;
	} cases[] = {{0, 6}, {6, 6}, {7, 7}, {9, 9}, {10, 9}, {G_MAXUINT64, 9}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		f->place.ctl->consumed = cases[i].consumed;
		check(f, 95 - 10 * cases[i].first, 0, (9 - cases[i].first) * PAGE + 800,
		      1000 * cases[i].first);
	}
}

/* What was passed over is nobody's any more; what was overwritten stays so. */
static void test_cleared(Fixture *f, gconstpointer mode)
{
	const guint64 overrun = GPOINTER_TO_UINT(mode) == RS_MODE_DROP ? 0 : 60;

	f->place.ctl->consumed = 6;
	check(f, 35, overrun, 3 * PAGE + 800, 6000);
	g_assert_cmpuint(rs_trace_ring_clear(f->region, RING), ==, 35);
	check(f, 0, overrun, 0, 0);
	g_assert_cmpuint(rs_trace_ring_clear(f->region, RING), ==, 0);
	/* Three records later, as if the place had been passed over then. */
	f->place.ctl->cleared -= 96 / RS_RING_UNIT;
	f->place.ctl->cleared_records -= 3;
	check(f, 3, overrun, 96, 9000);
	f->place.ctl->cleared = 7 * PAGE / RS_RING_UNIT;
	f->place.ctl->cleared_records = 70;
	check(f, 25, overrun, 2 * PAGE + 800, 7000);
	/* It was overwritten since, or the ring went back. */
	f->place.ctl->cleared = 5 * PAGE / RS_RING_UNIT;
	f->place.ctl->cleared_records = 50;
	check(f, 35, overrun, 3 * PAGE + 800, 6000);
	f->place.ctl->cleared = 9 * PAGE / RS_RING_UNIT + 101;
	check(f, 35, overrun, 3 * PAGE + 800, 6000);
	f->place.ctl->cleared = G_MAXUINT64;
	check(f, 35, overrun, 3 * PAGE + 800, 6000);
	/* A count that cannot be. */
	f->place.ctl->cleared = 7 * PAGE / RS_RING_UNIT;
	f->place.ctl->cleared_records = G_MAXUINT64;
	check(f, 0, overrun, 2 * PAGE + 800, 0);
	/* An empty ring has nothing to pass over, and so has none. */
	g_assert_cmpuint(rs_trace_ring_clear(f->region, 0), ==, 0);
	g_assert_cmpuint(rs_trace_ring_clear(f->region, RING + 1), ==, 0);
}

#define ADD(path, mode, test)                                                                      \
	g_test_add("/observe/ring-info/" path, Fixture, GUINT_TO_POINTER(mode), set_up, test,      \
		   tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/observe/ring-info/locate", test_locate);
	g_test_add_func("/observe/ring-info/words", test_words);
	ADD("overwrite", RS_MODE_OVERWRITE, test_overwrite);
	ADD("young", RS_MODE_OVERWRITE, test_young);
	ADD("drop", RS_MODE_DROP, test_drop);
	ADD("cleared", RS_MODE_OVERWRITE, test_cleared);
	ADD("cleared-drop", RS_MODE_DROP, test_cleared);
	return g_test_run();
}
