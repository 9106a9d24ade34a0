/* SPDX-License-Identifier: MIT */
/*
 * What the ring writer leaves in memory, word for word and at each limit: pages and their headers,
 * marks, counters. test-ring.c reads whole rings as a host does.
 */
#include "emit-fast.h"
#include "ring.h"

#include <glib.h>
#include <ringside/agent.h>
#include <string.h>

#define COUNT 8u
#define PAGE_MOST 65536u
#define FIRST (RS_RING_PAGE_HEADER / 8) /* unit of a page's first record */
#define BOOT 3u
#define CHAIN 5u
#define ID (RS_FIRST_EVENT_ID + 7)

static struct {
	uint64_t pages[2 * COUNT * PAGE_MOST / 8];
	struct rs_ring_state states[2];
	struct rs_ring_ctl ctls[2];
} region __attribute__((aligned(4096)));
static struct rs_ring_state *const states = region.states;
static struct rs_ring_ctl *const ctls = region.ctls;
static uint64_t *const pages = region.pages;
static uint64_t lost_nested, now;
static uint32_t chain, disturbances, ring_mode;
static struct rs_rings rings;
static struct rs_ring ring; /* the second one */
static struct rs_ring_state *const state = &region.states[1];
static enum rs_producers kind;

static uint64_t tick(void)
{
	if (disturbances) {
		disturbances--;
		state->word += 1ull << RS_WORD_RECORDS_SHIFT;
	}
	return now;
}

static void set_up_with(enum rs_producers producers, uint32_t mode, uint32_t page_size,
			uint32_t count)
{
	const struct rs_region_header layout = {
		.ring_count = 2, .ring_pages = count, .ring_page_size = page_size};

	ring_mode = mode;
	memset(&region, 0, sizeof(region));
	lost_nested = disturbances = 0;
	now = 1000;
	chain = CHAIN;
	kind = producers;
	rings = (struct rs_rings){
		.states = (uint8_t *)states,
		.state_stride = sizeof(states[0]),
		.ctls = (const uint8_t *)ctls,
		.ctl_stride = sizeof(ctls[0]),
		.pages = (uint8_t *)pages,
		.chain = &chain,
		.lost_nested = &lost_nested,
		.mode = &ring_mode,
		.boot = BOOT,
	};
	rs_rings_init(&rings, &layout);
	fast_set_up(&region, &rings);
	ring = rs_ring_at(&rings, 1);
	rs_ring_resume(&ring);
}

#define set_up_of(producers, mode, size) set_up_with(producers, mode, size, COUNT)

static void set_up(enum rs_producers producers)
{
	set_up_of(producers, RS_MODE_OVERWRITE, 4096);
}

#define FOR_BOTH for (enum rs_producers both = RS_NESTED; both <= RS_SHARED; both++)

static uint64_t *page_at(uint64_t page)
{
	return (uint64_t *)rs_ring_page(&ring, rs_ring_shape(ring.state), page);
}

static struct rs_ring_page *head_of(uint64_t page)
{
	return (struct rs_ring_page *)page_at(page);
}

static uint32_t offset(void)
{
	return rs_word_offset(state->word);
}

static struct rs_ring_record record_of(uint32_t size)
{
	static uint64_t entry[PAGE_MOST / 8];

	for (uint32_t i = 0; i < G_N_ELEMENTS(entry); i++)
		entry[i] = 0x1000000000000000 + i;
	return (struct rs_ring_record){.id = ID,
				       .size = size,
				       .entry_size = size,
				       .entry = entry,
				       .context = rs_context_mark(70, 0x12),
				       .tgid = 71};
}

static enum rs_ring_result emit_record(struct rs_ring_record *record)
{
	return kind == RS_SHARED ? rs_ring_emit(&ring, RS_SHARED, record, NULL, tick)
				 : rs_ring_emit(&ring, RS_NESTED, record, NULL, tick);
}

static enum rs_ring_result emit(uint32_t size)
{
	struct rs_ring_record record = record_of(size);

	return emit_record(&record);
}

static bool emit_fast(uint32_t size)
{
	struct rs_ring_record record = record_of(size);

	return kind == RS_SHARED ? emit_fast_as(&ring, RS_SHARED, &record, tick)
				 : emit_fast_as(&ring, RS_NESTED, &record, tick);
}

static uint64_t header_word(uint32_t size)
{
	return ID | (uint64_t)size << 16 | (now & UINT32_MAX) << 32;
}

/* ---- pages ---- */

