/* SPDX-License-Identifier: MIT */
/*
 * The reader at its limits: a producer that goes on meanwhile, pages that it has passed over,
 * patience, rings that go back, and losses behind the last chunk.
 */
#include "hand.h"

#include <ringside/record.h>
#include <rs-trace-page.h>
#include <string.h>

#define LOOKAHEAD 64u /* RS_TRACE_SKIP_LOOKAHEAD */

/* ---- what a producer does while it is read ---- */

static struct hand *producer; /* emits `emits` records … */
static uint32_t looks, emits; /* … before the reader looks for it this often */

void __real_rs_trace_ring_locate(gconstpointer place, gpointer out);
void __wrap_rs_trace_ring_locate(gconstpointer place, gpointer out);

void __wrap_rs_trace_ring_locate(gconstpointer place, gpointer out)
{
	if (looks && !--looks)
		hand_emit(producer, emits);
	__real_rs_trace_ring_locate(place, out);
}

/*
 * The reader looks before it looks at a page, when it knows what of it is committed, and when it
 * has copied it. What the producer may have overwritten by then is not handed out.
 */
static void test_races(void)
{
	static const struct {
		uint32_t before, look, during;
		uint32_t first; /* records in the first chunk */
		uint64_t lost;  /* before it */
	} cases[] = {
		{28, 1, 0, 7, 0}, {28, 2, 0, 7, 0},   {28, 3, 0, 7, 0},   {22, 1, 6, 7, 0},
		{22, 2, 6, 7, 0}, {22, 3, 6, 7, 0},   {22, 1, 7, 7, 7},   {22, 2, 7, 7, 7},
		{22, 3, 7, 7, 7}, {22, 2, 14, 7, 14}, {22, 3, 14, 7, 14}, {3, 1, 2, 5, 0},
		{3, 3, 2, 3, 0},  {3, 3, 25, 3, 0},   {3, 3, 26, 7, 7},   {3, 2, 26, 7, 7},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		uint64_t records, lost;
		RsTraceRing *rd;
		RsTraceChunk chunk;
		struct hand r;

		g_test_message("%zu", i);
		hand_open(&r, RS_MODE_OVERWRITE);
		rd = hand_reader(&r, RS_TRACE_FROM_START, false);
		hand_emit(&r, cases[i].before);
		producer = &r;
		looks = cases[i].look;
		emits = cases[i].during;
		g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==, RS_TRACE_RING_DATA);
		g_assert_cmpuint(looks, ==, 0);
		g_assert_cmpuint(hand_count(&chunk), ==, cases[i].first);
		g_assert_cmpuint(chunk.lost, ==, cases[i].lost);
		hand_drain(rd, &records, &lost);
		g_assert_cmpuint(records + lost, ==,
				 cases[i].before + cases[i].during - cases[i].first -
					 cases[i].lost);
		hand_close(&r, rd);
	}
}

/* A copy says what of the page is in it, whoever committed that. It stays as it was. */
static void test_copy(void)
{
	struct rs_rec_header *first;
	struct rs_ring_page head;
	RsTraceRing *rd;
	RsTraceChunk chunk;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	rd = hand_reader(&r, RS_TRACE_FROM_START, false);
	for (uint32_t n = 1; n <= 3; n++) {
		hand_emit(&r, 1);
		hand_page(&r, 0)->committed -= 100;
		hand_page(&r, 0)->committed_remote += 100;
		g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==, RS_TRACE_RING_DATA);
		g_assert_cmpuint(chunk.to, ==, RS_RING_PAGE_HEADER + n * HAND_RECORD);
		memcpy(&head, chunk.page, sizeof(head));
		g_assert_cmpuint(head.committed, ==, chunk.to);
		g_assert_cmpuint(head.committed_remote, ==, 0);
		g_assert_cmpuint(
			rs_trace_page_count(chunk.page, RS_RING_PAGE_HEADER, chunk.to, NULL), ==,
			n);
		first = (void *)(hand_page(&r, 0) + 1);
		first->size = 0; /* nobody reads it again */
	}
	hand_close(&r, rd);
}

/* ---- pages that were passed over ---- */

/*
 * A lap with a record that nobody finishes in each of pages 1 to `dead`. In the next lap they are
 * passed over, and behind them comes one record. The reader is where it reads the first of them.
 */
