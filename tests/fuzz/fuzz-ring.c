/* SPDX-License-Identifier: MIT */
/*
 * The ring reader on memory of a guest, which changes before a call and within it. The first bytes
 * are a config. Then come steps: words of the memory change, the producer enters a page, the reader
 * reads. Every call ends, every chunk lies inside its page, and so does all that a walk finds in
 * it. (fuzz-region.c has the region's header.)
 */
#include "input.h"
#include "region/regions.h"
#include "seed.h"
#include "../unit/decode/build.h"

#include <ringside/record.h>
#include <rs-trace-page.h>
#include <rs-trace-ring-change.h>
#include <rs-trace-ring-info.h>
#include <rs-trace-ring-private.h>
#include <rs-trace-ring.h>

#define PAGES 4u
#define ROOM 8u /* of each of two more places */
#define ALL (PAGES + 2 * ROOM)
#define PAGE 4096u
#define UNITS (PAGE / RS_RING_UNIT)
#define STEPS 64

enum {
	STATE,     /* a word of the ring's state, see rs_fuzz_change() */
	RECORDS,   /* of its pages */
	ENTER,     /* the producer is on page `value`, `at` units of which are written */
	MEANWHILE, /* it enters the page after the reader's next looks, `how` of them */
	READ,      /* `how` times */
	ARM,       /* `at` bytes */
	FINISH,
	PLACE,  /* of its place how % 2 the ring says that; `at`: its shape is this */
	GONE,   /* the host has given back what lies before page `value` */
	CHANGE, /* the host wants 1 << at % 8 pages; how: it is in a hurry */
	OPS
};

/* Bits of `how` of ENTER. */
#define LATE 1u    /* not all that is written is committed */
#define REMOTE 2u  /* some of it by another CPU */
#define TORN 4u    /* the header is another page's */
#define SKIPPED 8u /* the page before was skipped */
#define FULL 16u

struct __attribute__((packed)) step {
	uint8_t what, how;
	uint16_t at;
	uint64_t value;
};

struct __attribute__((packed)) head {
	uint8_t from, flags;
};

/* Bits of `flags`. */
#define WHOLE 1u
#define DROP 2u
#define CONSUMER 4u
#define READ_ONLY 8u
#define TWO_PLACES 16u /* the number of its pages may change */
#define NO_RING 128u   /* all of them */

/* All runs share regions of each kind. Each run sets the part that the guest may write. */
static RsTraceRegion *regions[4], *region;
static uint8_t *full_pages;
static struct rs_ring_state *state;
static struct rs_ring_ctl *ctl;
static uint8_t *pages;
static uint32_t n_pages; /* of all places */

/* What the producer does while the reader looks. */
static struct {
	struct step step;
	uint8_t looks; /* 0: nothing */
} meanwhile;

/* Records and all marks that a reader knows, up to the end of the page. */
static GByteArray *full_page(void)
{
	TestPage *page = test_page_new(0, 0, 1000, 7, 0);

	test_page_context(page, 8, RS_CTX_HARDIRQ);
	test_page_mark(page, RS_REC_TGID, 8);
	test_page_mark(page, RS_REC_CONTINUED, 24);
	test_page_record(page, RS_FIRST_EVENT_ID, 1001, "\1\0\0\0\2\0\0\0", 8);
	test_page_time(page, 2, 1u << 20);
	test_page_context(page, 7, 0);
	for (size_t at = RS_RING_PAGE_HEADER + 80; at < PAGE; at += 16)
		test_page_record(page, RS_FIRST_EVENT_ID, 1u << 20, "\1\0\0\0\2\0\0\0", 8);
	return test_page_end(page);
}

static void open_regions(void)
{
	GByteArray *bytes = full_page();

	if (bytes->len != PAGE)
		abort();
	full_pages = g_malloc(ALL * PAGE);
	for (uint32_t i = 0; i < ALL; i++)
		memcpy(full_pages + i * PAGE, bytes->data, PAGE);
	g_byte_array_unref(bytes);
	for (uint32_t i = 0; i < G_N_ELEMENTS(regions); i++) {
		struct rs_region_config config = {.vcpus = 1,
						  .ring_bytes = PAGES * PAGE,
						  .ring_max = i / 2 * ROOM * PAGE,
						  .ring_mode = i % 2};

		if (rs_region_create(&config, &regions[i], NULL))
			abort();
	}
}