static void test_header(void)
{
	FOR_BOTH
	{
		const struct rs_ring_page *head;
		struct rs_ring_record record = record_of(12);

		set_up(both);
		now = 0x123456789abc;
		state->dropped = 99;
		head_of(0)->committed = 8; /* nobody finishes it, so it is passed over */
		record.context = rs_context_mark(0x89abcdef, 0xffff);
		record.tgid = 0x87654321;
		g_assert_cmpint(emit_record(&record), ==,
				both ? RS_RING_DONE : RS_RING_NEW_CONTEXT);
		g_assert_cmpuint(record.ts, ==, now);
		g_assert_cmpuint(record.chain, ==, CHAIN);
		head = head_of(1);
		g_assert_cmpuint(head->seq, ==, 1);
		g_assert_cmpuint(head->ts, ==, now);
		g_assert_cmpuint(head->records, ==, 0);
		g_assert_cmpuint(head->dropped, ==, 99);
		g_assert_cmpuint(head->committed, ==, RS_RING_PAGE_HEADER + 24);
		g_assert_cmpuint(head->committed_remote, ==, 0);
		g_assert_cmpuint(head->boot, ==, BOOT);
		g_assert_cmpuint(head->chain, ==, CHAIN);
		g_assert_cmpuint(head->context, ==, 0xffff);
		g_assert_cmpuint(head->skipped, ==, 1);
		g_assert_cmpuint(head->ring, ==, 1);
		g_assert_cmpuint(head->header_size, ==, RS_RING_PAGE_HEADER);
		g_assert_cmpuint(head->pid, ==, 0x89abcdef);
		g_assert_cmpuint(head->tgid, ==, 0x87654321);
		g_assert_cmphex(page_at(1)[FIRST], ==, header_word(20));
		g_assert_cmphex(page_at(1)[FIRST + 1], ==, record.entry[0]);
		g_assert_cmphex(page_at(1)[FIRST + 2], ==, record.entry[1]);
		g_assert_cmphex(page_at(1)[FIRST + 3], ==, 0);
		g_assert_cmphex(state->word, ==,
				1ull << RS_WORD_RECORDS_SHIFT | 1ull << RS_WORD_PAGE_SHIFT |
					(FIRST + 3));
		g_assert_cmpuint(state->pages, ==, 2);
		g_assert_cmpuint(state->skipped, ==, 1);
		g_assert_cmpuint(state->last_ts, ==, now);
		g_assert_cmpuint(state->chain, ==, CHAIN);
		g_assert_cmphex(state->context, ==, both ? 0 : record.context);
		/* What is passed over counts as full. */
		g_assert_cmpuint(head_of(0)->committed, ==, 8 + 4096);
		/* The other ring is another's. */
		g_assert_cmphex(states[0].word, ==, 0);
		for (uint32_t i = 0; i < COUNT * 4096 / 8; i++)
			g_assert_cmphex(pages[i], ==, 0);
	}
}

/* A page is filled to its last unit. What does not fit goes to the next, and the rest is a pad. */
static void test_end(void)
{
	FOR_BOTH
	{
		const uint32_t marks = both ? 1 : 0;

		for (uint32_t left = 0; left < 6; left++) {
			bool fits = left >= marks + 2;
			uint32_t off;

			set_up(both);
			emit(8);
			emit(4096 - RS_RING_PAGE_HEADER - 8 * (2 + marks + 1 + left));
			off = 512 - left;
			g_assert_cmpuint(offset(), ==, off);
			emit(8);
			g_assert_cmpuint(rs_word_page(state->word), ==, fits ? 0 : 1);
			g_assert_cmpuint(state->pages, ==, fits ? 1 : 2);
			if (fits) {
				g_assert_cmphex(page_at(0)[off + marks], ==, header_word(16));
				g_assert_cmpuint(offset(), ==, off + marks + 2);
				continue;
			}
			g_assert_cmpuint(head_of(1)->records, ==, 2);
			g_assert_cmpuint(state->records, ==, 2);
			g_assert_cmpuint(head_of(0)->committed, ==, 4096);
			if (left)
				g_assert_cmphex(page_at(0)[off], ==, RS_REC_PAD | 8ull << 16);
			g_assert_cmphex(page_at(1)[FIRST], ==, header_word(16));
		}
	}
}

/* ---- call stacks ---- */

static uint64_t frames[RS_STACK_MAX];

static enum rs_ring_result emit_stack(uint32_t size, uint32_t count)
{
	struct rs_ring_record record = record_of(size);

	for (uint32_t i = 0; i < RS_STACK_MAX; i++)
		frames[i] = 0x400000 + i;
	record.frames = frames;
	record.frame_count = count;
	return emit_record(&record);
}