static RsTraceRing *pass_over(struct hand *r, uint32_t pages, uint32_t dead)
{
	RsTraceRing *rd;
	uint64_t records, lost;

	hand_open_large(r, RS_MODE_OVERWRITE, pages);
	hand_emit(r, 7);
	for (uint32_t i = 0; i < dead; i++) {
		hand_emit(r, 6);
		hand_reserve(r);
	}
	hand_emit(r, (pages - 1 - dead) * 7);
	g_assert_cmpint(r->seq, ==, pages - 1);
	hand_emit(r, 7);
	hand_pad(r);
	r->offset = HAND_PAGE;
	hand_publish(r);
	rd = hand_reader(r, RS_TRACE_FROM_NOW, false);
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(records + lost, ==, 0);
	hand_turn(r, dead);
	hand_emit(r, 1);
	return rd;
}

static void test_passed_over(void)
{
	static const struct {
		uint32_t pages, dead, said;
		bool believed;
	} cases[] = {
		{4, 1, 1, true},
		{4, 1, 2, true},
		{4, 1, 0, false},
		{4, 2, 2, true},
		{4, 2, 1, false},
		{128, LOOKAHEAD - 1, LOOKAHEAD - 1, true},
		{128, LOOKAHEAD, LOOKAHEAD - 1, false},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		RsTraceRing *rd;
		RsTraceChunk chunk;
		RsTraceRingStats stats;
		struct hand r;

		rd = pass_over(&r, cases[i].pages, cases[i].dead);
		hand_page(&r, r.seq)->skipped = (uint16_t)cases[i].said;
		g_assert_cmpint(rs_trace_ring_next(rd, 10, &chunk), ==,
				cases[i].believed ? RS_TRACE_RING_DATA : RS_TRACE_RING_IN_FLIGHT);
		if (cases[i].believed) {
			g_assert_cmpuint(hand_count(&chunk), ==, 1);
			g_assert_cmpuint(chunk.lost, ==, 0);
		}
		rs_trace_ring_stats(rd, &stats);
		g_assert_cmpuint(stats.stuck, ==, 0);
		hand_close(&r, rd);
	}
}

/* One that is farther away than a reader looks is not found, and the first page is waited for. */
static void test_looks_ahead(void)
{
	for (uint32_t dead = LOOKAHEAD - 1; dead <= LOOKAHEAD + 1; dead++) {
		RsTraceRing *rd;
		RsTraceChunk chunk;
		struct hand r;

		rd = pass_over(&r, 128, dead);
		g_assert_cmpint(rs_trace_ring_next(rd, 10, &chunk), ==,
				dead <= LOOKAHEAD ? RS_TRACE_RING_DATA : RS_TRACE_RING_IN_FLIGHT);
		hand_close(&r, rd);
	}
}

/* What lies behind the producer's page says nothing. */
static void test_forged_ahead(void)
{
	RsTraceRing *rd;
	RsTraceChunk chunk;
	struct hand r;

	rd = pass_over(&r, 8, 2);
	hand_page(&r, r.seq)->seq = 0;
	hand_page(&r, r.seq + 1)->seq = (uint64_t)r.seq + 1;
	hand_page(&r, r.seq + 1)->skipped = 8;
	g_assert_cmpint(rs_trace_ring_next(rd, 10, &chunk), ==, RS_TRACE_RING_IN_FLIGHT);
	hand_page(&r, r.seq)->seq = (uint64_t)r.seq;
	g_assert_cmpint(rs_trace_ring_next(rd, 10, &chunk), ==, RS_TRACE_RING_DATA);
	hand_close(&r, rd);
}

/* A page whose header is another's is left, with all that is in it. */
static void test_torn(void)
{
	RsTraceRingStats stats;
	RsTraceRing *rd;
	RsTraceChunk chunk;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	rd = hand_reader(&r, RS_TRACE_FROM_START, false);
	hand_emit(&r, 3);
	hand_page(&r, 0)->seq = 4;
	g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==, RS_TRACE_RING_IDLE);
	rs_trace_ring_stats(rd, &stats);
	g_assert_cmpuint(stats.bad_pages, ==, 1);
	hand_emit(&r, 5);
	g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==, RS_TRACE_RING_DATA);
	g_assert_cmpuint(hand_count(&chunk), ==, 1);
	g_assert_cmpuint(chunk.lost, ==, 7);
	/* A full one, too. */
	hand_emit(&r, 14);
	hand_page(&r, 2)->seq = 6;
	g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==, RS_TRACE_RING_DATA);
	g_assert_cmpuint(hand_count(&chunk), ==, 6);
	g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==, RS_TRACE_RING_DATA);
	g_assert_cmpuint(hand_count(&chunk), ==, 1);
	g_assert_cmpuint(chunk.lost, ==, 7);
	hand_close(&r, rd);
}

