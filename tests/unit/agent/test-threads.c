/* SPDX-License-Identifier: MIT */
/*
 * Preemptible producers on one ring, and a reader, in real threads on one mapping: built with
 * ThreadSanitizer (which sees no second mapping of a page), and again with ASan/UBSan. The reader
 * here is the ADR's algorithm at its smallest, with relaxed 8-byte loads, so that what TSan judges
 * is the writer.
 */
#include "emit-fast.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITERS 4u
#define RECORDS 60000u
#define PAGE 4096u
#define COUNT 8u
#define FLIPS 24u /* changes of the mode */
#define READ 4u   /* pages that are read before one */

/* Pages are read as words and as structures. */
typedef uint64_t __attribute__((may_alias)) word_t;

static struct {
	word_t pages[COUNT * PAGE / 8];
	struct rs_ring_state state;
	struct rs_ring_ctl ctl;
} region __attribute__((aligned(4096)));
static struct rs_rings rings;
static struct rs_ring ring;
static struct rs_region_header layout = {
	.ring_count = 1, .ring_pages = COUNT, .ring_page_size = PAGE};
static uint32_t chain;
static uint64_t lost_nested, ticks;
static uint32_t writing;
static uint64_t emitted; /* attempts of all writers */
static bool flipping;
static uint32_t flips; /* so far */

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static uint64_t clock_tick(void)
{
	return __atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
}

static bool enough(uint64_t written)
{
	return written >= RECORDS && (!flipping || rs_load(&flips) >= FLIPS);
}

static void *writer(void *data)
{
	uint32_t pid = (uint32_t)(uintptr_t)data;
	uint64_t i;

	for (i = 1; !enough(i - 1); i++) {
		uint64_t entry[4] = {i, pid, i * pid, ~i};
		struct rs_ring_record record = {
			.id = RS_FIRST_EVENT_ID,
			.size = 32,
			.entry_size = 32,
			.entry = entry,
			.context = rs_context_mark(pid, 0),
			.frames = entry,
			.frame_count = i % 5 % 4,
		};
		if (i % 3 || record.frame_count ||
		    !emit_fast_as(&ring, RS_SHARED, &record, clock_tick))
			rs_ring_emit(&ring, true, &record, NULL, clock_tick);
		rs_ring_wake_due(&rings, 0);
		if (i % 500 == 0)
			sched_yield();
	}
	__atomic_add_fetch(&emitted, i - 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&writing, 1, __ATOMIC_RELEASE);
	return NULL;
}

struct reader {
	uint64_t pages, seq, records, dropped, got, lost, last_ts, newest[WRITERS + 1];
};

/* Checks every record of a whole page; returns how many there are. */
static uint64_t check_page(struct reader *r, const word_t *copy)
{
	const struct rs_ring_page *header = (const struct rs_ring_page *)copy;
	uint64_t ts = header->ts, n = 0;
	uint32_t pid = header->pid, stack;

	for (uint32_t at = RS_RING_PAGE_HEADER / 8; at < PAGE / 8;) {
		const struct rs_rec_header *record = (const struct rs_rec_header *)&copy[at];

		if (record->id == RS_REC_PAD)
			break;
		if (record->id == RS_REC_CONTEXT) {
			pid = (uint32_t)(copy[at++] >> 32);
			continue;
		}
		stack = 0;
		if (record->id == RS_REC_STACK) {
			stack = (record->size - 8) / 8;
			CHECK(stack >= 1 && stack <= 3);
			at += 1 + stack;
			record = (const struct rs_rec_header *)&copy[at];
			CHECK(copy[at - stack] == copy[at + 1]); /* it is this record's */
		}
		CHECK(record->id == RS_FIRST_EVENT_ID && record->size == 40);
		CHECK(stack == copy[at + 1] % 5 % 4);
		CHECK(record->ts > (uint32_t)ts || n == 0);
		ts = record->ts;
		CHECK(ts > r->last_ts);
		r->last_ts = ts;
		CHECK(copy[at + 2] == pid && pid >= 1 && pid <= WRITERS);
		CHECK(copy[at + 3] == copy[at + 1] * pid && copy[at + 4] == ~copy[at + 1]);
		CHECK(copy[at + 1] > r->newest[pid]);
		r->newest[pid] = copy[at + 1];
		at += 5;
		n++;
	}
	return n;
}