/* The mark, then the frames, then the record, all in one page. */
static void check_stack(uint64_t page, uint32_t at, uint32_t count, uint32_t size)
{
	const uint64_t *words = page_at(page) + at;

	g_assert_cmphex(words[0], ==, RS_REC_STACK | (8ull + 8 * count) << 16);
	for (uint32_t i = 0; i < count; i++)
		g_assert_cmphex(words[1 + i], ==, frames[i]);
	g_assert_cmphex(words[1 + count], ==, header_word(8 + size));
	g_assert_cmphex(words[2 + count], ==, 0x1000000000000000);
}

/* A stack and its record take space at once, behind the other marks. */
static void test_stack(void)
{
	static const uint32_t counts[] = {1, 2, 16, RS_STACK_MAX};

	FOR_BOTH
	{
		for (uint32_t i = 0; i < G_N_ELEMENTS(counts); i++) {
			uint32_t n = counts[i], off;

			set_up(both);
			emit_stack(8, n);
			check_stack(0, FIRST, n, 8);
			off = FIRST + 1 + n + 2;
			g_assert_cmpuint(offset(), ==, off);
			g_assert_cmpuint(head_of(0)->committed, ==, off * 8);
			now += 1ull << 33; /* a mark of the time */
			emit_stack(8, n);
			off += 2 + (both ? 1 : 0);
			check_stack(0, off, n, 8);
			g_assert_cmpuint(offset(), ==, off + 1 + n + 2);
			g_assert_cmpuint(rs_word_records(state->word), ==, 2);
			emit(8);
			g_assert_cmphex(page_at(0)[off + n + 3 + (both ? 1 : 0)], ==,
					header_word(16));
		}
	}
}

/* At a page's end both go to the next page, or neither. */
static void test_stack_end(void)
{
	FOR_BOTH
	{
		const uint32_t marks = both ? 1 : 0;

		for (uint32_t left = 0; left < 9; left++) {
			bool fits = left >= marks + 4 + 2;

			set_up(both);
			emit(8);
			emit(4096 - RS_RING_PAGE_HEADER - 8 * (2 + marks + 1 + left));
			emit_stack(8, 3);
			if (fits)
				check_stack(0, 512 - left + marks, 3, 8);
			else
				check_stack(1, FIRST, 3, 8);
			g_assert_cmpuint(head_of(0)->committed, ==, fits ? offset() * 8 : 4096);
		}
	}
}

/* A record that leaves little room in a page has fewer frames, and one that leaves none has none.
 * A record that is cut is never cut more for its stack. */
static void test_stack_room(void)
{
	const uint32_t most = 4096 - RS_RING_PAGE_HEADER - 8;

	FOR_BOTH
	{
		for (uint32_t left = 0; left < 5; left++) {
			set_up(both);
			g_assert_cmpint(emit_stack(most - left * 8, RS_STACK_MAX), !=,
					RS_RING_REFUSED);
			g_assert_cmpuint(offset(), ==, left == 1 ? 511 : 512);
			if (left < 2)
				g_assert_cmphex(page_at(0)[FIRST], ==,
						header_word(8 + most - left * 8));
			else
				check_stack(0, FIRST, left - 1, most - left * 8);
		}
		set_up(both);
		g_assert_cmpint(emit_stack(most + 100, 3), !=, RS_RING_REFUSED);
		g_assert_cmphex(page_at(0)[FIRST], ==, header_word((8 + most) | RS_REC_CUT));
		g_assert_cmpuint(state->too_large, ==, 1);
	}
}

/* What is refused has left nothing behind, and counts once. */
static void test_stack_full(void)
{
	FOR_BOTH
	{
		uint64_t records = 0;

		set_up_of(both, RS_MODE_DROP, 4096);
		while (emit_stack(100, 20) != RS_RING_REFUSED)
			records++;
		g_assert_cmpuint(rs_word_records(state->word), ==, records);
		g_assert_cmpuint(state->dropped, ==, 1);
		g_assert_cmpuint(offset(), ==, 512);
	}
}

/* The word has the low bits of two counters that lag behind it, or are ahead. */
static void test_counters(void)
{
	static const int64_t behind[] = {0, 1, -1, 65536, 100000, (1 << 17) - 1, -(1 << 17)};
	static const int64_t records[] = {0, 1, -1, 70000, INT32_MAX, INT32_MIN};
	const uint64_t cur = 10ull << RS_WORD_PAGE_BITS, all = 6ull << 32;

	for (uint32_t i = 0; i < G_N_ELEMENTS(behind); i++) {
		for (uint32_t k = 0; k < G_N_ELEMENTS(records); k++) {
			set_up(RS_SHARED);
			state->word = (all & UINT32_MAX) << RS_WORD_RECORDS_SHIFT |
				      (cur & RS_WORD_PAGE_MASK) << RS_WORD_PAGE_SHIFT | 512;
			state->pages = cur - (uint64_t)behind[i];
			state->records = all - (uint64_t)records[k];
			head_of(cur + 1)->committed = (uint32_t)((cur + 1) / COUNT * 4096);
			g_assert_cmpint(emit(8), ==, RS_RING_DONE);
			g_assert_cmpuint(head_of(cur + 1)->seq, ==, cur + 1);
			g_assert_cmpuint(head_of(cur + 1)->records, ==, all);
			/* They never go back. */
			g_assert_cmpuint(state->pages, ==, MAX(cur + 2, cur - (uint64_t)behind[i]));
			g_assert_cmpuint(state->records, ==, MAX(all, all - (uint64_t)records[k]));
		}
	}
}

