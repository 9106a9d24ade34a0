/* SPDX-License-Identifier: MIT */
/*
 * Threads write one ring, a reader consumes it, and its size changes all the while: under
 * ThreadSanitizer, and again under ASan/UBSan. All three are those of the product. Each record is
 * read once, or is known to be lost at the place where it was.
 */
#include "../agent/emit-fast.h"
#include "ring.h"

#include "rs-trace-ring-change.h"
#include "rs-trace-ring-info.h"
#include "rs-trace-ring.h"
#include <glib.h>
#include <region/layout.h>
#include <region/regions.h>
#include <rs-trace-page.h>
#include <sched.h>
#include <string.h>

#define WRITERS 3u
#define CHANGES 60u
#define RECORDS 20000u /* of each writer at least */
#define PAGE 4096u
#define FIRST 8u /* pages at first */
#define ROOM 64u
#define ID RS_FIRST_EVENT_ID

struct fixture {
	RsTraceRegion *region;
	struct rs_rings rings;
	struct rs_ring ring;
	struct rs_ring_state *state;
	struct rs_ring_ctl *ctl;
	enum rs_producers kind;
};

static struct fixture *now;
static uint64_t ticks, emitted, lost_nested;
static uint32_t chain, writing;
static bool enough;

static uint64_t tick(void)
{
	return __atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
}

static void emit(uint32_t pid, uint64_t number)
{
	uint64_t entry[4] = {number, pid, number * pid, ~number};
	struct rs_ring_record record = {
		.id = ID,
		.size = sizeof(entry),
		.entry_size = sizeof(entry),
		.entry = entry,
		.context = rs_context_mark(pid, 0),
	};

	if (now->kind == RS_NESTED)
		rs_ring_emit(&now->ring, RS_NESTED, &record, NULL, tick);
	else if (number % 3 || !emit_fast_as(&now->ring, RS_SHARED, &record, tick))
		rs_ring_emit(&now->ring, RS_SHARED, &record, NULL, tick);
}

static void begin(struct fixture *f, uint32_t mode, enum rs_producers kind)
{
	const struct rs_region_config config = {
		.vcpus = 1, .ring_bytes = FIRST * PAGE, .ring_max = ROOM * PAGE, .ring_mode = mode};
	struct rs_region_header *shared;

	g_assert_cmpint(rs_region_create(&config, &f->region, NULL), ==, 0);
	g_assert_cmpuint(rs_trace_ring_max_bytes(f->region), ==, ROOM * PAGE);
	shared = rs_trace_region_section(f->region, RS_SEC_HEADER, NULL);
	f->state = rs_trace_region_element(f->region, RS_SEC_RING_STATE, 0);
	f->ctl = rs_trace_region_element(f->region, RS_SEC_RING_CTL, 0);
	f->kind = kind;
	f->rings = (struct rs_rings){
		.states = (uint8_t *)f->state,
		.state_stride = sizeof(*f->state),
		.ctls = (uint8_t *)f->ctl,
		.ctl_stride = sizeof(*f->ctl),
		.pages = rs_trace_region_section(f->region, RS_SEC_RINGS, NULL),
		.chain = &chain,
		.lost_nested = &lost_nested,
		.mode = &shared->ring_mode,
		.boot = 1,
	};
	rs_rings_init(&f->rings, &f->region->header);
	fast_set_up(shared, &f->rings);
	f->ring = rs_ring_at(&f->rings, 0);
	rs_ring_resume(&f->ring);
	ticks = emitted = lost_nested = 0;
	now = f;
}

static void end(struct fixture *f)
{
	rs_trace_region_free(f->region);
}

/* ---- what is read ---- */

struct reading {
	RsTraceRing *ring;
	uint64_t got, lost, newest[WRITERS + 1], ts;
};

static void check_chunk(struct reading *r, const RsTraceChunk *chunk)
{
	RsTracePageWalk walk;
	RsTracePageItem item;

	r->lost += chunk->lost;
	rs_trace_page_begin(&walk, chunk->page);
	for (;;) {
		const uint64_t *words;

		item = rs_trace_page_next(&walk, chunk->page, chunk->to);
		if (item != RS_TRACE_PAGE_RECORD && item != RS_TRACE_PAGE_MARK)
			break;
		if (item == RS_TRACE_PAGE_MARK || walk.payload < chunk->from)
			continue;
		words = (const void *)(chunk->page + walk.payload);
		g_assert_cmpuint(words[1], >=, 1);
		g_assert_cmpuint(words[1], <=, WRITERS);
		g_assert_cmphex(words[2], ==, words[0] * words[1]);
		g_assert_cmphex(words[3], ==, ~words[0]);
		g_assert_cmpuint(words[0], >, r->newest[words[1]]);
		r->newest[words[1]] = words[0];
		r->got++;
	}
}

