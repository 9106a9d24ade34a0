/* SPDX-License-Identifier: MIT */
/*
 * What a reader makes of a bridge's region: records with parts of pages, and what the decoder
 * answers. No decoder runs: the answer is the page itself, which the input says
 * (rs-trace-expander.c). Input: steps, each a byte that says what comes, and its bytes.
 */
#include "input.h"
#include "rs-trace-bridged.h"
#include "rs-trace-feed.h"
#include "rs-trace-follower.h"
#include "seed.h"
#include "../unit/decode/build.h"

#include <ringside/bridge.h>
#include <ringside/ftrace_page.h>
#include <stdlib.h>

#define RINGS 2u
#define STEPS_MAX 64u
#define PART_MAX 512u
#define PAGE_ID 64u
#define SWEPT_ID 65u

enum { PART, NEXT_PART, SWEPT, GARBAGE, BOOT, ROUND, END_STEPS };

/* The region's pages, as the input says. */
struct pages {
	RsTraceSource source;
	GByteArray *ready[RINGS]; /* the page that is handed out next, or NULL */
	GByteArray *last[RINGS];
	guint64 seq[RINGS], ts;
	gboolean told;
};

static struct {
	uint8_t map[4096];
	RsTraceRegion region;
} home;

static struct rs_guest_info *info(void)
{
	return (void *)home.map;
}

/* ---- the region's source ---- */

static void describe(GByteArray *out, guint id, const char *name, guint size)
{
	struct rs_event_desc head = {.id = (uint16_t)id,
				     .entry_size = (uint16_t)size,
				     .header_size = sizeof(head),
				     .field_stride = sizeof(struct rs_field_desc),
				     .symbol_stride = sizeof(struct rs_symbol)};
	char strings[32] = RS_BRIDGE_SYSTEM;

	head.system = sizeof(head);
	head.name = head.system + sizeof(RS_BRIDGE_SYSTEM);
	g_strlcpy(strings + sizeof(RS_BRIDGE_SYSTEM), name, 16);
	head.size = sizeof(head) + sizeof(strings);
	g_byte_array_append(out, (const guint8 *)&head, sizeof(head));
	g_byte_array_append(out, (const guint8 *)strings, sizeof(strings));
}

static void tell(RsTraceFeed *feed)
{
	struct rs_provider entry = {.sequence = 2,
				    .state = RS_PROVIDER_LIVE,
				    .first_boot = 1,
				    .last_boot = G_MAXUINT32,
				    .first_id = PAGE_ID,
				    .event_count = 2,
				    .name = RS_BRIDGE_SYSTEM};
	g_autoptr(GByteArray) descs = g_byte_array_new();

	describe(descs, PAGE_ID, RS_BRIDGE_PAGE, sizeof(struct rs_bridge_page));
	describe(descs, SWEPT_ID, RS_BRIDGE_SWEPT, sizeof(struct rs_bridge_swept));
	entry.desc_size = descs->len;
	rs_trace_feed_tell_provider(feed, 0, &entry, descs->data, descs->len);
	/* One of the kernel's, whose descriptors the decoder makes. */
	entry.first_id += 2;
	entry.event_count = 1;
	entry.desc_offset = descs->len;
	g_strlcpy(entry.name, "sched", sizeof(entry.name));
	rs_trace_feed_tell_provider(feed, 1, &entry, descs->data, descs->len);
}

static void begin_round(RsTraceSource *source, RsTraceFeed *feed)
{
	struct pages *pages = (struct pages *)source;

	if (!pages->told)
		tell(feed);
	pages->told = TRUE;
}

static void nothing(RsTraceSource *source, RsTraceFeed *feed)
{
}

static RsTraceRingStatus next(RsTraceSource *source, guint ring, guint64 now_ns, RsTraceChunk *out)
{
	struct pages *pages = (struct pages *)source;

	g_clear_pointer(&pages->last[ring], g_byte_array_unref);
	if (!pages->ready[ring])
		return RS_TRACE_RING_IDLE;
	pages->last[ring] = g_steal_pointer(&pages->ready[ring]);
	*out = (RsTraceChunk){.ring = ring,
			      .from = RS_RING_PAGE_HEADER,
			      .to = pages->last[ring]->len,
			      .page = pages->last[ring]->data};
	return RS_TRACE_RING_DATA;
}