/* ---- a ring that is full ---- */

/* As many pages as there are, from what the consumer has not copied on. */
static void test_full(void)
{
	FOR_BOTH
	{
		for (uint64_t consumed = 0; consumed < 3; consumed++) {
			uint64_t records = 0, word;

			set_up_of(both, RS_MODE_DROP, 4096);
			ctls[1].consumed = consumed;
			while (emit(100) != RS_RING_REFUSED)
				records++;
			g_assert_cmpuint(state->pages, ==, COUNT + consumed);
			g_assert_cmpuint(rs_word_records(state->word), ==, records);
			g_assert_cmpuint(state->dropped, ==, 1);
			/* The page is closed, so that the loss shows in the next one. */
			g_assert_cmpuint(offset(), ==, 512);
			g_assert_cmpuint(head_of(state->pages - 1)->committed, ==,
					 ((COUNT + consumed - 1) / COUNT + 1) * 4096);
			word = state->word;
			g_assert_cmpint(emit(8), ==, RS_RING_REFUSED);
			g_assert_cmphex(state->word, ==, word);
			g_assert_cmpuint(state->dropped, ==, 2);
			ctls[1].consumed++;
			g_assert_cmpint(emit(8), !=, RS_RING_REFUSED);
			g_assert_cmpuint(head_of(COUNT + consumed)->dropped, ==, 2);
			g_assert_cmpuint(state->dropped, ==, 2);
		}
	}
}

/* Fills page 0 to its end. Then the next `count` pages have a record that nobody finishes. */
static void fill_first(uint32_t count)
{
	emit(8);
	emit(4096 - RS_RING_PAGE_HEADER - 8 * (2 + (kind == RS_SHARED) + 1));
	for (uint32_t i = 1; i <= count; i++)
		head_of(i)->committed = 8;
}

/* So many pages are passed over at most, and never more than there are. */
static void test_skipped(void)
{
	static const uint32_t counts[] = {2, 4, 8, 64, 128};

	FOR_BOTH
	{
		for (uint32_t i = 0; i < G_N_ELEMENTS(counts); i++) {
			uint32_t most = MIN(counts[i] - 1, RS_SKIP_MAX);

			set_up_with(both, RS_MODE_OVERWRITE, 4096, counts[i]);
			fill_first(most);
			g_assert_cmpint(emit(8), !=, RS_RING_REFUSED);
			g_assert_cmpuint(head_of(most + 1)->skipped, ==, most);
			g_assert_cmpuint(state->skipped, ==, most);
			/* One more. If that is the first again, another round would find a page. */
			set_up_with(both, RS_MODE_OVERWRITE, 4096, counts[i]);
			fill_first(MIN(most + 1, counts[i] - 1));
			if (most + 1 == counts[i]) {
				head_of(0)->committed -= 8;
				head_of(1)->committed = 4096;
			}
			g_assert_cmpint(emit(8), ==, RS_RING_REFUSED);
			g_assert_cmpuint(state->dropped, ==, 1);
		}
	}
}

/* ---- lost races ---- */

static void test_disturbed(void)
{
	FOR_BOTH
	{
		for (uint32_t first = 0; first < 2; first++) {
			set_up(both);
			if (!first)
				emit(8);
			disturbances = RS_TRIES - 1;
			g_assert_cmpint(emit(8), !=, RS_RING_REFUSED);
			g_assert_cmpuint(disturbances, ==, 0);
			g_assert_cmpuint(lost_nested, ==, 0);
			disturbances = RS_TRIES + 1;
			g_assert_cmpint(emit(8), ==, RS_RING_REFUSED);
			g_assert_cmpuint(disturbances, ==, 1);
			g_assert_cmpuint(lost_nested, ==, 1);
			g_assert_cmpuint(state->dropped, ==, 0);
		}
	}
}

/* ---- records ---- */