/* Reads what is there, up to `most` chunks. */
static bool read_some(struct reading *r, guint most)
{
	RsTraceChunk chunk;

	for (guint i = 0; i < most; i++) {
		RsTraceRingStatus status = rs_trace_ring_next(r->ring, 0, &chunk);

		if (status != RS_TRACE_RING_DATA)
			return false;
		check_chunk(r, &chunk);
	}
	return true;
}

static void begin_reading(struct fixture *f, struct reading *r)
{
	const RsTraceRingConfig config = {
		.from = RS_TRACE_FROM_START, .consumer = TRUE, .patience_ns = G_MAXUINT64};

	*r = (struct reading){.ring = rs_trace_ring_new(f->region, &config, NULL)};
}

/* ---- many threads ---- */

static void *writer(void *data)
{
	uint32_t pid = GPOINTER_TO_UINT(data);
	uint64_t i;

	for (i = 1; i <= RECORDS || !__atomic_load_n(&enough, __ATOMIC_RELAXED); i++) {
		emit(pid, i);
		if (i % 300 == 0)
			sched_yield();
	}
	__atomic_add_fetch(&emitted, i - 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&writing, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void test_threads(gconstpointer mode)
{
	static const guint sizes[] = {16, 4, 64, 8, 32, 4, 8};
	struct fixture f;
	struct reading r;
	GThread *threads[WRITERS];
	RsTraceRingChange change;
	guint changes = 0, rounds = 0;
	uint64_t returned = 0;

	begin(&f, GPOINTER_TO_UINT(mode), RS_SHARED);
	begin_reading(&f, &r);
	enough = false;
	writing = WRITERS;
	for (guint i = 0; i < WRITERS; i++)
		threads[i] = g_thread_new("writer", writer, GUINT_TO_POINTER(i + 1));
	while (__atomic_load_n(&writing, __ATOMIC_ACQUIRE)) {
		rs_trace_ring_change(f.region, sizes[changes % G_N_ELEMENTS(sizes)], TRUE, &change);
		returned += change.returned;
		changes += change.changed;
		__atomic_store_n(&enough, changes >= CHANGES, __ATOMIC_RELAXED);
		/* At times it is slow, so that records are lost in the way of the mode. */
		if (rounds++ % 8 < 6 && !read_some(&r, 3))
			sched_yield();
	}
	for (guint i = 0; i < WRITERS; i++)
		g_thread_join(threads[i]);
	while (read_some(&r, 1))
		;
	g_assert_cmpuint(r.got + r.lost + rs_trace_ring_pending_loss(r.ring) + lost_nested, ==,
			 emitted);
	g_assert_cmpuint(r.got, >, 0);
	if (GPOINTER_TO_UINT(mode) == RS_MODE_DROP)
		g_assert_cmpuint(r.lost + rs_trace_ring_pending_loss(r.ring), ==, f.state->dropped);
	g_assert_cmpuint(rs_shape_change(f.state->shape), >=, CHANGES - 1);
	g_assert_cmpuint(returned, >, 0);
	g_test_message("%u changes, %" G_GUINT64_FORMAT " read, %" G_GUINT64_FORMAT " lost",
		       changes, r.got, r.lost);
	rs_trace_ring_free(r.ring);
	end(&f);
}

/* ---- step by step ---- */

/* Writes until the ring has come to page `page`. */
static void write_to(struct fixture *f, uint64_t page)
{
	while (f->state->pages <= page)
		emit(1, ++emitted);
}

static void change_to(struct fixture *f, guint pages, guint changed, guint offered, guint held)
{
	RsTraceRingChange change;

	rs_trace_ring_change(f->region, pages, TRUE, &change);
	g_assert_cmpuint(change.changed, ==, changed);
	g_assert_cmpuint(change.offered, ==, offered);
	g_assert_cmpuint(change.held, ==, held);
}

static guint pages_of(struct fixture *f)
{
	RsTraceRingInfo info;

	rs_trace_ring_info(f->region, 0, &info);
	return info.pages;
}

/* A larger ring keeps what the smaller one held, and from then on more. */
static void test_growth(void)
{
	struct fixture f;
	struct reading r;
	RsTraceRingInfo info;
	uint64_t first;

	begin(&f, RS_MODE_OVERWRITE, RS_NESTED);
	write_to(&f, 20);
	change_to(&f, 32, 0, 1, 0);
	change_to(&f, 32, 0, 1, 0);
	g_assert_cmpuint(pages_of(&f), ==, FIRST);
	first = emitted;
	write_to(&f, 21);
	change_to(&f, 32, 1, 0, 0);
	g_assert_cmpuint(pages_of(&f), ==, 32);
	g_assert_cmpuint(rs_place_begin(f.state->place[1]), ==, 21);
	write_to(&f, 40);
	/* Pages 13 to 20 lie in the first place, 21 to 40 in the second. */
	rs_trace_ring_info(f.region, 0, &info);
	g_assert_cmpuint(info.bytes / PAGE, ==, 27);
	begin_reading(&f, &r);
	while (read_some(&r, 1))
		;
	g_assert_cmpuint(r.got + r.lost, ==, emitted);
	g_assert_cmpuint(r.lost, ==, info.overrun);
	g_assert_cmpuint(r.lost, <, first);
	rs_trace_ring_free(r.ring);
	end(&f);
}

/* What a ring has left is given back once it is too old, and not before. */
static void test_giving_back(void)
{
	RsTraceRingChange change;
	struct fixture f;

	begin(&f, RS_MODE_OVERWRITE, RS_NESTED);
	write_to(&f, 20);
	change_to(&f, 16, 0, 1, 0);
	for (uint64_t page = 21; page < 40; page++) {
		write_to(&f, page);
		rs_trace_ring_change(f.region, 16, FALSE, &change);
		/* With page 36 the new place holds 16, which is what was asked for. */
		g_assert_cmpuint(change.returned, ==, page == 36 ? FIRST * PAGE : 0);
		g_assert_cmpuint(f.ctl->gone, ==, page < 36 ? 0 : 21);
	}
	/* Another change waits for that only if it is told to. */
	change_to(&f, 4, 0, 1, 0);
	write_to(&f, 41);
	rs_trace_ring_change(f.region, 32, FALSE, &change);
	g_assert_cmpuint(change.held, ==, 1);
	g_assert_cmpuint(change.changes, ==, 2);
	change_to(&f, 32, 0, 1, 0);
	g_assert_cmpuint(f.ctl->gone, ==, 40);
	end(&f);
}

/* In mode drop, a place is kept until it was read. No record is refused while there is room. */
static void test_drop(void)
{
	struct fixture f;
	struct reading r;

	begin(&f, RS_MODE_DROP, RS_NESTED);
	begin_reading(&f, &r);
	while (!f.state->dropped)
		emit(1, ++emitted);
	g_assert_cmpuint(f.state->pages, ==, FIRST);
	change_to(&f, 16, 0, 1, 0);
	write_to(&f, 15);
	g_assert_cmpuint(f.state->dropped, ==, 1);
	while (f.state->dropped == 1)
		emit(1, ++emitted);
	g_assert_cmpuint(f.state->pages, ==, 16);
	/* Nothing was read. */
	change_to(&f, 32, 0, 0, 1);
	g_assert_true(read_some(&r, FIRST - 1));
	change_to(&f, 32, 0, 0, 1);
	g_assert_true(read_some(&r, 1));
	change_to(&f, 32, 0, 1, 0);
	/* There are too many for a smaller ring: it begins once they were read. */
	write_to(&f, 16);
	while (read_some(&r, 1))
		;
	change_to(&f, 4, 0, 1, 0);
	write_to(&f, 17);
	while (read_some(&r, 1))
		;
	g_assert_cmpuint(r.lost + rs_trace_ring_pending_loss(r.ring), ==, f.state->dropped);
	g_assert_cmpuint(r.got + f.state->dropped, ==, emitted);
	rs_trace_ring_free(r.ring);
	end(&f);
}

/* What was offered stays, whatever is wanted by then: the ring may be about to take it. */
static void test_another_wish(void)
{
	struct fixture f;

	begin(&f, RS_MODE_OVERWRITE, RS_NESTED);
	write_to(&f, 2);
	change_to(&f, 16, 0, 1, 0);
	change_to(&f, 32, 0, 0, 1);
	change_to(&f, FIRST, 1, 0, 0);
	g_assert_cmpuint(rs_shape_log(f.ctl->shape), ==, 4);
	write_to(&f, 3);
	g_assert_cmpuint(pages_of(&f), ==, 16);
	change_to(&f, 32, 0, 1, 0);
	write_to(&f, 4);
	g_assert_cmpuint(pages_of(&f), ==, 32);
	end(&f);
}

/* Somebody is still writing there. */
static void test_unfinished(void)
{
	struct fixture f;
	struct rs_ring_page *page;

	begin(&f, RS_MODE_OVERWRITE, RS_NESTED);
	write_to(&f, 2);
	page = rs_ring_page(&f.ring, f.state->shape, 1);
	page->committed -= 16;
	change_to(&f, 16, 0, 1, 0);
	write_to(&f, 40);
	change_to(&f, 32, 0, 0, 1);
	g_assert_cmpuint(f.ctl->gone, ==, 0);
	page->committed += 16;
	change_to(&f, 32, 0, 1, 0);
	g_assert_cmpuint(f.ctl->gone, ==, 3);
	end(&f);
}

/* The agent begins again between a ring's closing its place and its coming to the other one. */
static void test_reboot(void)
{
	struct fixture f;
	struct reading r;

	begin(&f, RS_MODE_OVERWRITE, RS_NESTED);
	begin_reading(&f, &r);
	write_to(&f, 2);
	change_to(&f, 16, 0, 1, 0);
	f.state->word |= RS_WORD_CLOSED; /* as the producer that was killed there has left it */
	rs_ring_resume(&f.ring);
	g_assert_cmpuint(rs_word_offset(f.state->word), ==, RS_WORD_CLOSED);
	g_assert_cmpuint(pages_of(&f), ==, FIRST);
	write_to(&f, 3);
	g_assert_cmpuint(pages_of(&f), ==, 16);
	rs_ring_resume(&f.ring);
	g_assert_cmpuint(pages_of(&f), ==, 16);
	write_to(&f, 9);
	/* A region of an agent that knew nothing of shapes. */
	f.state->shape = f.state->place[0] = f.state->place[1] = f.ctl->shape = 0;
	change_to(&f, 16, 0, 0, 1);
	rs_trace_ring_free(r.ring);
	end(&f);
}

/* A ring that nobody has written changes with its first record, and not before. */
static void test_fresh(void)
{
	struct fixture f;

	begin(&f, RS_MODE_DROP, RS_NESTED);
	change_to(&f, 16, 0, 1, 0);
	g_assert_cmpuint(pages_of(&f), ==, FIRST);
	emit(1, ++emitted);
	g_assert_cmpuint(pages_of(&f), ==, 16);
	g_assert_cmpuint(rs_place_begin(f.state->place[1]), ==, 0);
	change_to(&f, 32, 0, 1, 0);
	write_to(&f, 1);
	g_assert_cmpuint(pages_of(&f), ==, 32);
	g_assert_cmpuint(f.state->dropped, ==, 0);
	end(&f);
}

/* A shape that is impossible is not taken. */
static void test_refused(void)
{
	static const uint64_t shapes[] = {
		RS_SHAPE(1, 1), RS_SHAPE(1, 7), RS_SHAPE(1, 31),
		RS_SHAPE(0, 4), RS_SHAPE(2, 4), ~0ull,
	};
	struct fixture f;

	begin(&f, RS_MODE_OVERWRITE, RS_NESTED);
	for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
		f.ctl->shape = shapes[i];
		write_to(&f, f.state->pages + 1);
		g_assert_cmphex(f.state->shape, ==, RS_SHAPE(0, 3));
	}
	end(&f);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ring-size/growth", test_growth);
	g_test_add_func("/ring-size/giving-back", test_giving_back);
	g_test_add_func("/ring-size/drop", test_drop);
	g_test_add_func("/ring-size/another-wish", test_another_wish);
	g_test_add_func("/ring-size/unfinished", test_unfinished);
	g_test_add_func("/ring-size/reboot", test_reboot);
	g_test_add_func("/ring-size/fresh", test_fresh);
	g_test_add_func("/ring-size/refused", test_refused);
	g_test_add_data_func("/ring-size/threads/overwrite", GUINT_TO_POINTER(RS_MODE_OVERWRITE),
			     test_threads);
	g_test_add_data_func("/ring-size/threads/drop", GUINT_TO_POINTER(RS_MODE_DROP),
			     test_threads);
	return g_test_run();
}