static void begin(const struct head *head)
{
	if (!region)
		open_regions();
	region = regions[(head->flags & DROP ? RS_MODE_DROP : RS_MODE_OVERWRITE) +
			 (head->flags & TWO_PLACES ? 2 : 0)];
	n_pages = region->header.ring_room ? ALL : PAGES;
	region->writable = !(head->flags & READ_ONLY);
	state = (struct rs_ring_state *)rs_trace_region_section(region, RS_SEC_RING_STATE, NULL);
	pages = rs_trace_region_section(region, RS_SEC_RINGS, NULL);
	memset(state, 0, sizeof(*state));
	memcpy(pages, full_pages, n_pages * PAGE);
	ctl = (struct rs_ring_ctl *)rs_trace_region_section(region, RS_SEC_RING_CTL, NULL);
	memset(ctl, 0, sizeof(*ctl));
	meanwhile.looks = 0;
}

/* ---- the guest ---- */

static void enter(const struct step *step)
{
	uint64_t seq = step->value;
	uint32_t units = step->how & FULL ? UNITS : step->at % (UNITS + 1);
	/* Where the ring says that it is, if that is possible. */
	uint32_t log = rs_shape_log(state->shape);
	uint64_t change = rs_shape_change(state->shape);
	bool later = n_pages > PAGES && change && log >= 2 && log <= 3;
	uint32_t count = later ? 1u << log : PAGES;
	uint64_t begin = later ? rs_place_begin(state->place[change & 1]) : 0;
	uint64_t at = (later ? PAGES + (change & 1) * ROOM : 0) + seq % count;
	struct rs_ring_page *page = (struct rs_ring_page *)(void *)(pages + at * PAGE);
	uint32_t remote = step->how & REMOTE ? RS_RING_UNIT : 0;

	page->seq = step->how & TORN ? seq + PAGES : seq;
	page->skipped = step->how & SKIPPED ? 1 : 0;
	page->records = seq * 10;
	page->dropped = state->dropped;
	page->header_size = RS_RING_PAGE_HEADER;
	page->committed = (uint32_t)((seq - begin) / count * PAGE) + units * RS_RING_UNIT - remote;
	page->committed_remote = step->how & LATE ? 0 : remote;
	state->pages = seq + 1;
	state->records = seq * 10;
	state->word = (seq * 10 + 10) << RS_WORD_RECORDS_SHIFT |
		      (seq & RS_WORD_PAGE_MASK) << RS_WORD_PAGE_SHIFT | units;
}

/* Stands between the reader and the function: see meson.build. */
void __real_rs_trace_ring_locate(const RsTraceRingPlace *place, RsTraceRingPosition *out);
void __wrap_rs_trace_ring_locate(const RsTraceRingPlace *place, RsTraceRingPosition *out);

void __wrap_rs_trace_ring_locate(const RsTraceRingPlace *place, RsTraceRingPosition *out)
{
	__real_rs_trace_ring_locate(place, out);
	if (meanwhile.looks && !--meanwhile.looks)
		enter(&meanwhile.step);
}

/* ---- the reader ---- */

static void check_chunk(const RsTraceChunk *chunk)
{
	RsTracePageWalk walk;
	RsTracePageItem item;
	gboolean bad;
	guint records = 0;

	if (chunk->from < RS_RING_PAGE_HEADER || chunk->from > chunk->to || chunk->to > PAGE)
		abort();
	rs_trace_page_begin(&walk, chunk->page);
	walk.at = chunk->from;
	while ((item = rs_trace_page_next(&walk, chunk->page, chunk->to)) >= RS_TRACE_PAGE_MARK) {
		if (walk.at > chunk->to)
			abort();
		records += item == RS_TRACE_PAGE_RECORD;
	}
	if (records != rs_trace_page_count(chunk->page, chunk->from, chunk->to, &bad) ||
	    bad != (item == RS_TRACE_PAGE_BAD))
		abort();
}

