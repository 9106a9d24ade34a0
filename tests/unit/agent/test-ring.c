/* SPDX-License-Identifier: MIT */
/*
 * The ring writer with the host's reader, for both kinds of producer. The test compares the output
 * with the input: every record carries its number, context and size. Exactly as many records must
 * be missing as the reader reports lost.
 */
#define _GNU_SOURCE
#include "emit-fast.h"
#include "ring.h"
#include "region/regions.h"
#include <rs-trace-ring-change.h>
#include <rs-trace-ring.h>

#include <glib.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#define UNITS 512u

struct fixture {
	RsTraceRegion *region;
	struct rs_rings rings;
	struct rs_ring ring;
	struct rs_ring_state *state;
	struct rs_ring_ctl *ctl;
	RsTraceRing *reader;
	uint64_t lost_nested;
	uint32_t chain;
	bool shared;
	/* what the reader has handed out */
	uint64_t got, lost, last_ts, ts;
	uint64_t numbers_seen; /* sum of the records' numbers */
	uint32_t cut;
};

static struct fixture *now; /* for the clock and the signal handler */
static uint64_t clock_now, clock_step = 3;
static uint64_t ring_max; /* of the next fixture */
static uint64_t emitted;
static void (*in_clock)(void);

static uint64_t test_clock(void)
{
	if (in_clock) {
		void (*hook)(void) = in_clock;

		in_clock = NULL;
		hook();
	}
	return __atomic_add_fetch(&clock_now, clock_step, __ATOMIC_RELAXED);
}

static uint64_t no_clock(void)
{
	g_assert_not_reached();
	return 0;
}

/*
 * An interrupt after the n-th instruction of an emit: the trap flag raises SIGTRAP after each
 * instruction, and at the n-th the handler emits.
 */
static volatile uint32_t trap_in;
static void (*volatile in_trap)(void);

static void on_trap(int signal, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	if (trap_in && --trap_in)
		return;
	at->uc_mcontext.gregs[REG_EFL] &= ~0x100;
	in_trap();
}

/* The stack pointer moves over the red zone, which pushfq would scribble on. */
static inline __attribute__((always_inline)) void trap_flag(bool on)
{
	if (on)
		__asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\torl $0x100, (%%rsp)\n\t"
				 "popfq\n\tleaq 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
	else
		__asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandl $~0x100, (%%rsp)\n\t"
				 "popfq\n\tleaq 128(%%rsp), %%rsp" ::
					 : "memory", "cc");
}

static bool fast; /* records take the fast path where they can */

static enum rs_ring_result emit_record(struct rs_ring_record *record)
{
	if (now->shared) {
		if (fast && emit_fast_as(&now->ring, RS_SHARED, record, test_clock))
			return RS_RING_DONE;
		return rs_ring_emit(&now->ring, RS_SHARED, record, test_clock, no_clock);
	}
	if (fast && emit_fast_as(&now->ring, RS_NESTED, record, test_clock))
		return RS_RING_DONE;
	return rs_ring_emit(&now->ring, RS_NESTED, record, test_clock, no_clock);
}

/* Payload: number, context, then bytes that depend on the number. */
static enum rs_ring_result emit(uint32_t pid, uint32_t size)
{
	uint64_t entry[1024];
	struct rs_ring_record record = {
		.id = RS_FIRST_EVENT_ID,
		.size = MAX(size, 12),
		.entry_size = MAX(size, 12),
		.entry = entry,
		.context = rs_context_mark(pid, pid & 0xff),
		.tgid = pid / 2,
	};
	uint64_t number = __atomic_add_fetch(&emitted, 1, __ATOMIC_RELAXED);
	enum rs_ring_result result;
	bool trap = trap_in != 0;

	memset(entry, 0, MIN(MAX(size, 12) + 8, sizeof(entry)));
	entry[0] = number;
	memcpy(&entry[1], &pid, 4);
	for (uint32_t i = 12; i < MIN(size, sizeof(entry)); i++)
		((uint8_t *)entry)[i] = (uint8_t)(number + i);
	if (trap)
		trap_flag(true);
	result = emit_record(&record);
	if (trap)
		trap_flag(false);
	return result;
}

