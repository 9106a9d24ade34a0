/* SPDX-License-Identifier: MIT */
/*
 * The reader reads pages that are made by hand, one step of a producer at a time. So every
 * half-finished state can be tested. The agent's tests use the real producer.
 */
#include "hand.h"

#include <ringside/record.h>
#include <rs-trace-decoder.h>
#include <rs-trace-page.h>
#include <rs-trace-ring-change.h>
#include <rs-trace-ring-info.h>
#include <string.h>

#define ROUNDS 3000u

static void test_follow(void)
{
	RsTraceRing *rd;
	uint64_t records, lost;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	rd = hand_reader(&r, RS_TRACE_FROM_START, false);
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(records, ==, 0);
	for (uint32_t i = 1; i <= 50; i++) {
		hand_emit(&r, i % 9);
		hand_drain(rd, &records, &lost);
		g_assert_cmpuint(records, ==, i % 9);
		g_assert_cmpuint(lost, ==, 0);
	}
	hand_close(&r, rd);
}

static void test_overwritten_is_counted(void)
{
	RsTraceRing *rd;
	uint64_t records, lost;
	RsTraceRingInfo info;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	rd = hand_reader(&r, RS_TRACE_FROM_START, false);
	hand_emit(&r, 3);
	hand_drain(rd, &records, &lost);
	hand_emit(&r, 100);
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(records + lost, ==, 100);
	g_assert_cmpuint(lost, >, 0);
	rs_trace_ring_info(r.region, 0, &info);
	g_assert_cmpuint(info.records, ==, 103);
	g_assert_cmpuint(info.entries + info.overrun, ==, 103);
	g_assert_cmpuint(info.entries, ==, records);
	hand_close(&r, rd);
}

static void test_in_flight_then_stuck(void)
{
	RsTraceRing *rd;
	RsTraceChunk chunk;
	uint64_t records, lost;
	uint8_t *open_record;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	rd = hand_reader(&r, RS_TRACE_FROM_START, false);
	hand_emit(&r, 2);
	open_record = hand_reserve(&r);
	hand_emit(&r, 1);
	g_assert_cmpint(rs_trace_ring_next(rd, 10, &chunk), ==, RS_TRACE_RING_IN_FLIGHT);
	hand_commit(&r, open_record);
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(records, ==, 4);

	hand_reserve(&r); /* killed here */
	hand_emit(&r, 9);
	g_assert_cmpint(rs_trace_ring_next(rd, 1000, &chunk), ==, RS_TRACE_RING_IN_FLIGHT);
	g_assert_cmpint(rs_trace_ring_next(rd, 1200, &chunk), ==, RS_TRACE_RING_DATA);
	/* The page held the dead record and two more; they are gone, and counted. */
	g_assert_cmpuint(chunk.lost + hand_count(&chunk), ==, 10);
	g_assert_cmpuint(chunk.lost, ==, 3);
	hand_close(&r, rd);
}

static void test_skipped_page(void)
{
	RsTraceRing *rd;
	uint64_t records, lost;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	rd = hand_reader(&r, RS_TRACE_FROM_START, false);
	hand_emit(&r, 7);
	hand_turn(&r, 2);
	hand_emit(&r, 2);
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(records, ==, 9);
	g_assert_cmpuint(lost, ==, 0);
	hand_close(&r, rd);
}

static void test_refused_counts_in_place(void)
{
	RsTraceRing *rd;
	RsTraceChunk chunk;
	struct hand r;

	hand_open(&r, RS_MODE_DROP);
	rd = hand_reader(&r, RS_TRACE_FROM_START, true);
	hand_emit(&r, 7);
	r.dropped = 214;
	r.state->dropped = 214;
	hand_emit(&r, 1);
	g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==, RS_TRACE_RING_DATA);
	g_assert_cmpuint(chunk.lost, ==, 0);
	g_assert_cmpuint(hand_count(&chunk), ==, 7);
	g_assert_cmpuint(r.ctl->consumed, ==, 1);
	g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==, RS_TRACE_RING_DATA);
	g_assert_cmpuint(chunk.lost, ==, 214);
	g_assert_cmpuint(hand_count(&chunk), ==, 1);
	r.state->dropped += 5;
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 5);
	hand_close(&r, rd);
}