/* Takes page r->seq if it is complete. */
static bool take(struct reader *r, bool drop)
{
	const word_t *page = region.pages + r->seq % COUNT * (PAGE / 8);
	const struct rs_ring_page *header = (const struct rs_ring_page *)page;
	struct rs_ring_page *head;
	word_t copy[PAGE / 8];
	uint32_t want = (uint32_t)((r->seq / COUNT + 1) * PAGE);

	if (rs_load_acquire(&header->committed) != want || rs_load_acquire(&header->seq) != r->seq)
		return false;
	for (uint32_t i = 0; i < PAGE / 8; i++)
		copy[i] = rs_load_acquire(&page[i]); /* acquire: in place of rs_rmb() below */
	if (rs_load(&region.state.pages) > r->seq + COUNT ||
	    rs_word_page(rs_load(&region.state.word)) >= r->seq + COUNT)
		return false;
	head = (struct rs_ring_page *)copy;
	r->lost += head->records - r->records + head->dropped - r->dropped;
	r->records = head->records;
	r->dropped = head->dropped;
	{
		uint64_t n = check_page(r, copy);

		r->got += n;
		r->records += n;
	}
	r->seq++;
	r->pages++;
	if (drop)
		rs_store_release((uint64_t *)&region.ctl.consumed, r->seq);
	return true;
}

/*
 * Once some pages were read in this mode, and then records were lost in its way, changes the mode:
 * what was read is published by then. Returns whether the reader is to wait for that loss.
 */
static bool flip(const struct reader *r)
{
	static uint64_t begun, refused;
	static bool waits;
	const bool drop = layout.ring_mode == RS_MODE_DROP;

	if (!waits) {
		waits = r->pages - begun >= READ;
		refused = rs_load(&region.state.dropped);
		return waits;
	}
	if (drop ? rs_load(&region.state.dropped) == refused
		 : rs_load(&region.state.pages) <= r->seq + COUNT)
		return true;
	rs_store_release(&layout.ring_mode, drop ? RS_MODE_OVERWRITE : RS_MODE_DROP);
	begun = r->pages;
	waits = false;
	rs_store(&flips, flips + 1);
	return false;
}

static void run(uint32_t mode)
{
	pthread_t threads[WRITERS];
	struct reader r = {0};
	uint64_t total;

	memset(&region, 0, sizeof(region));
	ticks = emitted = 0;
	flips = 0;
	lost_nested = 0;
	layout.ring_mode = mode;
	rings = (struct rs_rings){
		.states = (uint8_t *)&region.state,
		.ctls = (const uint8_t *)&region.ctl,
		.pages = (uint8_t *)region.pages,
		.chain = &chain,
		.lost_nested = &lost_nested,
		.mode = &layout.ring_mode,
		.boot = 1,
	};
	rs_rings_init(&rings, &layout);
	fast_set_up(&region, &rings);
	ring = rs_ring_at(&rings, 0);
	rs_ring_resume(&ring);
	writing = WRITERS;
	for (uintptr_t i = 0; i < WRITERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, writer, (void *)(i + 1)));
	while (__atomic_load_n(&writing, __ATOMIC_ACQUIRE)) {
		uint64_t newest;

		if (flipping && rs_load(&flips) < FLIPS && flip(&r)) {
			sched_yield();
			continue;
		}
		newest = rs_load(&region.state.pages);
		rs_store((uint32_t *)&region.ctl.wake_armed, (uint32_t)newest);
		if (take(&r, flipping || mode == RS_MODE_DROP))
			continue;
		if (flipping ? newest > r.seq + COUNT
			     : mode == RS_MODE_OVERWRITE && newest > r.seq + COUNT - 1)
			r.seq = newest - COUNT + 1;
		else if (newest > r.seq + 1 && rs_load(&region.state.skipped))
			r.seq++; /* a producer skipped it */
		else
			sched_yield();
	}
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	/*
	 * Nobody writes any more. Read the complete pages; the word says where the last page ends.
	 */
	if ((flipping || mode == RS_MODE_OVERWRITE) && region.state.pages > r.seq + COUNT)
		r.seq = region.state.pages - COUNT;
	rs_ring_resume(&ring);
	for (; r.seq < region.state.pages;) {
		if (!take(&r, false))
			r.seq++;
	}
	total = (uint32_t)rs_word_records(region.state.word);
	r.lost += total - r.records + region.state.dropped - r.dropped;
	CHECK(emitted >= WRITERS * RECORDS);
	CHECK(total + region.state.dropped + lost_nested == emitted);
	CHECK(r.got + r.lost + lost_nested == emitted);
	CHECK(r.got > 0);
	if (flipping) /* both kinds */
		CHECK(flips == FLIPS && region.state.dropped > 0 && r.lost > region.state.dropped);
	printf("# mode %u: %llu read, %llu lost, %llu skipped\n", mode, (unsigned long long)r.got,
	       (unsigned long long)r.lost, (unsigned long long)region.state.skipped);
}

int main(void)
{
	printf("1..3\n");
	run(RS_MODE_OVERWRITE);
	printf("ok 1 overwrite\n");
	run(RS_MODE_DROP);
	printf("ok 2 drop\n");
	flipping = true;
	run(RS_MODE_OVERWRITE);
	printf("ok 3 changing modes\n");
	return 0;
}