static void check_record(struct fixture *f, const struct rs_rec_header *header, uint64_t context)
{
	const uint8_t *payload = (const uint8_t *)(header + 1);
	uint32_t size = (header->size & RS_REC_SIZE_MASK) - 8, pid;
	uint64_t number;

	memcpy(&number, payload, 8);
	memcpy(&pid, payload + 8, 4);
	g_assert_cmpuint(header->id, ==, RS_FIRST_EVENT_ID);
	g_assert_cmphex(context, ==, rs_context_mark(pid, pid & 0xff));
	for (uint32_t i = 12; i < size; i++)
		g_assert_cmpuint(payload[i], ==, (uint8_t)(number + i));
	f->numbers_seen += number;
	f->cut += !!(header->size & RS_REC_CUT);
	f->got++;
}

static void check_chunk(struct fixture *f, const RsTraceChunk *chunk)
{
	const struct rs_ring_page *page = (const struct rs_ring_page *)chunk->page;
	uint64_t context = rs_context_mark(page->pid, page->context);
	uint64_t ts = page->ts;

	g_assert_cmpuint(page->tgid, ==, page->pid / 2);
	/*
	 * Walk from the page's start, so that time and context are right. Count only new records.
	 */
	for (uint32_t at = RS_RING_PAGE_HEADER; at < chunk->to;) {
		const struct rs_rec_header *header =
			(const struct rs_rec_header *)(chunk->page + at);

		if (header->id == RS_REC_PAD)
			break;
		if (header->id == RS_REC_CONTEXT) {
			memcpy(&context, header, 8);
			at += 8;
			continue;
		}
		if (header->id == RS_REC_TIME) {
			memcpy(&ts, header + 1, 8);
			at += 16;
			continue;
		}
		if (header->ts < (uint32_t)ts)
			ts += 1ull << 32;
		ts = (ts & ~0xffffffffull) | header->ts;
		if (at >= chunk->from) {
			g_assert_cmpuint(ts, >, f->last_ts);
			f->last_ts = ts;
			check_record(f, header, context);
		}
		at += (uint32_t)RS_ALIGN_UP(header->size & RS_REC_SIZE_MASK, 8);
	}
}

static void drain(struct fixture *f)
{
	RsTraceChunk chunk;
	RsTraceRingStatus status;

	/* Patience ends after a second of this clock: then the reader skips stuck pages. */
	for (uint32_t idle = 0; idle < 4;) {
		f->ts += 600000000;
		status = rs_trace_ring_next(f->reader, f->ts, &chunk);
		if (status != RS_TRACE_RING_DATA) {
			idle++;
			continue;
		}
		idle = 0;
		f->lost += chunk.lost;
		check_chunk(f, &chunk);
	}
}

/* Every emitted record was read or counted as lost. */
static void check_sum(struct fixture *f)
{
	RsTraceRingStats stats;

	drain(f);
	rs_trace_ring_stats(f->reader, &stats);
	g_assert_cmpuint(stats.bad_pages, ==, 0);
	g_assert_cmpuint(f->lost_nested, ==, 0);
	g_assert_cmpuint(f->got + f->lost + rs_trace_ring_pending_loss(f->reader), ==, emitted);
}

static void open_reader(struct fixture *f, bool consumer)
{
	RsTraceRingConfig config = {
		.from = RS_TRACE_FROM_START,
		.consumer = consumer,
	};

	rs_trace_ring_free(f->reader);
	f->reader = NULL;
	f->reader = rs_trace_ring_new(f->region, &config, NULL);
	g_assert_nonnull(f->reader);
}