static void test_join_in_the_middle(void)
{
	RsTraceRing *rd;
	RsTraceChunk chunk;
	struct rs_rec_header h;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	hand_emit(&r, 3);
	rd = hand_reader(&r, RS_TRACE_FROM_NOW, false);
	hand_emit(&r, 2);
	g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==, RS_TRACE_RING_DATA);
	g_assert_cmpuint(hand_count(&chunk), ==, 2);
	g_assert_cmpuint(chunk.lost, ==, 0);
	g_assert_cmpuint(chunk.from, ==, RS_RING_PAGE_HEADER + 3 * HAND_RECORD);
	/* The bytes before are there too, since they may hold marks. */
	memcpy(&h, chunk.page + RS_RING_PAGE_HEADER, sizeof(h));
	g_assert_cmpuint(h.id, ==, RS_FIRST_EVENT_ID);
	hand_close(&r, rd);
}

/* What is lost after a reader has joined is counted to the record, and in its statistics too. */
static void test_joined_and_lost(void)
{
	RsTraceRingStats stats;
	RsTraceRing *rd;
	uint64_t records, lost;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	hand_emit(&r, 3);
	rd = hand_reader(&r, RS_TRACE_FROM_NOW, false);
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 0);
	hand_emit(&r, 2);
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 2);
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(records, ==, 2);
	hand_emit(&r, 100);
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 100);
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(lost, >, 0);
	g_assert_cmpuint(records + lost, ==, 100);
	rs_trace_ring_stats(rd, &stats);
	g_assert_cmpuint(stats.lost, ==, lost);
	hand_close(&r, rd);
}

/* All that is there, and nothing of what was there before counts as lost. */
static void test_from_oldest(void)
{
	static const struct {
		uint32_t mode, emitted, consumed;
		uint32_t records; /* with one that comes later */
	} cases[] = {
		{RS_MODE_OVERWRITE, 60, 0, 26}, /* pages 5 to 7, and 5 records in page 8 */
		{RS_MODE_OVERWRITE, 28, 0, 22}, /* the next record takes the place of page 0 */
		{RS_MODE_OVERWRITE, 29, 0, 23}, {RS_MODE_DROP, 20, 0, 21},
		{RS_MODE_DROP, 20, 1, 14},      {RS_MODE_DROP, 20, 2, 7},
		{RS_MODE_DROP, 20, 9, 7},       {RS_MODE_DROP, 0, 9, 1},
	};

	for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		RsTraceRingStats stats;
		RsTraceRing *rd;
		uint64_t records, lost;
		struct hand r;

		hand_open(&r, cases[i].mode);
		hand_emit(&r, cases[i].emitted);
		r.ctl->consumed = cases[i].consumed;
		rd = hand_reader(&r, RS_TRACE_FROM_OLDEST, false);
		hand_emit(&r, 1);
		hand_drain(rd, &records, &lost);
		g_assert_cmpuint(records, ==, cases[i].records);
		g_assert_cmpuint(lost, ==, 0);
		rs_trace_ring_stats(rd, &stats);
		g_assert_cmpuint(stats.resyncs, ==, 0);
		hand_close(&r, rd);
	}
}

/* Reads all of the ring, as one who begins now; nothing of it counts as lost. */
static uint64_t begin_and_read(struct hand *r)
{
	g_autoptr(RsTraceRing) rd = hand_reader(r, RS_TRACE_FROM_OLDEST, false);
	RsTraceRingStats stats;
	uint64_t records, lost;

	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(lost, ==, 0);
	rs_trace_ring_stats(rd, &stats);
	g_assert_cmpuint(stats.resyncs, ==, 0);
	return records;
}