/* The largest record of a page of each size; one that is larger is cut to it. */
static void test_largest(void)
{
	static const uint32_t sizes[] = {4096, 32768, 65536};

	FOR_BOTH
	{
		for (uint32_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
			uint32_t most = MIN(sizes[i] - RS_RING_PAGE_HEADER, RS_REC_MAX) - 8;

			for (uint32_t size = most - 9; size <= most + 9; size++) {
				uint32_t kept = MIN(size, most), units = 1 + (kept + 7) / 8;

				set_up_of(both, RS_MODE_OVERWRITE, sizes[i]);
				g_assert_cmpint(emit(size), >=, 0);
				g_assert_cmphex(
					page_at(0)[FIRST], ==,
					header_word((kept + 8) | (size > most ? RS_REC_CUT : 0)));
				g_assert_cmphex(page_at(0)[FIRST + kept / 8], ==,
						0x1000000000000000 + kept / 8 - 1);
				g_assert_cmpuint(offset(), ==, FIRST + units);
				g_assert_cmpuint(head_of(0)->committed, ==, (FIRST + units) * 8);
				g_assert_cmpuint(state->too_large, ==, size > most);
			}
		}
	}
}

/* Which marks a record needs: the fast way does without, or leaves it to the other. */
static void test_marks(void)
{
	static const struct {
		uint64_t later;
		uint32_t chain;
		bool timed;
	} cases[] = {
		{0, CHAIN, false},           {UINT32_MAX, CHAIN, false}, {1ull << 32, CHAIN, true},
		{(uint64_t)-1, CHAIN, true}, {1, CHAIN + 1, true},       {0, CHAIN - 1, true},
	};

	FOR_BOTH
	{
		for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
			for (uint32_t way = 0; way < 2; way++) {
				struct rs_ring_record record = record_of(8);
				const uint64_t *at;
				uint32_t committed = (FIRST + 2) * 8;

				set_up(both);
				at = page_at(0) + FIRST + 2;
				emit(8);
				now += cases[i].later;
				chain = cases[i].chain;
				if (way && !emit_fast(8)) {
					g_assert_true(cases[i].timed);
					g_assert_cmpuint(offset(), ==, FIRST + 2);
					continue;
				}
				g_assert_false(way && cases[i].timed);
				if (!way)
					g_assert_cmpint(emit_record(&record), ==,
							!both && cases[i].timed
								? RS_RING_NEW_CONTEXT
								: RS_RING_DONE);
				if (cases[i].timed) {
					g_assert_cmphex(*at++, ==,
							RS_REC_TIME | 16ull << 16 |
								(uint64_t)chain << 32);
					g_assert_cmphex(*at++, ==, now);
					committed += 16;
				}
				if (both) {
					g_assert_cmphex(*at++, ==, record.context);
					committed += 8;
				}
				g_assert_cmphex(*at++, ==, header_word(16));
				g_assert_cmphex(*at++, ==, record.entry[0]);
				g_assert_cmphex(*at, ==, 0);
				g_assert_cmpuint(offset(), ==, at - page_at(0));
				g_assert_cmpuint(rs_word_records(state->word), ==, 2);
				g_assert_cmpuint(head_of(0)->committed, ==, committed + 16);
				g_assert_cmpuint(state->last_ts, ==, now);
				g_assert_cmpuint(state->chain, ==, chain);
			}
		}
	}
}

/* Producers that nest name their context when it changes. */
static void test_context(void)
{
	struct rs_ring_record record = record_of(8);
	const uint64_t *at;

	set_up(RS_NESTED);
	at = page_at(0) + FIRST + 4;
	emit(8);
	g_assert_cmpint(emit_record(&record), ==, RS_RING_DONE);
	g_assert_cmpuint(offset(), ==, FIRST + 4);
	record.context = rs_context_mark(70, 0x13);
	g_assert_cmpint(emit_record(&record), ==, RS_RING_NEW_CONTEXT);
	g_assert_cmphex(at[0], ==, 70ull << 32 | 0x13 << 16 | RS_REC_CONTEXT);
	g_assert_cmphex(at[1], ==, header_word(16));
	g_assert_cmphex(state->context, ==, record.context);
	g_assert_false(emit_fast(8)); /* of the first context */
	g_assert_cmpuint(offset(), ==, FIRST + 7);
	g_assert_cmpint(emit(8), ==, RS_RING_NEW_CONTEXT);
	g_assert_true(emit_fast(8));
	/* It moves with the page. */
	while (offset() + 2 <= 512)
		emit(8);
	g_assert_cmpint(emit_record(&record), ==, RS_RING_NEW_CONTEXT);
	g_assert_cmphex(state->context, ==, record.context);
	g_assert_cmpuint(head_of(1)->context, ==, 0x13);
}