static void set_up_of(struct fixture *f, uint32_t mode, bool shared, uint64_t pages)
{
	struct rs_region_config config = {
		.vcpus = 1,
		.ring_bytes = pages * 4096,
		.ring_max = ring_max,
		.ring_page_size = 4096,
		.ring_mode = mode,
	};
	struct rs_error err = {0};
	size_t size;

	memset(f, 0, sizeof(*f));
	now = f;
	emitted = 0;
	clock_now = 1000;
	clock_step = 3;
	f->shared = shared;
	g_assert_cmpint(rs_region_create(&config, &f->region, &err), ==, 0);
	f->state = rs_trace_region_section(f->region, RS_SEC_RING_STATE, &size);
	f->ctl = rs_trace_region_section(f->region, RS_SEC_RING_CTL, &size);
	f->rings = (struct rs_rings){
		.states = (uint8_t *)f->state,
		.state_stride = sizeof(*f->state),
		.ctls = (const uint8_t *)f->ctl,
		.ctl_stride = sizeof(*f->ctl),
		.pages = rs_trace_region_section(f->region, RS_SEC_RINGS, &size),
		.chain = &f->chain,
		.lost_nested = &f->lost_nested,
		.mode = &((struct rs_region_header *)(void *)f->region->map)->ring_mode,
		.boot = 3,
	};
	rs_rings_init(&f->rings, &f->region->header);
	fast_set_up(f->region->map, &f->rings);
	f->ring = rs_ring_at(&f->rings, 0);
	rs_ring_resume(&f->ring);
	open_reader(f, mode == RS_MODE_DROP);
}

static void set_up(struct fixture *f, uint32_t mode, bool shared)
{
	set_up_of(f, mode, shared, MAX(rs_region_min_ring_bytes(4096) / 4096, 4));
}

static void tear_down(struct fixture *f)
{
	rs_trace_ring_free(f->reader);
	rs_trace_region_free(f->region);
}

/* Runs the body for both kinds of producer. */
#define FOR_BOTH(f, mode)                                                                          \
	for (int kind = 0; kind < 2 && (set_up(&f, mode, kind), true); kind++, tear_down(&f))

static void test_sizes(void)
{
	struct fixture f;

	FOR_BOTH(f, RS_MODE_OVERWRITE)
	{
		for (uint32_t i = 0; i < 3000; i++) {
			emit(i / 5, 12 + i % 600);
			if (i % 3 == 0)
				drain(&f);
		}
		check_sum(&f);
		g_assert_cmpuint(f.lost, ==, 0);
		g_assert_cmpuint(f.numbers_seen, ==, 3000ull * 3001 / 2);
	}
}

static void test_overwrite(void)
{
	struct fixture f;

	FOR_BOTH(f, RS_MODE_OVERWRITE)
	{
		for (uint32_t i = 0; i < 20000; i++)
			emit(1, 12 + i % 50);
		check_sum(&f);
		g_assert_cmpuint(f.lost, >, 0);
		g_assert_cmpuint(f.got, >, 100);
		/* Overwrite mode keeps the newest records. */
		g_assert_cmpuint(f.last_ts, ==, clock_now);
	}
}

static void test_drop(void)
{
	struct fixture f;

	FOR_BOTH(f, RS_MODE_DROP)
	{
		uint64_t refused = 0, first;

		while (emit(1, 20) != RS_RING_REFUSED)
			;
		first = emitted - 1;
		for (uint32_t i = 0; i < 100; i++)
			refused += emit(1, 20) == RS_RING_REFUSED;
		g_assert_cmpuint(refused, ==, 100);
		g_assert_cmpuint(f.state->dropped, ==, 101);
		/* Nothing was overwritten, and the loss comes after all records. */
		drain(&f);
		g_assert_cmpuint(f.got, ==, first);
		g_assert_cmpuint(f.lost, ==, 0);
		g_assert_cmpint(emit(1, 20), !=, RS_RING_REFUSED);
		drain(&f);
		g_assert_cmpuint(f.lost, ==, 101);
		for (uint32_t i = 0; i < 5000; i++) {
			emit(1, 20);
			if (i % 700 == 0)
				drain(&f);
		}
		check_sum(&f);
	}
}