/* Who begins later shows nothing of what was passed over; who reads already gets all. */
static void test_cleared(void)
{
	/* In a page, at its end, after more than the ring holds. 7 records fit in a page. */
	static const uint32_t before[] = {0, 1, 3, 7, 13, 14, 28, 60};

	for (uint32_t i = 0; i < G_N_ELEMENTS(before); i++) {
		const uint32_t n = before[i];
		uint64_t records, lost;
		RsTraceRing *rd;
		struct hand r;

		hand_open(&r, RS_MODE_OVERWRITE);
		rd = hand_reader(&r, RS_TRACE_FROM_START, false);
		hand_emit(&r, n);
		rs_trace_ring_clear(r.region, r.index);
		g_assert_cmpuint(begin_and_read(&r), ==, 0);
		hand_emit(&r, 9);
		g_assert_cmpuint(begin_and_read(&r), ==, 9);
		hand_drain(rd, &records, &lost);
		g_assert_cmpuint(records + lost, ==, n + 9);
		/* So does one that wants all from the first record on. */
		rs_trace_ring_free(rd);
		rd = hand_reader(&r, RS_TRACE_FROM_START, false);
		hand_drain(rd, &records, &lost);
		g_assert_cmpuint(records + lost, ==, n + 9);
		/* More than the ring holds: the place itself is overwritten. */
		hand_emit(&r, 60);
		g_assert_cmpuint(begin_and_read(&r), >, 20);
		hand_close(&r, rd);
	}
}

/* A reader that waits, with a place in the middle of a page, finds losses from there on. */
static void test_lost_after_cleared(void)
{
	uint64_t records, lost;
	RsTraceRing *rd;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	hand_emit(&r, 10);
	rs_trace_ring_clear(r.region, r.index);
	hand_emit(&r, 2);
	rd = hand_reader(&r, RS_TRACE_FROM_OLDEST, false);
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(records, ==, 2);
	hand_emit(&r, 60);
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(records + lost, ==, 60);
	g_assert_cmpuint(lost, >, 0);
	hand_close(&r, rd);
}

/* A consumer begins there, too, and what lies before can be used again. */
static void test_consumer_after_cleared(void)
{
	uint64_t records, lost;
	RsTraceRing *rd;
	struct hand r;

	hand_open(&r, RS_MODE_DROP);
	hand_emit(&r, 17);
	rs_trace_ring_clear(r.region, r.index);
	g_assert_cmpuint(r.ctl->consumed, ==, 0);
	rd = hand_reader(&r, RS_TRACE_FROM_OLDEST, true);
	g_assert_cmpuint(r.ctl->consumed, ==, 2);
	hand_emit(&r, 5);
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(records, ==, 5);
	g_assert_cmpuint(lost, ==, 0);
	g_assert_cmpuint(r.ctl->consumed, ==, 3);
	/* A place that was consumed since does not lead back. The last page was not, as a whole. */
	rs_trace_ring_free(rd);
	hand_emit(&r, 3);
	g_assert_cmpuint(begin_and_read(&r), ==, 4);
	hand_close(&r, NULL);
}

/* The ring went back, or the word is none that the session can have seen. */
static void test_cleared_and_gone_back(void)
{
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	hand_emit(&r, 60);
	rs_trace_ring_clear(r.region, r.index);
	hand_go_back(&r, 4);
	hand_emit(&r, 5);
	g_assert_cmpuint(begin_and_read(&r), ==, 5);
	r.ctl->cleared = G_MAXUINT64;
	g_assert_cmpuint(begin_and_read(&r), ==, 5);
	hand_close(&r, NULL);
}