/* The fast way takes the last units of a page, and no page but that of the word. */
static void test_fast_end(void)
{
	FOR_BOTH
	{
		for (uint32_t left = 0; left < 6; left++) {
			set_up(both);
			g_assert_false(emit_fast(8));
			emit(4096 - RS_RING_PAGE_HEADER - 8 * (1 + left));
			g_assert_cmpuint(offset(), ==, 512 - left);
			g_assert_true(emit_fast(8) == (left >= 2 + (both ? 1u : 0)));
			g_assert_cmpuint(state->pages, ==, 1);
		}
		/* Nor does it try twice. */
		set_up(both);
		emit(8);
		disturbances = 1;
		g_assert_false(emit_fast(8));
		g_assert_true(emit_fast(8));
	}
}

/* ---- copies ---- */

static const uint8_t bytes[] = "The quick brown fox jumps over the lazy dog, and then home";

/* All bytes in their order, whatever the parts; what lies behind is left alone. */
static void test_copy(void)
{
	uint64_t to[sizeof(bytes) / 8 + 2], entry[1];

	memcpy(entry, bytes, 8);
	for (uint32_t first = 0; first <= 20; first++) {
		for (uint32_t second = 0; second <= 20; second++) {
			struct rs_dyn dyn[3] = {
				{.data = bytes + 8, .size = first},
				{.data = bytes + 8 + first, .size = second},
				{.data = bytes + 8 + first + second, .size = 3},
			};
			uint32_t all = 8 + first + second + 3;
			struct rs_ring_record record = {.entry = entry,
							.entry_size = 8,
							.size = all,
							.dyn = dyn,
							.dyn_count = 3};
			uint8_t expected[sizeof(to)];

			memset(to, 0xee, sizeof(to));
			memset(expected, 0xee, sizeof(expected));
			memset(expected, 0, (all + 7) / 8 * 8);
			memcpy(expected, bytes, all);
			rs_ring_copy(to, all, &record);
			g_assert_cmpmem(to, sizeof(to), expected, sizeof(expected));
		}
	}
}

/* An event of three dynamic fields, the second one an array of elements of four bytes. */
static const struct rs_field_info cut_fields[] = {
	{.name = "first", .kind = RS_KIND_DYN_STRING, .offset = 4, .size = 4, .elem_size = 1},
	{.name = "number", .kind = RS_KIND_UINT, .offset = 0, .size = 4},
	{.name = "second", .kind = RS_KIND_DYN_ARRAY, .offset = 12, .size = 4, .elem_size = 4},
	{.name = "third", .kind = RS_KIND_DYN_STRING, .offset = 8, .size = 4, .elem_size = 1},
};
static const struct rs_event_info cut_info = {.fields = cut_fields, .field_count = 4};
static const uint32_t cut_places[] = {1, 3, 2}; /* of the locators in the entry, in words */

/* Field i of a cut payload: what its locator names is its front, and behind the one before. */
static uint32_t check_front(const uint64_t *payload, uint32_t i, const struct rs_dyn *dyn,
			    uint32_t at)
{
	uint32_t locator, length;

	memcpy(&locator, (const uint8_t *)payload + 4 * cut_places[i], 4);
	length = rs_locator_length(locator);
	g_assert_cmpuint(rs_locator_offset(locator), ==, at);
	g_assert_cmpuint(length, <=, dyn->size);
	g_assert_cmpuint(!!(locator & RS_LOCATOR_CUT), ==, length < dyn->size);
	g_assert_cmpmem((const uint8_t *)payload + at, length, dyn->data, length);
	return length;
}

/* Whoever is cut has as much as anybody else, but for a part of an element. */
static void test_copy_cut(void)
{
	const uint32_t entry[4] = {0x12345678, 1, 2, 3};
	uint64_t whole[2], to[16];

	memcpy(whole, entry, sizeof(entry));
	for (uint32_t i = 0; i < 21 * 6 * 21; i++) {
		struct rs_dyn dyn[3] = {
			{bytes, i % 21}, {bytes + 20, i / 21 % 6 * 4}, {bytes + 30, i / 126}};
		uint32_t all = 16 + dyn[0].size + dyn[1].size + dyn[2].size;
		struct rs_ring_record record = {.entry = whole,
						.entry_size = 16,
						.size = all,
						.dyn = dyn,
						.dyn_count = 3,
						.info = &cut_info};

		for (uint32_t size = 16; size < all; size++) {
			uint32_t kept[3], at = 16, most = 0;

			memset(to, 0xee, sizeof(to));
			rs_ring_copy(to, size, &record);
			for (uint32_t j = 0; j < 3; j++) {
				kept[j] = check_front(to, j, &dyn[j], at);
				at += kept[j];
				most = MAX(most, kept[j]);
			}
			g_assert_cmpmem(to, 4, entry, 4);
			g_assert_cmpuint(kept[1] % 4, ==, 0);
			g_assert_cmpuint(at, <=, size);
			g_assert_cmpuint(at + 6, >,
					 size); /* two shares' rests, three bytes of an element */
			for (uint32_t j = 0; j < 3; j++)
				if (kept[j] < dyn[j].size)
					g_assert_cmpuint(kept[j] + (j == 1 ? 4 : 1), >, most);
			for (uint32_t j = at; j < sizeof(to); j++)
				g_assert_cmphex(((const uint8_t *)to)[j], ==,
						j < RS_ALIGN_UP(size, 8) ? 0 : 0xee);
		}
		/* The fixed part itself may not fit. */
		memset(to, 0xee, sizeof(to));
		rs_ring_copy(to, 10, &record);
		g_assert_cmpmem(to, 4, entry, 4);
		g_assert_cmphex(to[0] >> 32, ==,
				rs_locator(10, 0) | (dyn[0].size ? RS_LOCATOR_CUT : 0));
		g_assert_cmphex(to[2], ==, 0xeeeeeeeeeeeeeeee);
	}
}