static void test_cut(void)
{
	struct fixture f;

	FOR_BOTH(f, RS_MODE_OVERWRITE)
	{
		emit(1, 4096 - RS_RING_PAGE_HEADER - 8);
		g_assert_cmpuint(f.state->too_large, ==, 0);
		emit(1, 4096 - RS_RING_PAGE_HEADER - 7);
		emit(1, 8000);
		g_assert_cmpuint(f.state->too_large, ==, 2);
		check_sum(&f);
		g_assert_cmpuint(f.got, ==, 3);
		g_assert_cmpuint(f.cut, ==, 2);
	}
}

static void test_gaps(void)
{
	struct fixture f;

	FOR_BOTH(f, RS_MODE_OVERWRITE)
	{
		for (uint32_t i = 0; i < 200; i++) {
			uint64_t word = f.state->word;

			clock_step = i % 3 ? 5 : (1ull << 32) + i % 2 - (i % 4 == 0);
			emit(1, 12);
			drain(&f);
			g_assert_cmpuint(f.last_ts, ==, clock_now);
			/* A mark costs two units, and is only written if it is needed. */
			if (clock_step == 5 && rs_word_page(word) == rs_word_page(f.state->word))
				g_assert_cmpuint(rs_word_offset(f.state->word) -
							 rs_word_offset(word),
						 ==, 3u + f.shared);
		}
		check_sum(&f);
	}
}

static void put_ring_at(struct fixture *f, uint64_t pages, uint64_t records)
{
	uint32_t count = f->region->header.ring_pages;

	f->state->pages = pages;
	f->state->records = records;
	f->state->word =
		records << 32 | ((pages - 1) & RS_WORD_PAGE_MASK) << RS_WORD_PAGE_SHIFT | UNITS;
	for (uint64_t page = pages - count; page < pages; page++) {
		struct rs_ring_page *header = rs_ring_page(&f->ring, f->state->shape, page);

		header->committed = (uint32_t)((page / count + 1) * 4096);
		header->seq = page;
		header->records = records;
		header->ts = 1000;
		/* a pad, so that it is an empty page */
		((uint64_t *)header)[RS_RING_PAGE_HEADER / 8] = 8u << 16;
	}
}

/* The marks of the ring's first page that say the time in full; returns how many there are. */
static uint32_t time_marks(struct fixture *f, struct rs_rec_time *marks, uint32_t max)
{
	const uint8_t *page = f->rings.pages;
	uint32_t count = 0, end = rs_word_offset(f->state->word) * RS_RING_UNIT;

	for (uint32_t at = RS_RING_PAGE_HEADER; at < end;) {
		const struct rs_rec_header *header = (const struct rs_rec_header *)(page + at);

		if (header->id == RS_REC_TIME && count < max)
			memcpy(&marks[count++], header, sizeof(*marks));
		at += header->id == RS_REC_CONTEXT
			      ? 8
			      : (uint32_t)RS_ALIGN_UP(header->size & RS_REC_SIZE_MASK, 8);
	}
	return count;
}

/*
 * A mark names the chain when it changes, and after a step that a record cannot say. A counter that
 * goes back before the host has noticed is such a step too.
 */