/* The producer is asked to ring once so much has come after the cursor. */
static void test_arm(void)
{
	static const uint32_t bytes[][2] = {{0, 1}, {7, 1}, {8, 1}, {16, 2}, {4095, 511}};
	RsTraceRing *rd;
	uint64_t records, lost;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	rd = hand_reader(&r, RS_TRACE_FROM_START, false);
	hand_emit(&r, 17);
	hand_drain(rd, &records, &lost);
	for (uint32_t i = 0; i < G_N_ELEMENTS(bytes); i++) {
		rs_trace_ring_arm(rd, bytes[i][0]);
		g_assert_cmpuint(r.ctl->wake_from, ==,
				 (2 * HAND_PAGE + RS_RING_PAGE_HEADER + 3 * HAND_RECORD) / 8);
		g_assert_cmpuint(r.ctl->wake_units, ==, bytes[i][1]);
		/* Once, until the producer has seen it. */
		g_assert_cmpuint(r.ctl->wake_armed, ==, 1);
	}
	r.state->wake_seen = 1;
	rs_trace_ring_arm(rd, 8);
	g_assert_cmpuint(r.ctl->wake_armed, ==, 2);
	/* Who may only read asks for nothing. */
	r.region->writable = FALSE;
	r.state->wake_seen = 2;
	rs_trace_ring_arm(rd, 800);
	g_assert_cmpuint(r.ctl->wake_armed, ==, 2);
	g_assert_cmpuint(r.ctl->wake_units, ==, 1);
	hand_close(&r, rd);
}

static void test_ring_goes_back(void)
{
	RsTraceRingStats stats;
	RsTraceRing *rd;
	uint64_t records, lost;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	rd = hand_reader(&r, RS_TRACE_FROM_START, false);
	hand_emit(&r, 60);
	hand_drain(rd, &records, &lost);
	memset(r.pages, 0, HAND_PAGES * HAND_PAGE);
	memset(r.state, 0, sizeof(*r.state));
	r.state->word = RS_WORD_INITIAL(HAND_PAGE / 8);
	r.seq = -1;
	r.offset = HAND_PAGE;
	r.records = 0;
	hand_emit(&r, 5);
	hand_drain(rd, &records, &lost);
	g_assert_cmpuint(records, ==, 5);
	rs_trace_ring_stats(rd, &stats);
	g_assert_cmpuint(stats.resyncs, ==, 1);
	hand_close(&r, rd);
}

/* A counter in a page's header that is less than before is a lie, and no loss. */
static void test_counters_go_back(void)
{
	for (uint32_t which = 0; which < 2; which++) {
		RsTraceRing *rd;
		uint64_t records, lost;
		struct hand r;

		hand_open(&r, RS_MODE_OVERWRITE);
		rd = hand_reader(&r, RS_TRACE_FROM_START, false);
		hand_emit(&r, 7);
		r.dropped = 10;
		hand_emit(&r, 7);
		hand_drain(rd, &records, &lost);
		g_assert_cmpuint(records, ==, 14);
		g_assert_cmpuint(lost, ==, 10);
		r.dropped += 5;
		hand_emit(&r, 7);
		hand_drain(rd, &records, &lost);
		g_assert_cmpuint(records, ==, 7);
		g_assert_cmpuint(lost, ==, 5);
		if (which)
			r.records -= 3;
		else
			r.dropped -= 3;
		hand_emit(&r, 7);
		hand_drain(rd, &records, &lost);
		g_assert_cmpuint(records, ==, 7);
		g_assert_cmpuint(lost, ==, 0);
		hand_close(&r, rd);
	}
}

/*
 * To the page before the one that the reader is in, and, once it has read a page to its end, to an
 * earlier one.
 */
static void test_ring_goes_back_a_little(void)
{
	for (uint32_t whole = 0; whole < 2; whole++) {
		RsTraceRingStats stats;
		RsTraceRing *rd;
		uint64_t records, lost;
		struct hand r;

		hand_open(&r, RS_MODE_OVERWRITE);
		rd = hand_reader(&r, RS_TRACE_FROM_START, false);
		hand_emit(&r, 60); /* pages 0 to 7, and 4 records in page 8 */
		if (whole) {
			hand_pad(&r);
			r.offset = HAND_PAGE;
			hand_publish(&r);
		}
		hand_drain(rd, &records, &lost);
		rs_trace_ring_stats(rd, &stats);
		g_assert_cmpuint(stats.resyncs, ==, 0);
		hand_go_back(&r, whole ? 5 : 7);
		hand_emit(&r, 5);
		hand_drain(rd, &records, &lost);
		g_assert_cmpuint(records, ==, 5);
		rs_trace_ring_stats(rd, &stats);
		g_assert_cmpuint(stats.resyncs, ==, 1);
		hand_close(&r, rd);
	}
}