/* ---- the next boot ---- */

static void test_resume(void)
{
	FOR_BOTH
	{
		uint64_t word;

		set_up(both);
		g_assert_cmphex(state->word, ==, RS_WORD_INITIAL(512));
		rs_ring_resume(&ring); /* of a boot without records */
		g_assert_cmphex(state->word, ==, RS_WORD_INITIAL(512));
		emit(8);
		emit(8);
		word = state->word;
		rs_ring_resume(&ring);
		g_assert_cmphex(state->word, ==, (word & ~RS_WORD_OFFSET_MASK) | 512);
		g_assert_cmpuint(state->last_ts, ==, 0); /* of this boot there is none */
		g_assert_cmpuint(head_of(0)->committed, ==, 4096);
		g_assert_cmphex(page_at(0)[rs_word_offset(word)], ==, RS_REC_PAD | 8ull << 16);
		word = state->word;
		rs_ring_resume(&ring);
		g_assert_cmphex(state->word, ==, word);
		g_assert_cmpuint(head_of(0)->committed, ==, 4096);
		rings.boot++;
		now = 5;
		g_assert_cmpint(emit(8), >=, 0);
		g_assert_cmpuint(head_of(1)->boot, ==, BOOT + 1);
		g_assert_cmpuint(head_of(1)->records, ==, 2);
		g_assert_cmphex(page_at(1)[FIRST], ==, header_word(16));
		g_assert_cmpuint(head_of(1)->ts, ==, 5);
	}
}

/* ---- the page that is known ---- */

/* The fast path takes only the page that the slow path has looked up, wherever the ring goes. */
static void test_known(void)
{
	FOR_BOTH
	{
		uint64_t last = 0;

		set_up(both);
		g_assert_false(emit_fast(8)); /* none yet */
		for (uint32_t n = 0; n < 3 * COUNT; n++) {
			g_assert_cmpint(emit(8), >=, 0);
			g_assert_cmphex(state->page, !=, last);
			last = state->page;
			g_assert_cmphex((uint32_t)last, ==, n << RS_WORD_PAGE_SHIFT);
			g_assert_true((uint64_t *)&region + (last >> 32) == page_at(n));
			while (emit_fast(8))
				g_assert_cmphex(state->page, ==, last);
			g_assert_cmpuint(offset() + 2 + (both ? 1 : 0), >, 512);
			g_assert_cmpuint(rs_word_page(state->word), ==, n);
		}
		/* A page that somebody else has looked up meanwhile is left alone. */
		rs_ring_know(&ring, kind, last - 1, head_of(3 * COUNT));
		g_assert_cmphex(state->page, ==, last);
		rs_ring_know(&ring, kind, last, head_of(3 * COUNT - 2));
		g_assert_cmphex(state->page, !=, last);
		/* What is known is wrong now, and is looked up again. */
		g_assert_false(emit_fast(8));
		rs_ring_resume(&ring);
		g_assert_false(emit_fast(8));
		g_assert_cmpint(emit(8), >=, 0);
		g_assert_true(emit_fast(8));
	}
}

/* Wherever the word is, what is known after a boot fits none of its pages. */
static void test_known_after_boot(void)
{
	static const uint32_t offsets[] = {0, 8, 511, 512, RS_WORD_CLOSED};

	set_up_of(RS_NESTED, RS_MODE_OVERWRITE, PAGE_MOST);
	for (uint32_t page = 0; page <= RS_WORD_PAGE_MASK; page += 4095) {
		for (uint32_t i = 0; i < G_N_ELEMENTS(offsets); i++) {
			state->word =
				(uint64_t)page << RS_WORD_PAGE_SHIFT | offsets[i] | 1ull << 40;
			rs_ring_resume(&ring);
			g_assert_false(emit_fast(8));
			g_assert_cmpuint(rs_word_page(state->word), ==, page);
		}
	}
}