static void test_jumps(void)
{
	struct fixture f;

	FOR_BOTH(f, RS_MODE_OVERWRITE)
	{
		struct rs_rec_time marks[8];
		uint64_t far = 5ull << 32;

		clock_now = far;
		f.chain = 4;
		emit(1, 12);
		g_assert_cmpuint(((struct rs_ring_page *)f.rings.pages)->chain, ==, 4);
		emit(1, 12);
		clock_now += 1ull << 31;
		emit(1, 12);
		clock_step = 0; /* and it may stand still */
		emit(1, 12);
		clock_step = 3;
		g_assert_cmpuint(time_marks(&f, marks, 8), ==, 0);
		clock_now -= 4; /* back by one */
		emit(1, 12);
		far = clock_now;
		f.chain = 7;
		clock_now = 100; /* by a lot */
		emit(1, 12);
		emit(1, 12);
		clock_now += 1ull << 32; /* on by more than a record can say */
		emit(1, 12);
		/* Back, but not before the newest record of this ring, which was silent. */
		f.chain = 8;
		emit(1, 12);
		emit(1, 12);
		g_assert_cmpuint(time_marks(&f, marks, 8), ==, 4);
		g_assert_cmpuint(marks[0].chain, ==, 4);
		g_assert_cmpuint(marks[0].ts, ==, far);
		g_assert_cmpuint(marks[1].chain, ==, 7);
		g_assert_cmpuint(marks[1].ts, ==, 103);
		g_assert_cmpuint(marks[2].chain, ==, 7);
		g_assert_cmpuint(marks[2].ts, ==, 106 + (1ull << 32) + 3);
		g_assert_cmpuint(marks[3].chain, ==, 8);
		g_assert_cmpuint(marks[3].ts, ==, marks[2].ts + 3);
	}
}

static void test_wraps(void)
{
	/* page number, record count and `committed` at the ends of their 18, 32 and 32 bits */
	static const struct {
		uint64_t pages, records;
	} starts[] = {{(7ull << 18) - 3, (5ull << 32) - 200},
		      {(1ull << 18) - 2, 1000},
		      {(1ull << 20) * 4 - 3, (1ull << 32) - 1},
		      {(1ull << 22) * 4 - 3, (1ull << 33) - 100}};
	struct fixture f;

	for (gsize s = 0; s < G_N_ELEMENTS(starts); s++) {
		FOR_BOTH(f, RS_MODE_OVERWRITE)
		{
			const struct rs_ring_page *page;

			put_ring_at(&f, starts[s].pages, starts[s].records);
			open_reader(&f, false);
			drain(&f);
			f.lost = 0;
			for (uint32_t i = 0; i < 5000; i++) {
				emit(1, 20);
				if (i % 50 == 0)
					drain(&f);
			}
			check_sum(&f);
			g_assert_cmpuint(f.lost, ==, 0);
			g_assert_cmpuint(f.state->skipped, ==, 0);
			page = rs_ring_page(&f.ring, f.state->shape, f.state->pages - 1);
			g_assert_cmpuint(page->seq, ==, f.state->pages - 1);
			g_assert_cmpuint(page->records, ==, f.state->records);
			g_assert_cmpuint(page->records, <, starts[s].records + 5000);
			g_assert_cmpuint(page->records, >, starts[s].records + 4000);
		}
	}
}

/* A producer that is killed between reserve and commit. */
static void abandon(struct fixture *f)
{
	emitted++;
	f->state->word += (1ull << 32) + 4;
}

static void test_stuck_page(void)
{
	struct fixture f;

	FOR_BOTH(f, RS_MODE_OVERWRITE)
	{
		uint32_t laps = 30, count = f.region->header.ring_pages;

		emit(1, 20);
		abandon(&f);
		for (uint32_t i = 0; i < laps * count * 100; i++) {
			emit(1, 20);
			if (i % 20 == 0)
				drain(&f);
		}
		/* The page is skipped once a lap, and never reused. */
		g_assert_cmpuint(f.state->skipped, >, 5);
		g_assert_cmpuint(f.state->skipped, <=, f.state->pages / count + 1);
		check_sum(&f);
		/* Only records in the page of the dead producer are lost. */
		g_assert_cmpuint(f.lost, >=, 1);
		g_assert_cmpuint(f.lost, <, 200);
	}
}

static void test_all_stuck(void)
{
	struct fixture f;

	FOR_BOTH(f, RS_MODE_OVERWRITE)
	{
		uint32_t count = f.region->header.ring_pages;

		for (uint32_t i = 0; i < count; i++) {
			uint64_t pages = f.state->pages;

			while (f.state->pages == pages)
				g_assert_cmpint(emit(1, 20), !=, RS_RING_REFUSED);
			abandon(&f);
		}
		while (emit(1, 20) != RS_RING_REFUSED)
			;
		g_assert_cmpuint(f.state->dropped, ==, 1);
		for (uint32_t i = 0; i < 10; i++)
			g_assert_cmpint(emit(1, 20), ==, RS_RING_REFUSED);
		g_assert_cmpuint(f.state->dropped, ==, 11);
	}
}