/* ---- patience ---- */

static void check_patience(RsTraceRing *rd, uint64_t since, uint64_t patience,
			   RsTraceRingStatus after)
{
	RsTraceChunk chunk;

	g_assert_cmpint(rs_trace_ring_next(rd, since, &chunk), ==, RS_TRACE_RING_IN_FLIGHT);
	g_assert_cmpint(rs_trace_ring_next(rd, since + patience - 1, &chunk), ==,
			RS_TRACE_RING_IN_FLIGHT);
	g_assert_cmpint(rs_trace_ring_next(rd, since + patience, &chunk), ==, after);
}

/* In the current page a reader can only wait on. Each page, and each new wait, has its time. */
static void test_patience(void)
{
	static const uint64_t given[] = {100, 0, 1};

	for (size_t i = 0; i < G_N_ELEMENTS(given); i++) {
		const RsTraceRingConfig config = {.patience_ns = given[i]};
		const uint64_t patience = given[i] ? given[i] : 1000000000;
		RsTraceRingStats stats;
		RsTraceRing *rd;
		RsTraceChunk chunk;
		uint64_t now = 1000;
		struct hand r;

		hand_open(&r, RS_MODE_OVERWRITE);
		rd = rs_trace_ring_new(r.region, &config, NULL);
		for (int k = 0; k < 2; k++, now += 2 * patience) {
			uint8_t *at = hand_reserve(&r);

			check_patience(rd, now, patience, RS_TRACE_RING_IDLE);
			hand_commit(&r, at);
			g_assert_cmpint(rs_trace_ring_next(rd, now + patience, &chunk), ==,
					RS_TRACE_RING_DATA);
			g_assert_cmpuint(hand_count(&chunk), ==, 1);
		}
		/* Two pages are full, but for one record each. */
		hand_emit(&r, 4);
		for (int k = 0; k < 2; k++) {
			hand_reserve(&r);
			hand_emit(&r, 6);
		}
		hand_emit(&r, 1);
		g_assert_cmpint(r.seq, ==, 2);
		check_patience(rd, now, patience, RS_TRACE_RING_IN_FLIGHT);
		check_patience(rd, now + patience, patience, RS_TRACE_RING_DATA);
		rs_trace_ring_stats(rd, &stats);
		g_assert_cmpuint(stats.stuck, ==, 2);
		hand_close(&r, rd);
	}
}

/* ---- where a reader begins ---- */

/* At a page that has no record yet, as well as behind its first one. */
static void test_from_now(void)
{
	for (uint32_t n = 0; n < 3; n++) {
		RsTraceRing *rd;
		RsTraceChunk chunk;
		struct hand r;

		hand_open(&r, RS_MODE_OVERWRITE);
		hand_emit(&r, 7);
		hand_turn(&r, 0);
		hand_publish(&r);
		hand_emit(&r, n);
		rd = hand_reader(&r, RS_TRACE_FROM_NOW, false);
		g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), !=, RS_TRACE_RING_DATA);
		g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 0);
		hand_emit(&r, 2);
		/* A lie: the page says that much came before it. */
		hand_page(&r, 1)->records += 50;
		hand_page(&r, 1)->dropped += 50;
		g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==, RS_TRACE_RING_DATA);
		g_assert_cmpuint(chunk.from, ==, RS_RING_PAGE_HEADER + n * HAND_RECORD);
		g_assert_cmpuint(hand_count(&chunk), ==, 2);
		g_assert_cmpuint(chunk.lost, ==, 0);
		hand_close(&r, rd);
	}
}

/* Only a consumer says how far it is, and in either mode, since the mode may change. */
static void test_consumer(void)
{
	static const struct {
		uint32_t mode;
		bool consumer;
		uint64_t consumed;
	} cases[] = {
		{RS_MODE_DROP, true, 2},
		{RS_MODE_DROP, false, 0},
		{RS_MODE_OVERWRITE, true, 2},
		{RS_MODE_OVERWRITE, false, 0},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		RsTraceRing *rd;
		uint64_t records, lost;
		struct hand r;

		hand_open(&r, cases[i].mode);
		rd = hand_reader(&r, RS_TRACE_FROM_START, cases[i].consumer);
		hand_emit(&r, 15);
		hand_drain(rd, &records, &lost);
		g_assert_cmpuint(records, ==, 15);
		g_assert_cmpuint(r.ctl->consumed, ==, cases[i].consumed);
		hand_go_back(&r, 1);
		hand_emit(&r, 1);
		r.ctl->consumed = 77;
		hand_drain(rd, &records, &lost);
		g_assert_cmpuint(records, ==, 1);
		g_assert_cmpuint(r.ctl->consumed, ==, cases[i].consumed ? 1 : 77);
		hand_close(&r, rd);
	}
}