static void set_whole(RsTraceSource *source, guint ring, gboolean whole)
{
}

static void written(RsTraceSource *source, guint ring, RsTraceRingMark *out)
{
	*out = (RsTraceRingMark){.seq = -1};
}

static guint64 none(RsTraceSource *source, guint ring)
{
	return 0;
}

static gboolean arm(RsTraceSource *source)
{
	return FALSE;
}

static void free_pages(RsTraceSource *source)
{
	struct pages *pages = (struct pages *)source;

	for (guint i = 0; i < RINGS; i++) {
		g_clear_pointer(&pages->ready[i], g_byte_array_unref);
		g_clear_pointer(&pages->last[i], g_byte_array_unref);
	}
	g_free(pages);
}

static struct pages *make_pages(void)
{
	static const RsTraceSourceOps ops = {.begin_round = begin_round,
					     .changes = nothing,
					     .names = nothing,
					     .next = next,
					     .set_whole = set_whole,
					     .written = written,
					     .records = none,
					     .pending_loss = none,
					     .arm = arm,
					     .free = free_pages};
	struct pages *pages = g_new0(struct pages, 1);

	pages->source = (RsTraceSource){
		.ops = &ops, .n_rings = RINGS, .ring_pages = 4, .page_size = RS_RING_PAGE_MIN};
	pages->ts = 1000;
	return pages;
}

/* ---- steps ---- */

static TestPage *begin_page(struct pages *pages, guint ring)
{
	if (pages->ready[ring])
		return NULL;
	pages->ts += 10;
	return test_page_new(ring, pages->seq[ring]++, pages->ts, 7, 0);
}

static void put_page(struct pages *pages, guint ring, TestPage *page)
{
	pages->ready[ring] = test_page_end(page);
}

/* An exact copy, so that a read beyond it is seen. */
static void walk(const uint8_t *bytes, guint size)
{
	g_autofree uint8_t *copy = g_memdup2(bytes, MAX(size, 1));
	struct rs_ftrace_record record;
	struct rs_ftrace_walk at;

	if (!rs_ftrace_begin(&at, copy, size))
		return;
	while (rs_ftrace_next(&at, &record)) {
		if (record.data < copy || record.data + record.data_size > copy + size)
			abort();
		if (record.ts & 1)
			rs_ftrace_drop(copy, &record);
	}
}

/* `fit`: the part goes on where the last one ended. */
static void put_part(struct pages *pages, guint ring, struct rs_fuzz_input *in, bool fit)
{
	static struct rs_bridge_page head;
	uint8_t payload[sizeof(head) + PART_MAX];
	uint16_t size;
	TestPage *page = begin_page(pages, ring);

	if (!page)
		return;
	if (fit) {
		head.offset += head.data >> 16;
	} else {
		rs_fuzz_take(in, &head, sizeof(head));
		head.offset = 0;
		head.total %= 2 * PART_MAX;
	}
	rs_fuzz_take(in, &size, sizeof(size));
	size = MIN(size % PART_MAX, head.total > head.offset ? head.total - head.offset : 7);
	head.data = (uint32_t)size << 16 | sizeof(head);
	memcpy(payload, &head, sizeof(head));
	rs_fuzz_take(in, payload + sizeof(head), size);
	walk(payload + sizeof(head), size);
	test_page_record(page, PAGE_ID, pages->ts, payload, sizeof(head) + size);
	put_page(pages, ring, page);
}

static void put_swept(struct pages *pages)
{
	TestPage *page = begin_page(pages, 0);

	if (!page)
		return;
	test_page_record(page, SWEPT_ID, pages->ts, &pages->ts, sizeof(pages->ts));
	put_page(pages, 0, page);
}

static void put_garbage(struct pages *pages, guint ring, struct rs_fuzz_input *in)
{
	uint8_t payload[64];
	TestPage *page = begin_page(pages, ring);
	uint8_t id;

	if (!page)
		return;
	id = rs_fuzz_u8(in);
	rs_fuzz_take(in, payload, sizeof(payload));
	test_page_record(page, id % 2 ? PAGE_ID : id, pages->ts, payload, sizeof(payload));
	put_page(pages, ring, page);
}