/*
 * Dead producers left so many pages after the first one unfinished. True: the producer gets over
 * them.
 */
static bool passes(uint32_t pages, uint32_t stuck, uint32_t size, bool shared)
{
	struct fixture f;
	bool passed;

	set_up_of(&f, RS_MODE_OVERWRITE, shared, pages);
	g_assert_cmpuint(f.region->header.ring_pages, ==, pages);
	emit(1, size);
	for (uint32_t i = 1; i <= stuck; i++)
		((struct rs_ring_page *)(f.rings.pages + i * 4096ull))->committed = 8;
	while (f.state->pages == 1 && !f.state->dropped)
		emit(1, size);
	passed = !f.state->dropped;
	g_assert_cmpuint(f.state->pages, ==, passed ? stuck + 2 : 1);
	g_assert_cmpuint(f.state->skipped, ==, passed ? stuck : 0);
	if (passed) {
		const struct rs_ring_page *page =
			(const struct rs_ring_page *)(f.rings.pages +
						      (stuck + 1) % pages * 4096ull);

		g_assert_cmpuint(page->seq, ==, stuck + 1);
		g_assert_cmpuint(page->skipped, ==, stuck);
	}
	tear_down(&f);
	return passed;
}

static void test_passed_over(void)
{
	for (int shared = 0; shared < 2; shared++) {
		g_assert_true(passes(8, 0, 30, shared));
		g_assert_true(passes(8, 6, 30, shared));
		g_assert_false(passes(8, 7, 30, shared));
		/* These fill the first page to its end, so it can be used again. */
		g_assert_true(passes(8, 7, shared ? 20 : 12, shared));
		g_assert_true(passes(128, RS_SKIP_MAX, 30, shared));
		g_assert_false(passes(128, RS_SKIP_MAX + 1, 30, shared));
	}
}

static void nest_few(void)
{
	emit(100, 12);
	emit(101, 40);
}

static void nest_many(void)
{
	for (uint32_t i = 0; i < 700; i++)
		emit(100 + i % 3, 30);
}

/* Another producer comes between the load of the word and the CAS, at every place in a page. */
static void test_nested_in_clock(void)
{
	struct fixture f;

	FOR_BOTH(f, RS_MODE_OVERWRITE)
	{
		for (uint32_t i = 0; i < 3000; i++) {
			if (i % 2)
				in_clock = i % 50 == 1 ? nest_many : nest_few;
			emit(i / 4, 12 + i % 30);
			if (i % 7 == 0)
				drain(&f);
		}
		check_sum(&f);
	}
}

/* Interrupts the next emit after its n-th instruction. Returns whether it had as many. */
static bool emit_trapped(uint32_t n, uint32_t pid, void (*nest)(void))
{
	in_trap = nest;
	trap_in = n;
	emit(pid, 12);
	if (!trap_in)
		return true;
	trap_in = 0;
	return false;
}

/* The next switch of the page takes the ring to its other place. */
static void offer_another_size(struct fixture *f)
{
	RsTraceRingChange change;

	rs_trace_ring_change(f->region, rs_shape_log(f->state->shape) == 2 ? 8 : 4, TRUE, &change);
	g_assert_cmpuint(change.offered, ==, 1);
}

/* Contexts of the interrupted record and of the one before it; see nest_few(). */
static const uint32_t pids[][2] = {{1, 1}, {100, 1}, {1, 100}, {101, 1}, {1, 101}};