static RsTraceRing *start(const struct head *head)
{
	const RsTraceRingConfig config = {.ring = (head->flags & NO_RING) != 0,
					  .from = head->from % 3,
					  .patience_ns = head->from & 128 ? 0 : 100,
					  .whole = head->flags & WHOLE,
					  .consumer = head->flags & CONSUMER};
	bool good = !config.ring && !(config.consumer && !region->writable);
	GError *error = NULL;
	RsTraceRing *reader = rs_trace_ring_new(region, &config, &error);

	if (good != (reader != NULL) || !reader != (error != NULL))
		abort();
	g_clear_error(&error);
	return reader;
}

static void read_some(RsTraceRing *reader, unsigned int calls, uint64_t *now)
{
	RsTraceChunk chunk;

	for (; calls; calls--) {
		*now += 60;
		if (rs_trace_ring_next(reader, *now, &chunk) != RS_TRACE_RING_DATA)
			break;
		check_chunk(&chunk);
	}
}

static void change(const struct step *step)
{
	RsTraceRingChange change;
	guint wanted = 1u << step->at % 8;

	wanted = CLAMP(wanted, RS_RING_PAGES_MIN, ROOM);
	rs_trace_ring_change(region, step->at & 8 ? 0 : wanted, step->how & 1, &change);
	if (change.changed + change.offered + change.held > 1 ||
	    (change.returned && !region->header.ring_room))
		abort();
}

static void play(RsTraceRing *reader, const struct step *step, uint64_t *now)
{
	switch (step->what % OPS) {
	case STATE:
		rs_fuzz_change((uint8_t *)state + step->at % (sizeof(*state) - 7), step->how,
			       step->value);
		break;
	case RECORDS:
		rs_fuzz_change(pages + (step->at + step->value / 4096) % (n_pages * PAGE - 7),
			       step->how, step->value);
		break;
	case ENTER:
		enter(step);
		break;
	case MEANWHILE:
		meanwhile.step = *step;
		meanwhile.looks = 1 + step->how / 32;
		break;
	case READ:
		read_some(reader, 1 + step->how % 8, now);
		break;
	case ARM:
		rs_trace_ring_arm(reader, step->at);
		break;
	case FINISH:
		rs_trace_ring_set_whole(reader, FALSE);
		break;
	case PLACE:
		state->place[step->how % 2] = RS_PLACE(step->at, step->value);
		state->shape = step->at;
		break;
	case GONE:
		ctl->gone = step->value;
		break;
	case CHANGE:
		if (region->writable)
			change(step);
		break;
	}
}

static void finish(RsTraceRing *reader, uint64_t *now)
{
	RsTraceRingStats stats;
	RsTraceRingInfo info;

	rs_trace_ring_set_whole(reader, FALSE);
	read_some(reader, 1, now);
	for (guint ring = 0; ring < 2; ring++) {
		rs_trace_ring_info(region, ring, &info);
		if (info.entries > info.records || info.overrun > info.records)
			abort();
	}
	rs_trace_ring_pending_loss(reader);
	rs_trace_ring_stats(reader, &stats);
	rs_trace_ring_free(reader);
}