/* A later version's structures of each ring are longer, and so are page headers. */
static void test_grown(void)
{
	static const RsTraceFrom from[] = {RS_TRACE_FROM_START, RS_TRACE_FROM_OLDEST};
	RsTraceRing *rd;
	RsTraceChunk chunk;
	RsTraceRingInfo info;
	uint64_t records, lost;
	struct hand r;

	for (uint32_t i = 0; i < 2; i++) {
		hand_open_of(&r, RS_MODE_DROP, 2, 192);
		r.header = 128;
		rd = hand_reader(&r, from[i], true);
		hand_emit(&r, 7);
		/* The rest of the longer header is not a record. */
		memset((uint8_t *)hand_page(&r, 0) + RS_RING_PAGE_HEADER, 0x5a, 64);
		g_assert_cmpint(rs_trace_ring_next(rd, 0, &chunk), ==, RS_TRACE_RING_DATA);
		g_assert_cmpuint(chunk.ring, ==, 2);
		g_assert_cmpuint(chunk.from, ==, 128);
		g_assert_cmpuint(hand_count(&chunk), ==, 7);
		for (uint32_t more = 0; more < 20; more++) {
			hand_emit(&r, 1);
			hand_drain(rd, &records, &lost);
			g_assert_cmpuint(records, ==, 1);
			g_assert_cmpuint(lost, ==, 0);
		}
		g_assert_cmpuint(r.ctl->consumed, ==, 3);
		rs_trace_ring_info(r.region, 2, &info);
		g_assert_cmpuint(info.records, ==, 27);
		rs_trace_ring_info(r.region, 1, &info);
		g_assert_cmpuint(info.records, ==, 0);
		hand_close(&r, rd);
	}
}

/* A header that claims to be longer than its page costs the records of that page, and no others. */
static void test_header_lies(void)
{
	static const uint16_t lies[] = {0, 8, 63, 65528, HAND_PAGE, HAND_PAGE + 8};
	RsTraceRing *rd;
	uint64_t records, lost;
	struct hand r;

	for (uint32_t i = 0; i < G_N_ELEMENTS(lies); i++) {
		for (uint32_t whole = 0; whole < 2; whole++) {
			RsTraceRingConfig config = {.whole = whole != 0};

			hand_open(&r, RS_MODE_OVERWRITE);
			rd = rs_trace_ring_new(r.region, &config, NULL);
			hand_emit(&r, 15);
			hand_page(&r, 0)->header_size = lies[i];
			hand_drain(rd, &records, &lost);
			if (!whole)
				g_assert_cmpuint(records, ==, lies[i] < HAND_PAGE ? 15 : 8);
			g_assert_cmpuint(lost, ==, lies[i] < HAND_PAGE ? 0 : 7);
			hand_close(&r, rd);
		}
	}
}

