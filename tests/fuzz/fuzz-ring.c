/* SPDX-License-Identifier: MIT */
/*
 * The ring reader on arbitrary guest memory, which changes meanwhile. The first byte is a config.
 * Then each round overwrites some memory and reads. Every call ends, every chunk lies inside its
 * page, and so does all that a walk finds in it. (fuzz-region.c has the region's header.)
 */
#include "region/regions.h"
#include "seed.h"

#include <ringside/record.h>
#include <rs-trace-page.h>
#include <rs-trace-ring-info.h>
#include <rs-trace-ring.h>
#include <string.h>

#define PAGES 4u
#define PAGE 4096u

static RsTraceRegion *region;

/* All runs share one region. Each run sets the part that the guest may write. */
static void open_region(void)
{
	struct rs_region_config config = {.vcpus = 1, .ring_bytes = PAGES * PAGE};
	struct rs_error err;

	if (!region && rs_region_create(&config, &region, &err))
		abort();
}

static void check_chunk(const RsTraceChunk *chunk)
{
	RsTracePageWalk walk;
	RsTracePageItem item;
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
	if (records != rs_trace_page_count(chunk->page, chunk->from, chunk->to, NULL))
		abort();
}

/* Overwrites state or pages. Input: two bytes of place, two of length, then the bytes. */
static size_t scribble(const uint8_t *data, size_t size)
{
	uint8_t *state = rs_trace_region_section(region, RS_SEC_RING_STATE, NULL);
	uint8_t *pages = rs_trace_region_section(region, RS_SEC_RINGS, NULL);
	uint32_t at, length;
	uint16_t head[2];

	if (size < sizeof(head))
		return size;
	memcpy(head, data, sizeof(head));
	length = head[1] % 256;
	if (length > size - sizeof(head))
		length = (uint32_t)(size - sizeof(head));
	at = head[0] % (PAGES * PAGE);
	if (head[1] & 0x8000)
		memcpy(state + at % sizeof(struct rs_ring_state) / 8 * 8, data + sizeof(head),
		       length > 8 ? 8 : length);
	else
		memcpy(pages + at, data + sizeof(head),
		       length > PAGES * PAGE - at ? PAGES * PAGE - at : length);
	return sizeof(head) + length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	RsTraceRingConfig config = {.patience_ns = 100};
	RsTraceRing *reader;
	RsTraceRingInfo info;
	RsTraceChunk chunk;
	uint64_t now = 0;

	open_region();
	if (size < 1)
		return 0;
	memset(rs_trace_region_section(region, RS_SEC_RING_STATE, NULL), 0, RS_PAGE_SIZE);
	memset(rs_trace_region_section(region, RS_SEC_RINGS, NULL), 0, PAGES * PAGE);
	config.from = data[0] % 3;
	config.whole = data[0] & 4;
	reader = rs_trace_ring_new(region, &config, NULL);
	if (!reader)
		abort();
	for (size_t at = 1; at < size;) {
		at += scribble(data + at, size - at);
		for (int calls = 0; calls < 6; calls++) {
			now += 60;
			if (rs_trace_ring_next(reader, now, &chunk) != RS_TRACE_RING_DATA)
				break;
			check_chunk(&chunk);
		}
	}
	rs_trace_ring_finish(reader);
	if (rs_trace_ring_next(reader, now, &chunk) == RS_TRACE_RING_DATA)
		check_chunk(&chunk);
	rs_trace_ring_info(region, 0, &info);
	if (info.entries > info.records || info.overrun > info.records)
		abort();
	rs_trace_ring_pending_loss(reader);
	rs_trace_ring_free(reader);
	return 0;
}

/* A page with two records and a word that says so, as scribbles. */
static void rs_fuzz_seeds(void)
{
	struct __attribute__((packed)) {
		uint8_t from;
		uint16_t page_at, page_length;
		struct rs_ring_page page;
		struct rs_rec_header record[2];
		uint16_t word_at, word_flags;
		uint64_t word;
		uint16_t pages_at, pages_flags;
		uint64_t pages;
	} seed = {
		.page_length = sizeof(struct rs_ring_page) + 16,
		.page = {.ts = 1000,
			 .committed = RS_RING_PAGE_HEADER + 16,
			 .boot = 1,
			 .header_size = RS_RING_PAGE_HEADER},
		.record = {{.id = RS_FIRST_EVENT_ID, .size = 8, .ts = 1000},
			   {.id = RS_FIRST_EVENT_ID + 1, .size = 8, .ts = 1001}},
		.word_flags = 0x8008,
		.word = 2ull << RS_WORD_RECORDS_SHIFT | (RS_RING_PAGE_HEADER + 16) / 8,
		.pages_at = offsetof(struct rs_ring_state, pages),
		.pages_flags = 0x8008,
		.pages = 1,
	};

	rs_fuzz_seed("two-records", &seed, sizeof(seed));
}