/* ---- the doorbell ---- */

static void test_wake(void)
{
	static const uint64_t starts[] = {0, 1, (1ull << RS_WORD_PAGE_BITS) * 5};

	for (uint32_t i = 0; i < G_N_ELEMENTS(starts); i++) {
		uint64_t cur = starts[i], at = cur * 512 + 100;

		set_up(RS_SHARED);
		state->word = (cur & RS_WORD_PAGE_MASK) << RS_WORD_PAGE_SHIFT | 100;
		state->pages = cur + 1;
		ctls[1].wake_from = at - 50;
		ctls[1].wake_units = 51;
		g_assert_false(rs_ring_wake_due(&rings, 1)); /* nobody sleeps */
		ctls[1].wake_armed = 7;
		g_assert_false(rs_ring_wake_due(&rings, 1));
		g_assert_cmpuint(state->wake_seen, ==, 0);
		ctls[1].wake_units = 50;
		g_assert_false(rs_ring_wake_due(&rings, 0));
		g_assert_true(rs_ring_wake_due(&rings, 1));
		g_assert_cmpuint(state->wake_seen, ==, 7);
		g_assert_false(rs_ring_wake_due(&rings, 1)); /* once */
		ctls[1].wake_armed++;
		ctls[1].wake_from = at + 1; /* the reader is ahead of us */
		ctls[1].wake_units = 0;
		g_assert_false(rs_ring_wake_due(&rings, 1));
		ctls[1].wake_from = at;
		g_assert_true(rs_ring_wake_due(&rings, 1));
	}
}

/* A reader that wants nothing in this page costs no record of it the fast path. */
static void test_wake_later(void)
{
	uint32_t slow = 0;

	set_up(RS_NESTED);
	emit(8);
	g_assert_false(rs_ring_wake_due(&rings, 1));
	ctls[1].wake_armed = 1;
	ctls[1].wake_from = FIRST + 2;
	ctls[1].wake_units =
		3 * 512; /* it is due in page 3, behind as many records as there are here */
	for (uint32_t n = 0; n < 4 * 224; n++) {
		uint64_t page = rs_word_page(state->word), due = 3 * 512 + FIRST + 2;

		if (emit_fast(8))
			continue;
		slow++;
		emit(8);
		page = rs_word_page(state->word);
		g_assert_true(rs_ring_wake_due(&rings, 1) == (page * 512 + offset() >= due));
		if (state->wake_seen)
			break;
	}
	g_assert_cmpuint(rs_word_page(state->word), ==, 3);
	g_assert_cmpuint(offset(), <=, FIRST + 4);
	/* The first with the new wish, and the first of each page. */
	g_assert_cmpuint(slow, <=, 5);
	g_assert_true(emit_fast(8));
	/* One that wants something in this page is asked behind each record. */
	ctls[1].wake_armed = 2;
	ctls[1].wake_from = 3 * 512 + offset();
	ctls[1].wake_units = 5;
	for (uint32_t n = 0; n < 3; n++) {
		g_assert_false(emit_fast(8));
		emit(8);
		g_assert_true(rs_ring_wake_due(&rings, 1) == (n == 2));
	}
	g_assert_true(emit_fast(8));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/ring-pages/header", test_header);
	g_test_add_func("/agent/ring-pages/end", test_end);
	g_test_add_func("/agent/ring-pages/stack", test_stack);
	g_test_add_func("/agent/ring-pages/stack-end", test_stack_end);
	g_test_add_func("/agent/ring-pages/stack-room", test_stack_room);
	g_test_add_func("/agent/ring-pages/stack-full", test_stack_full);
	g_test_add_func("/agent/ring-pages/counters", test_counters);
	g_test_add_func("/agent/ring-pages/full", test_full);
	g_test_add_func("/agent/ring-pages/skipped", test_skipped);
	g_test_add_func("/agent/ring-pages/disturbed", test_disturbed);
	g_test_add_func("/agent/ring-pages/largest", test_largest);
	g_test_add_func("/agent/ring-pages/marks", test_marks);
	g_test_add_func("/agent/ring-pages/context", test_context);
	g_test_add_func("/agent/ring-pages/fast-end", test_fast_end);
	g_test_add_func("/agent/ring-pages/copy", test_copy);
	g_test_add_func("/agent/ring-pages/copy-cut", test_copy_cut);
	g_test_add_func("/agent/ring-pages/resume", test_resume);
	g_test_add_func("/agent/ring-pages/known", test_known);
	g_test_add_func("/agent/ring-pages/known-after-boot", test_known_after_boot);
	g_test_add_func("/agent/ring-pages/wake", test_wake);
	g_test_add_func("/agent/ring-pages/wake-later", test_wake_later);
	return g_test_run();
}