/* Pages come as they are in the ring. Overwritten records in between are counted too. */
static void test_whole_pages(void)
{
	RsTraceRingConfig config = {.whole = TRUE};
	RsTraceRing *rd;
	RsTraceChunk chunk;
	uint64_t lost = 0;
	uint32_t pages = 0;
	struct hand r;

	hand_open(&r, RS_MODE_OVERWRITE);
	rd = rs_trace_ring_new(r.region, &config, NULL);
	hand_emit(&r, 15); /* two pages, and a record on the third */
	memset(hand_page(&r, 1) + 1, 0xff, sizeof(struct rs_rec_header)); /* nobody looks into it */
	while (rs_trace_ring_next(rd, 0, &chunk) == RS_TRACE_RING_DATA) {
		struct rs_ring_page h;

		g_assert_cmpuint(chunk.from, ==, RS_RING_PAGE_HEADER);
		g_assert_cmpuint(chunk.to, ==, HAND_PAGE);
		g_assert_cmpuint(chunk.lost, ==, 0);
		g_assert_cmpmem(chunk.page + RS_RING_PAGE_HEADER, HAND_PAGE - RS_RING_PAGE_HEADER,
				hand_page(&r, pages) + 1, HAND_PAGE - RS_RING_PAGE_HEADER);
		memcpy(&h, chunk.page, sizeof(h));
		g_assert_cmpuint(h.seq, ==, pages++);
		g_assert_cmpuint(h.committed, ==, HAND_PAGE);
	}
	g_assert_cmpuint(pages, ==, 2);
	hand_close(&r, rd);

	/* Three pages are read, then the ring overwrites unread pages. */
	hand_open(&r, RS_MODE_OVERWRITE);
	rd = rs_trace_ring_new(r.region, &config, NULL);
	hand_emit(&r, 22);
	for (pages = 0; rs_trace_ring_next(rd, 0, &chunk) == RS_TRACE_RING_DATA; pages++)
		g_assert_cmpuint(chunk.lost, ==, 0);
	g_assert_cmpuint(pages, ==, 3);
	hand_emit(&r, 100);
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 122 - 21);
	rs_trace_ring_set_whole(rd, FALSE);
	for (pages = 0; rs_trace_ring_next(rd, 0, &chunk) == RS_TRACE_RING_DATA; pages++)
		lost += chunk.lost;
	/* Page 17 is the current one, with 3 records; 14 to 16 are still there. */
	g_assert_cmpuint(pages, ==, HAND_PAGES);
	g_assert_cmpuint(lost, ==, 14 * 7 - 21);
	g_assert_cmpuint(rs_trace_ring_pending_loss(rd), ==, 0);
	hand_close(&r, rd);
}

static void add_up(const RsTraceRecord *record, gpointer data)
{
	*(uint64_t *)data += record->kind == RS_TRACE_RECORD_LOSS ? record->lost : 1;
}

/*
 * Emits some records. Some make no sense. One in *open may be finished only by the next call, when
 * the reader has lost its patience.
 */
static uint32_t emit_badly(struct hand *r, GRand *rand, uint8_t **open)
{
	uint32_t n = (uint32_t)g_rand_int_range(rand, 0, 12);

	if (*open)
		hand_commit(r, *open);
	*open = NULL;
	if (g_rand_int_range(rand, 0, 40) == 0)
		n += 40; /* more than the ring holds */
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *at = hand_reserve(r);

		if (!*open && g_rand_int_range(rand, 0, 60) == 0) {
			*open = at;
			continue;
		}
		hand_commit(r, at);
		if (g_rand_int_range(rand, 0, 20) == 0)
			((struct rs_rec_header *)at)->size = 0;
	}
	return n;
}

/*
 * Every record is decoded or lost, also those behind one that makes no sense. A page is left after
 * an unfinished record. Pages are read while they grow, or when they are full.
 */
static void test_exact(gconstpointer whole)
{
	RsTraceRingConfig config = {.whole = GPOINTER_TO_INT(whole), .patience_ns = 1};
	g_autoptr(RsTraceSchema) schema = rs_trace_schema_new();
	g_autoptr(RsTraceDecoder) decoder = NULL;
	uint64_t emitted = 0, got = 0, now = 0;
	const RsTraceDecoderStats *stats;
	RsTraceRing *rd;
	RsTraceChunk chunk;
	struct hand r;
	GRand *rand = g_rand_new_with_seed(11);
	uint8_t *open = NULL;

	decoder = rs_trace_decoder_new(1, schema, NULL, add_up, &got);
	hand_open(&r, RS_MODE_OVERWRITE);
	rd = rs_trace_ring_new(r.region, &config, NULL);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		emitted += emit_badly(&r, rand, &open);
		if (i == ROUNDS - 1)
			rs_trace_ring_set_whole(rd, FALSE);
		for (uint32_t idle = 0; idle < 2;) {
			now += 10;
			if (rs_trace_ring_next(rd, now, &chunk) == RS_TRACE_RING_DATA)
				rs_trace_decoder_push(decoder, 0, chunk.page, chunk.from, chunk.to,
						      chunk.lost);
			else
				idle++;
		}
		g_assert_cmpuint(got, <=, emitted);
		if (!config.whole)
			g_assert_cmpuint(got + rs_trace_ring_pending_loss(rd), <=, emitted);
	}
	g_assert_cmpuint(got + rs_trace_ring_pending_loss(rd), ==, emitted);
	stats = rs_trace_decoder_stats(decoder);
	g_assert_cmpuint(stats->bad_pages, >, 100);
	g_assert_cmpuint(stats->lost, >, 1000);
	g_assert_cmpuint(stats->records, >, 1000);
	g_rand_free(rand);
	hand_close(&r, rd);
}