/* For n = 1, 2 … as long as the record has as many instructions. */
static uint32_t interrupt_each(struct fixture *f, uint32_t way, const uint32_t pid[2])
{
	static uint32_t changes;
	bool hit = true;
	uint32_t n;

	changes = rs_shape_change(f->state->shape);
	for (n = 1; hit; n++) {
		/* 0: in a page; 1: at its end; 2: in a page, and a whole lap; 3: at its end, where
		 * the ring goes to its other place */
		emit(pid[0], 12);
		if (way == 3)
			offer_another_size(f);
		while (way % 2 == 1 && rs_word_offset(f->state->word) + 4 <= UNITS)
			emit(pid[0], 12);
		hit = emit_trapped(n, pid[1], way == 2 ? nest_many : nest_few);
		emit(pid[0], 12);
		emit(100, 12);
		emit(101, 12);
		drain(f);
		if (way == 3)
			g_assert_cmpuint(rs_shape_change(f->state->shape), >=, ++changes);
	}
	return n;
}

static void test_nested_at_each_instruction(void)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, old;
	struct fixture f;
	uint32_t most = 0;

	ring_max = 8 * 4096;
	sigaction(SIGTRAP, &action, &old);
	for (uint32_t i = 0; i < 2; i++) {
		fast = i;
		FOR_BOTH(f, RS_MODE_OVERWRITE)
		{
			/* Filling the whole ring is slow. Contexts matter to one kind only, and not
			 * to the fast path. */
			uint32_t count = f.shared || fast ? 1 : G_N_ELEMENTS(pids);

			for (uint32_t c = 0; c < 4 * count; c++) {
				uint32_t n = interrupt_each(&f, c % 4, pids[c / 4]);

				most = MAX(most, n);
			}
			check_sum(&f);
		}
	}
	fast = false;
	ring_max = 0;
	sigaction(SIGTRAP, &old, NULL);
	/* Otherwise no instruction was interrupted. */
	g_assert_cmpuint(most, >, 40);
}

static void test_wake(void)
{
	struct fixture f;

	FOR_BOTH(f, RS_MODE_OVERWRITE)
	{
		emit(1, 12);
		drain(&f);
		g_assert_false(rs_ring_wake_due(&f.rings, 0));
		rs_trace_ring_arm(f.reader, 1000);
		g_assert_false(rs_ring_wake_due(&f.rings, 0));
		for (uint32_t i = 0; i < 20; i++)
			emit(1, 12);
		g_assert_false(rs_ring_wake_due(&f.rings, 0));
		for (uint32_t i = 0; i < 30; i++)
			emit(1, 12);
		g_assert_true(rs_ring_wake_due(&f.rings, 0));
		g_assert_false(rs_ring_wake_due(&f.rings, 0)); /* once */
	}
}

static void test_resume(void)
{
	struct fixture f;

	FOR_BOTH(f, RS_MODE_OVERWRITE)
	{
		for (uint32_t i = 0; i < 1000; i++)
			emit(1, 12);
		drain(&f);
		/* The guest dies in the middle of a record and boots again on the same region. */
		abandon(&f);
		rs_ring_resume(&f.ring);
		for (uint32_t i = 0; i < 300; i++)
			emit(2, 12);
		check_sum(&f);
		g_assert_cmpuint(f.got, >=, 300);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/ring/sizes", test_sizes);
	g_test_add_func("/agent/ring/overwrite", test_overwrite);
	g_test_add_func("/agent/ring/drop", test_drop);
	g_test_add_func("/agent/ring/cut", test_cut);
	g_test_add_func("/agent/ring/gaps", test_gaps);
	g_test_add_func("/agent/ring/jumps", test_jumps);
	g_test_add_func("/agent/ring/wraps", test_wraps);
	g_test_add_func("/agent/ring/stuck", test_stuck_page);
	g_test_add_func("/agent/ring/all-stuck", test_all_stuck);
	g_test_add_func("/agent/ring/passed-over", test_passed_over);
	g_test_add_func("/agent/ring/nested/clock", test_nested_in_clock);
	g_test_add_func("/agent/ring/nested/each-instruction", test_nested_at_each_instruction);
	g_test_add_func("/agent/ring/wake", test_wake);
	g_test_add_func("/agent/ring/resume", test_resume);
	return g_test_run();
}