struct reader {
	RsTraceSink *follower;
	RsTraceFeed *feed;
	guint64 now;
};

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	if (record->ring >= RINGS || (record->size && !record->payload))
		abort();
}

static void read_round(struct reader *reader)
{
	reader->now += 1000000000;
	reader->follower->ops->begin_round(reader->follower);
	rs_trace_feed_read(reader->feed, reader->now);
	reader->follower->ops->end_round(reader->follower, reader->now);
}

static void step(struct reader *reader, struct pages *pages, uint8_t what, struct rs_fuzz_input *in)
{
	const guint ring = what >> 7;

	switch (what % END_STEPS) {
	case PART:
	case NEXT_PART:
		put_part(pages, ring, in, what % END_STEPS == NEXT_PART);
		break;
	case SWEPT:
		put_swept(pages);
		break;
	case GARBAGE:
		put_garbage(pages, ring, in);
		break;
	case BOOT:
		info()->boot = 1 + rs_fuzz_u8(in) % 3;
		info()->flags ^= what & 64 ? RS_GUEST_BRIDGE : 0;
		break;
	}
	read_round(reader);
}

static void set_up_home(void)
{
	struct rs_region_header *h = &home.region.header;

	home.region.map = home.map;
	home.region.size = sizeof(home.map);
	h->ring_count = RINGS;
	h->section[RS_SEC_GUEST_INFO] = (struct rs_section){
		.offset = 0, .size = 4096, .stride = sizeof(struct rs_guest_info), .count = 1};
	*info() = (struct rs_guest_info){.magic = RS_GUEST_MAGIC,
					 .abi_major = RS_ABI_MAJOR,
					 .boot = 1,
					 .flags = RS_GUEST_BRIDGE};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	const RsTraceFollowerConfig config = {.record = on_record};
	struct pages *pages = make_pages();
	struct reader reader = {.follower = rs_trace_follower_new(&config)};
	RsTraceFrom from = rs_fuzz_u8(&in) % 3;

	set_up_home();
	reader.feed =
		rs_trace_feed_new(rs_trace_bridged_new(&pages->source, &home.region, from, TRUE),
				  reader.follower, 0, NULL);
	for (guint i = 0; i < STEPS_MAX && in.left; i++)
		step(&reader, pages, rs_fuzz_u8(&in), &in);
	read_round(&reader);
	rs_trace_feed_finish(reader.feed);
	reader.follower->ops->end(reader.follower);
	rs_trace_feed_free(reader.feed);
	reader.follower->ops->free(reader.follower);
	return 0;
}

/* ---- seeds ---- */

static void put(GByteArray *out, gconstpointer bytes, guint size)
{
	g_byte_array_append(out, bytes, size);
}

static void put_byte(GByteArray *out, guint8 byte)
{
	put(out, &byte, 1);
}

/* A page of ours as the answer, in two parts, and the end of a sweep. */
static void rs_fuzz_seeds(void)
{
	g_autoptr(GByteArray) out = g_byte_array_new(), answer = NULL, bytes = g_byte_array_new();
	TestPage *page = test_page_new(0, 0, 900, 7, 0);
	struct rs_bridge_page head = {.first = 3, .count = 1};
	guint32 length;
	guint16 half;

	test_page_record(page, PAGE_ID + 2, 900, "payload", 8);
	answer = test_page_end(page);
	length = answer->len;
	put(bytes, &length, sizeof(length));
	put(bytes, answer->data, answer->len);
	head.total = bytes->len;
	half = (guint16)(bytes->len / 2);
	put_byte(out, 0);
	put_byte(out, PART);
	put(out, &head, sizeof(head));
	put(out, &half, sizeof(half));
	put(out, bytes->data, half);
	put_byte(out, NEXT_PART);
	half = (guint16)(bytes->len - half);
	put(out, &half, sizeof(half));
	put(out, bytes->data + bytes->len - half, half);
	put_byte(out, SWEPT);
	rs_fuzz_seed("answer", out->data, out->len);
}