/* Random bytes over everything that the guest can write: every call returns, within bounds. */
static void test_scribble(void)
{
	RsTraceRing *rd;
	RsTraceChunk chunk;
	RsTraceRingInfo info;
	struct hand r;
	GRand *rand = g_rand_new_with_seed(7);

	hand_open(&r, RS_MODE_OVERWRITE);
	rd = hand_reader(&r, RS_TRACE_FROM_START, false);
	hand_emit(&r, 20);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t *at =
			g_rand_boolean(rand)
				? (uint32_t *)r.state + g_rand_int_range(rand, 0, 32)
				: (uint32_t *)r.pages +
					  g_rand_int_range(rand, 0, HAND_PAGES * HAND_PAGE / 4);

		*at = g_rand_boolean(rand) ? g_rand_int(rand)
					   : (uint32_t)g_rand_int_range(rand, 0, 600);
		for (int calls = 0; calls < 8; calls++) {
			if (rs_trace_ring_next(rd, i * 50, &chunk) != RS_TRACE_RING_DATA)
				break;
			g_assert_cmpuint(chunk.to, <=, HAND_PAGE);
			g_assert_cmpuint(chunk.from, <=, chunk.to);
		}
		rs_trace_ring_info(r.region, 0, &info);
		rs_trace_ring_pending_loss(rd);
		if (i % 16 == 0) {
			rs_trace_ring_clear(r.region, 0);
			rs_trace_ring_free(rd);
			rd = hand_reader(&r, RS_TRACE_FROM_OLDEST, i % 32 == 0);
		}
	}
	g_rand_free(rand);
	hand_close(&r, rd);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/observe/ring/follow", test_follow);
	g_test_add_func("/observe/ring/overwritten", test_overwritten_is_counted);
	g_test_add_func("/observe/ring/stuck", test_in_flight_then_stuck);
	g_test_add_func("/observe/ring/skipped", test_skipped_page);
	g_test_add_func("/observe/ring/refused", test_refused_counts_in_place);
	g_test_add_func("/observe/ring/join", test_join_in_the_middle);
	g_test_add_func("/observe/ring/back", test_ring_goes_back);
	g_test_add_func("/observe/ring/counters-back", test_counters_go_back);
	g_test_add_func("/observe/ring/back-a-little", test_ring_goes_back_a_little);
	g_test_add_func("/observe/ring/grown", test_grown);
	g_test_add_func("/observe/ring/header-lies", test_header_lies);
	g_test_add_func("/observe/ring/whole", test_whole_pages);
	g_test_add_data_func("/observe/ring/exact", GINT_TO_POINTER(FALSE), test_exact);
	g_test_add_data_func("/observe/ring/exact-whole", GINT_TO_POINTER(TRUE), test_exact);
	g_test_add_func("/observe/ring/scribble", test_scribble);
	g_test_add_func("/observe/ring/joined-and-lost", test_joined_and_lost);
	g_test_add_func("/observe/ring/from-oldest", test_from_oldest);
	g_test_add_func("/observe/ring/cleared", test_cleared);
	g_test_add_func("/observe/ring/cleared-lost", test_lost_after_cleared);
	g_test_add_func("/observe/ring/cleared-consumer", test_consumer_after_cleared);
	g_test_add_func("/observe/ring/cleared-back", test_cleared_and_gone_back);
	g_test_add_func("/observe/ring/arm", test_arm);
	return g_test_run();
}