static void test_refused(void)
{
	RsTraceRingConfig config = {.ring = 3};
	g_autoptr(GError) error = NULL;
	struct hand r;

	hand_open(&r, RS_MODE_DROP);
	g_assert_null(rs_trace_ring_new(r.region, &config, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_NO_RING);
	g_clear_error(&error);
	config = (RsTraceRingConfig){.ring = 2, .consumer = TRUE};
	rs_trace_ring_free(rs_trace_ring_new(r.region, &config, &error));
	g_assert_no_error(error);
	r.region->writable = FALSE;
	g_assert_null(rs_trace_ring_new(r.region, &config, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_READ_ONLY);
	hand_close(&r, NULL);
}

/* ---- rings that go back ---- */

/* All that can be there is read, and the counters of before say nothing about it. */
static void test_goes_back_far(void)
{
	for (uint32_t stopped = 0; stopped < 2; stopped++) {
		RsTraceRing *rd;
		RsTraceChunk chunk;
		uint64_t records, lost;
		struct hand r;

		hand_open(&r, RS_MODE_DROP);
		rd = hand_reader(&r, RS_TRACE_FROM_START, true);
		for (uint32_t i = 0; i < 20; i++) {
			hand_emit(&r, 7);
			hand_drain(rd, &records, &lost);
			g_assert_cmpuint(records + lost, ==, 7);
		}
		hand_go_back(&r, 7);
		r.records = 1000;
		r.dropped = 50;
		if (stopped) {
			hand_reserve(&r);
			hand_emit(&r, 27);
			g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==,
					RS_TRACE_RING_IN_FLIGHT);
			g_assert_cmpuint(r.ctl->consumed, ==, 7);
			g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 0);
		} else {
			hand_emit(&r, 28);
			hand_drain(rd, &records, &lost);
			g_assert_cmpuint(records, ==, 28);
			g_assert_cmpuint(lost, ==, 0);
			g_assert_cmpuint(r.ctl->consumed, >=, 10);
		}
		hand_close(&r, rd);
	}
}

/* ---- losses behind the last chunk ---- */

/* What was lost behind the last chunk; nothing as long as the reader knows no number. */
static void test_pending_loss(void)
{
	RsTraceRing *rd, *late;
	uint64_t records, lost;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	r.state->dropped = 3; /* before the first page: then nothing else says so */
	rd = hand_reader(&r, RS_TRACE_FROM_START, false);
	late = hand_reader(&r, RS_TRACE_FROM_OLDEST, false);
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 3);
	g_assert_cmpuint(rs_trace_ring_pending_loss(late), ==, 3);
	hand_emit(&r, 4);
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 7);
	g_assert_cmpuint(rs_trace_ring_pending_loss(late), ==, 0);
	hand_page(&r, 0)->dropped = 3;
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(lost, ==, 3);
	hand_drain(late, &records, &lost);
	g_assert_cmpuint(lost, ==, 0);
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 0);
	g_assert_cmpuint(rs_trace_ring_pending_loss(late), ==, 0);
	hand_emit(&r, 2);
	r.state->dropped = 8;
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 7);
	g_assert_cmpuint(rs_trace_ring_pending_loss(late), ==, 7);
	/* Counters that go back are lies. */
	r.state->dropped = 2;
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 2);
	r.records -= 3;
	hand_publish(&r);
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 0);
	rs_trace_ring_free(late);
	hand_close(&r, rd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/observe/ring-limits/races", test_races);
	g_test_add_func("/observe/ring-limits/copy", test_copy);
	g_test_add_func("/observe/ring-limits/passed-over", test_passed_over);
	g_test_add_func("/observe/ring-limits/looks-ahead", test_looks_ahead);
	g_test_add_func("/observe/ring-limits/forged-ahead", test_forged_ahead);
	g_test_add_func("/observe/ring-limits/torn", test_torn);
	g_test_add_func("/observe/ring-limits/patience", test_patience);
	g_test_add_func("/observe/ring-limits/from-now", test_from_now);
	g_test_add_func("/observe/ring-limits/consumer", test_consumer);
	g_test_add_func("/observe/ring-limits/refused", test_refused);
	g_test_add_func("/observe/ring-limits/goes-back", test_goes_back_far);
	g_test_add_func("/observe/ring-limits/pending-loss", test_pending_loss);
	return g_test_run();
}