/* Steps before the first READ come before the reader, too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	RsTraceRing *reader = NULL;
	struct head head;
	struct step step;
	uint64_t now = 0;

	rs_fuzz_take(&in, &head, sizeof(head));
	begin(&head);
	for (int i = 0; i < STEPS && rs_fuzz_take(&in, &step, sizeof(step)); i++) {
		if (!reader && step.what % OPS > MEANWHILE && step.what % OPS < PLACE) {
			reader = start(&head);
			if (!reader)
				return 0;
		}
		play(reader, &step, &now);
	}
	if (!reader)
		reader = start(&head);
	if (reader)
		finish(reader, &now);
	return 0;
}

static void rs_fuzz_seeds(void)
{
	static const struct __attribute__((packed)) {
		struct head head;
		struct step step[10];
	} seeds[] = {
		/* The ring goes to its other place, and to the first one again. */
		{.head = {0, TWO_PLACES},
		 .step = {{PLACE, 0, 2, 0},
			  {ENTER, FULL, 0, 1},
			  {CHANGE, 1, 3, 0},
			  {PLACE, 1, 1 << 5 | 3, 2},
			  {ENTER, FULL, 0, 2},
			  {READ, 7},
			  {CHANGE, 1, 2, 0},
			  {PLACE, 0, 2 << 5 | 2, 3},
			  {ENTER, FULL, 0, 3},
			  {READ, 7}}},
		{.head = {1, TWO_PLACES | DROP | CONSUMER},
		 .step = {{PLACE, 0, 2, 0},
			  {ENTER, FULL, 0, 1},
			  {READ, 7},
			  {PLACE, 1, 1 << 5 | 3, 2},
			  {ENTER, FULL, 0, 2},
			  {READ, 7},
			  {CHANGE, 0, 2, 0},
			  {GONE, 0, 0, 3},
			  {READ, 7},
			  {CHANGE, 0, 8, 0}}},
		/* Page by page, each to its end. */
		{.head = {0},
		 .step = {{ENTER, 0, 40, 0},
			  {READ},
			  {ENTER, FULL, 0, 0},
			  {READ},
			  {ENTER, FULL, 0, 1},
			  {READ, 7},
			  {ARM, 0, 8192},
			  {ENTER, REMOTE, 40, 2},
			  {READ, 1},
			  {ENTER, FULL, 0, 9}}},
		/* From now on, in the middle of a page. */
		{.head = {2},
		 .step = {{ENTER, 0, 40, 0},
			  {READ},
			  {ENTER, 0, 60, 0},
			  {READ},
			  {ENTER, FULL, 0, 0},
			  {ENTER, FULL, 0, 1},
			  {READ, 7}}},
		/* A consumer. */
		{.head = {1, DROP | CONSUMER},
		 .step = {{ENTER, FULL, 0, 0},
			  {ENTER, FULL, 0, 1},
			  {READ, 7},
			  {STATE, 6, offsetof(struct rs_ring_state, dropped), 7},
			  {ENTER, FULL, 0, 2},
			  {READ, 7},
			  {ENTER, 0, 10, 0},
			  {READ, 7},
			  {ENTER, 0, 9, 300},
			  {READ, 7}}},
		{.head = {1, WHOLE},
		 .step = {{ENTER, 0, 40, 0}, {READ}, {ENTER, FULL, 0, 0}, {READ}, {FINISH}}},
		/* Pages that are late, torn, skipped. */
		{.head = {0},
		 .step = {{ENTER, REMOTE | LATE, 40, 0},
			  {READ},
			  {READ, 7},
			  {ENTER, FULL, 0, 1},
			  {READ, 7},
			  {ENTER, REMOTE | LATE, 40, 2},
			  {ENTER, SKIPPED | FULL, 0, 3},
			  {READ, 7},
			  {ENTER, TORN | FULL, 0, 4},
			  {READ, 7}}},
		{.head = {0},
		 .step = {{ENTER, TORN | FULL, 0, 0}, {ENTER, TORN, 40, 1}, {READ, 7}, {READ, 7}}},
		/* The producer is faster. */
		{.head = {1},
		 .step = {{ENTER, FULL, 0, 0},
			  {READ, 7},
			  {ENTER, 0, 40, 1},
			  {MEANWHILE, 0, 40, 8},
			  {READ, 7},
			  {MEANWHILE, 1 << 5, 40, 20},
			  {READ, 7},
			  {MEANWHILE, 2 << 5, 40, 30},
			  {READ, 7},
			  {MEANWHILE, 3 << 5, 40, 40}}},
		/* Refused. */
		{.head = {0, NO_RING}, .step = {{READ}}},
		{.head = {0, CONSUMER | READ_ONLY}, .step = {{READ}}},
		{.head = {0, READ_ONLY}, .step = {{ENTER, 0, 40, 0}, {ARM}}},
	};
	char name[16];

	for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
		snprintf(name, sizeof(name), "seed%zu", i);
		rs_fuzz_seed(name, &seeds[i], sizeof(seeds[i]));
	}
}
