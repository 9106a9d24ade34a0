/* SPDX-License-Identifier: MIT */
/*
 * A valid region with an agent, providers, names, epochs and full rings. The input changes words of
 * it, and then an observer reads all of it, while the input changes more. Whatever it is changed
 * to, the sections of an accepted header lie inside the region, every call ends, and every line
 * that is printed is one.
 */
#define _GNU_SOURCE
#include "input.h"
#include "lines.h"
#include "region/regions.h"
#include "seed.h"
#include "../unit/decode/build.h"

#include <ringside/cmdline.h>
#include <ringside/hypercall.h>
#include <rs-trace-feed.h>
#include <rs-trace-follower.h>
#include <rs-trace-json.h>
#include <rs-trace-live.h>
#include <rs-trace-ring-info.h>
#include <rs-trace-ring-private.h>
#include <rs-trace-text.h>
#include <unistd.h>

#define PAGE 4096u
#define PAGES 4u
#define CPUS 2u
#define SLOTS 4u
#define BUCKETS 2u
#define EPOCHS 4u
#define ROUND_NS 200000000u
#define RECORDS_END (RS_RING_PAGE_HEADER + 24 * 32)

static const uint8_t sections[] = {
	RS_SEC_HEADER,   RS_SEC_CONTROL, RS_SEC_EVENT_CTL,  RS_SEC_FILTERS,   RS_SEC_RING_CTL,
	RS_SEC_RESPONSE, RS_SEC_CLOCK,   RS_SEC_GUEST_INFO, RS_SEC_PROVIDERS, RS_SEC_EVENTS,
	RS_SEC_CMDLINE,  RS_SEC_REQUEST, RS_SEC_RING_STATE, RS_SEC_RINGS,
};

enum {
	ENTER_PAGE = sizeof(sections), /* how: the ring, at: units, value: the page */
	READ,
	PROVIDER, /* how: see below, value: its generation */
	LATER,    /* the next step comes when the observer has looked `how` times more: see below */
	OPS
};

struct __attribute__((packed)) step {
	uint8_t what; /* index in sections[], or one of the above, modulo */
	uint8_t how;  /* see rs_fuzz_change() */
	uint16_t at;
	uint64_t value;
};

/* `how` of PROVIDER: a slot, one of the two providers, a state, an odd sequence. */
#define PROVIDER_HOW(slot, which, state, odd) ((slot) | (which) << 2 | (state) << 3 | (odd) << 7)
/* Of LATER: it looks at providers or rings. */
#define AT_RING 128u
#define LATER_MAX 4u

struct __attribute__((packed)) head {
	uint8_t mode, flags, from;
};

/* Bits of `flags`. */
#define OWNER 1u
#define WHOLE 2u
#define READ_ONLY 4u /* even if it is the owner */
#define TAKE 8u      /* the source frees the region */
#define NO_SINK 16u
#define BEYOND 32u /* no region is there */

/* Made once. Each run restores what it changed. */
static struct home {
	RsTraceRegion *region;
	uint8_t *clean;
} homes[2];

static struct home *home;
static size_t dirty[1024], n_dirty;

/* What the guest does while the observer looks. */
static struct {
	struct step step[LATER_MAX];
	unsigned int n;
} later;

/*
 * Instead of GLib's: nobody sleeps here, and time passes by sleeping. The observer waits for an
 * epoch, or an entry, that never comes.
 */
static gint64 now_us = G_USEC_PER_SEC;

void g_usleep(gulong us)
{
	now_us += (gint64)us;
}

gint64 g_get_monotonic_time(void)
{
	return now_us++;
}

/* ---- a valid region ---- */

static void *section_of(RsTraceRegion *region, guint number)
{
	return rs_trace_region_section(region, number, NULL);
}

/* Fewer elements, so that a run copies less. */
static void shrink(RsTraceRegion *region, guint number, uint32_t count)
{
	struct rs_section *section = &region->header.section[number];

	section->count = count;
	section->size = (uint64_t)count * section->stride;
}

static void fill_info(RsTraceRegion *region)
{
	struct rs_guest_info *info = section_of(region, RS_SEC_GUEST_INFO);

	*info = (struct rs_guest_info){
		.magic = RS_GUEST_MAGIC,
		.abi_major = RS_ABI_MAJOR,
		.arch = RS_ARCH_X86_64,
		.session_id = region->header.session_id,
		.boot = 1,
		.state = RS_GUEST_RUNNING,
		.cpu_count = CPUS,
		.tsc_hz = 1000000000,
		.provider_slots = 2,
		.provider_changes = 1,
		.cmdline_changes = 1,
		.boots[1] = {.boot = 1, .ts = 1},
		.name = "fuzz",
	};
}

static void fill_provider(RsTraceRegion *region, guint slot, uint64_t at, GByteArray *descs)
{
	struct rs_provider *entry = rs_trace_region_element(region, RS_SEC_PROVIDERS, slot);

	test_provider(entry, slot, descs);
	entry->desc_offset = at;
	memcpy((uint8_t *)section_of(region, RS_SEC_EVENTS) + at, descs->data, descs->len);
	g_byte_array_unref(descs);
}

static void fill_providers(RsTraceRegion *region)
{
	GByteArray *two = g_byte_array_new(), *one = g_byte_array_new();
	guint first;

	test_desc_switch(two);
	test_desc_all(two);
	test_desc_later(one);
	first = RS_ALIGN_UP(two->len, 64u);
	fill_provider(region, 0, 0, two);
	fill_provider(region, 1, first, one);
}

static void fill_clock(RsTraceRegion *region)
{
	struct rs_control *control = section_of(region, RS_SEC_CONTROL);
	struct rs_clock_epoch *epochs = section_of(region, RS_SEC_CLOCK);

	for (uint32_t i = 0; i < 3; i++)
		epochs[i] = (struct rs_clock_epoch){
			.index = i, .tsc_base = i * 500, .ns_base = i * 500, .mult = 1};
	control->epoch_count = 3;
}

/* Every page holds records up to its end: of each event, and each kind of mark. */
static void fill_pages(RsTraceRegion *region)
{
	GByteArray *all = test_payload_all(), *later = test_payload_later(), *bytes;

	for (uint32_t i = 0; i < CPUS * PAGES; i++) {
		TestPage *page = test_page_new(i / PAGES, i % PAGES, 1000, 7, RS_CTX_HARDIRQ);

		test_page_record(page, TEST_SWITCH, 1001, "\1\0\0\0\2\0\0\0", 8);
		test_page_record(page, TEST_ALL, 1002, all->data, all->len);
		test_page_context(page, 8, 0);
		test_page_mark(page, RS_REC_TGID, 8);
		test_page_record(page, TEST_ALL + 1, 1003, later->data, later->len);
		test_page_time(page, 2, 1u << 20);
		test_page_mark(page, RS_REC_STACK, 24);
		for (int k = 0; k < 8; k++)
			test_page_record(page, TEST_SWITCH, 1u << 20, "\1\0\0\0\2\0\0\0", 8);
		bytes = test_page_end(page);
		if (bytes->len > RECORDS_END || bytes->len > PAGE)
			abort();
		memcpy((uint8_t *)section_of(region, RS_SEC_RINGS) + i * PAGE, bytes->data,
		       bytes->len);
		g_byte_array_unref(bytes);
	}
	g_byte_array_unref(all);
	g_byte_array_unref(later);
}

/* The producer of a ring is on page `seq`, in which `units` are written. */
static void enter_page(RsTraceRegion *region, uint32_t ring, uint64_t seq, uint32_t units)
{
	struct rs_ring_state *state = (struct rs_ring_state *)section_of(region, RS_SEC_RING_STATE);
	uint8_t *pages = (uint8_t *)section_of(region, RS_SEC_RINGS) + ring * PAGES * PAGE;
	struct rs_ring_page *page = (struct rs_ring_page *)(void *)(pages + seq % PAGES * PAGE);

	page->seq = seq;
	page->records = seq * 10;
	page->committed = (uint32_t)(seq / PAGES * PAGE) + units * RS_RING_UNIT;
	state[ring].pages = seq + 1;
	state[ring].records = seq * 10;
	state[ring].word = (seq * 10 + 10) << RS_WORD_RECORDS_SHIFT |
			   (seq & RS_WORD_PAGE_MASK) << RS_WORD_PAGE_SHIFT | units;
}

static void make_home(struct home *made, uint32_t mode)
{
	struct rs_region_config config = {.vcpus = CPUS,
					  .ring_bytes = PAGES * PAGE,
					  .ring_mode = mode,
					  .event_capacity = 256,
					  .filter_bytes = 4096,
					  .desc_bytes = 4096,
					  .hcall_channel = RS_CHANNEL_MAILBOX,
					  .origin_ns = 1};
	RsTraceRegion *region;
	uint8_t *names;

	if (rs_region_create(&config, &region, NULL))
		abort();
	region->header.magic = RS_REGION_MAGIC;
	shrink(region, RS_SEC_PROVIDERS, SLOTS);
	shrink(region, RS_SEC_CMDLINE, BUCKETS);
	shrink(region, RS_SEC_CLOCK, EPOCHS);
	memcpy(region->map, &region->header, sizeof(region->header));
	fill_info(region);
	fill_providers(region);
	fill_clock(region);
	names = section_of(region, RS_SEC_CMDLINE);
	test_cmdline_put(names, BUCKETS, test_task(7, 1, "seven"));
	test_cmdline_put(names, BUCKETS, test_task(8, 1, "\x1b[2J"));
	fill_pages(region);
	enter_page(region, 0, 1, RECORDS_END / RS_RING_UNIT);
	enter_page(region, 1, 0, PAGE / RS_RING_UNIT);
	made->region = region;
	made->clean = g_memdup2(region->map, region->size);
}

/* ---- changes ---- */

static void make_dirty(const void *at, size_t bytes)
{
	size_t from = (size_t)((const uint8_t *)at - home->region->map);

	for (size_t page = from / 64; page <= (from + bytes - 1) / 64; page++) {
		if (n_dirty == G_N_ELEMENTS(dirty))
			abort();
		dirty[n_dirty++] = page;
	}
}

static void restore(void)
{
	RsTraceRegion *region = home->region;
	const struct rs_section *ctl = &region->header.section[RS_SEC_RING_CTL];

	for (; n_dirty; n_dirty--)
		memcpy(region->map + dirty[n_dirty - 1] * 64, home->clean + dirty[n_dirty - 1] * 64,
		       64);
	/* The observer itself writes only there. */
	memcpy(region->map + ctl->offset, home->clean + ctl->offset, ctl->size);
}

static void change_page(const struct step *step)
{
	RsTraceRegion *region = home->region;
	uint32_t ring = step->how % CPUS;
	uint8_t *at = (uint8_t *)section_of(region, RS_SEC_RINGS);

	at += (ring * PAGES + step->value % PAGES) * PAGE;
	make_dirty(rs_trace_region_element(region, RS_SEC_RING_STATE, ring),
		   sizeof(struct rs_ring_state));
	make_dirty(at, 64);
	enter_page(region, ring, step->value, step->at % (PAGE / RS_RING_UNIT + 1));
}

static void change_provider(const struct step *step)
{
	RsTraceRegion *region = home->region;
	struct rs_guest_info *info = section_of(region, RS_SEC_GUEST_INFO);
	struct rs_provider *entry =
		rs_trace_region_element(region, RS_SEC_PROVIDERS, step->how % SLOTS);
	const struct rs_section *section = &region->header.section[RS_SEC_PROVIDERS];
	uint32_t sequence = (entry->sequence & ~1u) + 2;

	make_dirty(entry, sizeof(*entry));
	make_dirty(info, sizeof(*info));
	memcpy(entry,
	       home->clean + section->offset + (size_t)(step->how >> 2 & 1) * section->stride,
	       sizeof(*entry));
	entry->sequence = sequence + (step->how >> 7);
	entry->state = step->how >> 3 & 3;
	entry->generation = (uint32_t)step->value;
	info->provider_slots = SLOTS;
	info->provider_changes++;
}

static void change(const struct step *step)
{
	RsTraceRegion *region = home->region;
	const struct rs_section *section;
	uint8_t what = step->what % OPS;
	uint8_t *at;

	if (n_dirty + 32 > G_N_ELEMENTS(dirty) || what == READ || what == LATER)
		return;
	if (what == ENTER_PAGE) {
		change_page(step);
	} else if (what == PROVIDER) {
		change_provider(step);
	} else {
		section = &region->header.section[sections[what]];
		at = region->map + section->offset + step->at % (section->size - 7);
		make_dirty(at, 8);
		rs_fuzz_change(at, step->how, step->value);
	}
}

/* ---- changes while the observer looks ---- */

/* A step of LATER keeps in `how` for how many looks it waits, and the step itself follows. */
static void change_later(const struct step *step, struct rs_fuzz_input *in)
{
	if (later.n + 2 > LATER_MAX)
		return;
	later.step[later.n++] = *step;
	rs_fuzz_take(in, &later.step[later.n++], sizeof(*step));
}

static void look(unsigned int at_ring)
{
	struct step *wait = &later.step[0], next = later.step[1];

	if (!later.n || (wait->how & AT_RING) != at_ring || wait->how-- & ~AT_RING)
		return;
	later.n -= 2;
	memmove(later.step, later.step + 2, later.n * sizeof(*later.step));
	change(&next);
}

/* They stand between the observer and the functions: see meson.build. */
gboolean __real_rs_trace_region_provider(const RsTraceRegion *region, guint slot,
					 struct rs_provider *out);
gboolean __wrap_rs_trace_region_provider(const RsTraceRegion *region, guint slot,
					 struct rs_provider *out);
void __real_rs_trace_ring_locate(const RsTraceRingPlace *place, RsTraceRingPosition *out);
void __wrap_rs_trace_ring_locate(const RsTraceRingPlace *place, RsTraceRingPosition *out);

gboolean __wrap_rs_trace_region_provider(const RsTraceRegion *region, guint slot,
					 struct rs_provider *out)
{
	gboolean good = __real_rs_trace_region_provider(region, slot, out);

	look(0);
	return good;
}

void __wrap_rs_trace_ring_locate(const RsTraceRingPlace *place, RsTraceRingPosition *out)
{
	__real_rs_trace_ring_locate(place, out);
	look(AT_RING);
}

/* ---- reading ---- */

struct reader {
	RsTraceRegion *region;
	bool taken; /* by the source */
	RsTraceSinkOps ops;
	RsTraceSink *follower;
	RsTraceFeed *feed;
	GString *line;
	guint64 now;
};

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	struct reader *reader = data;

	g_string_truncate(reader->line, 0);
	if (record->ns & 1)
		rs_trace_json_line(reader->line, record, task);
	else
		rs_trace_text_line(reader->line, record, task, 0);
	rs_fuzz_check_line(reader->line);
}

static void check_sections(const RsTraceRegion *region)
{
	const struct rs_region_header *h = &region->header;

	for (guint i = 0; i < RS_SEC_COUNT; i++) {
		const struct rs_section *s = &h->section[i];

		if (s->size && (s->offset > region->size || s->size > region->size - s->offset ||
				(uint64_t)s->count * s->stride > s->size))
			abort();
	}
	if ((uint64_t)h->ring_count * h->ring_pages * h->ring_page_size >
	    h->section[RS_SEC_RINGS].size)
		abort();
}

static void check_info(const RsTraceRegion *region)
{
	struct rs_guest_info info;
	GError *error = NULL;

	if (!rs_trace_region_guest_info(region, &info, &error)) {
		g_error_free(error);
		return;
	}
	if (strlen(info.name) >= sizeof(info.name) || strlen(info.agent) >= sizeof(info.agent) ||
	    info.cpu_count > region->header.ring_count ||
	    info.provider_slots > region->header.section[RS_SEC_PROVIDERS].count)
		abort();
}

/* The follower has no use for it: that is for sinks that write files. */
static void on_provider(RsTraceSink *sink, RsTraceFeed *feed, guint slot,
			const struct rs_provider *entry, const guint8 *descs, gsize size)
{
	if (size && !descs)
		abort();
}

static void read_round(struct reader *reader)
{
	RsTraceSink *sink = reader->follower;

	reader->now += ROUND_NS;
	sink->ops->begin_round(sink);
	rs_trace_feed_read(reader->feed, reader->now);
	rs_trace_feed_held(reader->feed);
	sink->ops->end_round(sink, reader->now);
	reader->feed->source->ops->arm(reader->feed->source);
}

static RsTraceSource *make_source(struct reader *reader, const struct head *head, GError **error)
{
	RsTraceLiveFlags flags = (head->flags & OWNER ? RS_TRACE_LIVE_OWNER : 0) |
				 (head->flags & WHOLE ? RS_TRACE_LIVE_WHOLE : 0);

	reader->taken = head->flags & TAKE;
	return reader->taken ? rs_trace_live_new_take(reader->region, head->from % 3, flags, error)
			     : rs_trace_live_new(reader->region, head->from % 3, flags, error);
}

static bool start(struct reader *reader, const struct head *head)
{
	const RsTraceFollowerConfig config = {.record = on_record, .data = reader};
	bool writable = head->flags & OWNER && !(head->flags & READ_ONLY);
	g_autoptr(GError) error = NULL;
	RsTraceSource *source;
	int fd = dup(home->region->fd);

	reader->region = rs_trace_region_open(
		fd, home->region->offset + (head->flags & BEYOND ? home->region->size : 0),
		writable, &error);
	if (!reader->region) {
		close(fd);
		return false;
	}
	check_sections(reader->region);
	check_info(reader->region);
	source = make_source(reader, head, &error);
	if (!source) {
		if (writable || !(head->flags & OWNER))
			abort();
		if (!reader->taken)
			rs_trace_region_free(reader->region);
		return false;
	}
	reader->line = g_string_new(NULL);
	reader->follower = rs_trace_follower_new(&config);
	reader->ops = *reader->follower->ops;
	reader->ops.provider = on_provider;
	reader->follower->ops = &reader->ops;
	reader->feed =
		rs_trace_feed_new(source, head->flags & NO_SINK ? NULL : reader->follower, 0, NULL);
	return true;
}

static void finish(struct reader *reader)
{
	RsTraceRingInfo info;

	for (guint ring = 0; ring < reader->feed->source->n_rings; ring++)
		rs_trace_feed_set_whole(reader->feed, ring, FALSE);
	read_round(reader);
	read_round(reader);
	rs_trace_feed_finish(reader->feed);
	reader->follower->ops->end(reader->follower);
	for (guint ring = 0; ring <= CPUS; ring++) {
		rs_trace_ring_info(reader->region, ring, &info);
		if (info.entries > info.records || info.overrun > info.records)
			abort();
	}
	rs_trace_follower_bad(reader->follower);
	rs_trace_feed_free(reader->feed);
	rs_trace_follower_bad(reader->follower);
	reader->follower->ops->free(reader->follower);
	g_string_free(reader->line, TRUE);
	if (!reader->taken)
		rs_trace_region_free(reader->region);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_fuzz_input in = {data, size};
	struct reader reader = {0};
	bool started = false;
	struct head head;
	struct step step;

	rs_fuzz_take(&in, &head, sizeof(head));
	home = &homes[head.mode % 2];
	if (!home->region)
		make_home(home, head.mode % 2 ? RS_MODE_DROP : RS_MODE_OVERWRITE);
	later.n = 0;
	for (guint rounds = 0; rounds < 8 && rs_fuzz_take(&in, &step, sizeof(step));) {
		if (step.what % OPS == LATER) {
			change_later(&step, &in);
			continue;
		}
		if (step.what % OPS != READ) {
			change(&step);
			continue;
		}
		rounds++;
		if (!started)
			started = start(&reader, &head);
		if (!started)
			break;
		read_round(&reader);
	}
	if (started || start(&reader, &head))
		finish(&reader);
	restore();
	return 0;
}

/* The place of a member of a section's entry in the header. */
#define SECTION(number, member)                                                                    \
	(offsetof(struct rs_region_header, section) + (number) * sizeof(struct rs_section) +       \
	 offsetof(struct rs_section, member))

static void rs_fuzz_seeds(void)
{
	const struct __attribute__((packed)) {
		struct head head;
		struct step step[22];
	} seeds[] = {
		{.head = {0, 0, 0}, .step = {{READ}, {ENTER_PAGE, 0, 104, 2}, {READ}}},
		{.head = {1, OWNER, 1},
		 .step = {{ENTER_PAGE, 0, 512, 4}, {READ}, {ENTER_PAGE, 0, 512, 5}, {READ}}},
		{.head = {0, WHOLE, 2},
		 .step = {{ENTER_PAGE, 1, 20, 0}, {READ}, {ENTER_PAGE, 1, 104, 9}, {READ}}},
		/* Another session id, a geometry, a section: words of the header. */
		{.head = {0, 0, 0}, .step = {{READ}, {0, 4, 40, 1}, {READ}}},
		{.head = {0, 0, 0}, .step = {{0, 2, 48, 1}, {READ}}},
		{.head = {0, 0, 0},
		 .step = {{0, 6, 128 + 35 * 24 + 20, -1u},
			  {0, 7, 128 + 37 * 24 + 8, 4096},
			  {READ}}},
		/* A provider leaves, and comes back to other bytes. */
		{.head = {0, 0, 0},
		 .step = {{READ},
			  {8, 6, offsetof(struct rs_provider, sequence), 2},
			  {8, 2, offsetof(struct rs_provider, state), RS_PROVIDER_DEAD},
			  {7, 6, offsetof(struct rs_guest_info, provider_changes), 1},
			  {ENTER_PAGE, 0, 104, 2},
			  {READ}}},
		{.head = {0, OWNER, 0},
		 .step = {{1, 6, offsetof(struct rs_control, clock_pending), 1},
			  {1, 6, offsetof(struct rs_control, epoch_count), 2},
			  {7, 6, offsetof(struct rs_guest_info, boots) + 16, 1},
			  {READ}}},
		/* An epoch that is announced and does not come. */
		{.head = {0},
		 .step = {{1, 6, offsetof(struct rs_control, clock_pending), 1},
			  {READ},
			  {ENTER_PAGE, 1, 512, 1},
			  {READ},
			  {ENTER_PAGE, 1, 512, 2},
			  {READ},
			  {ENTER_PAGE, 1, 512, 3},
			  {READ},
			  {ENTER_PAGE, 1, 512, 4},
			  {READ}}},
		/* Words of the header that contradict each other; sections that need not be. */
		{.head = {0},
		 .step = {{0, 2, offsetof(struct rs_region_header, ring_count), 0}, {READ}}},
		{.head = {0},
		 .step = {{0, 2, SECTION(RS_SEC_REQUEST, count), 1},
			  {0, 2, SECTION(RS_SEC_RESPONSE, count), 2},
			  {READ}}},
		{.head = {0},
		 .step = {{0, 2, SECTION(RS_SEC_CMDLINE, count), 3},
			  {0, 7, SECTION(RS_SEC_CMDLINE, size), 4096},
			  {READ}}},
		{.head = {0},
		 .step = {{0, 2, SECTION(RS_SEC_RINGS, stride), 2 * PAGE},
			  {0, 2, SECTION(RS_SEC_RINGS, count), 2},
			  {READ}}},
		{.head = {0},
		 .step = {{0, 3, SECTION(RS_SEC_CMDLINE, size), 0},
			  {0, 2, SECTION(RS_SEC_CMDLINE, count), 0},
			  {0, 3, SECTION(RS_SEC_CLOCK, size), 0},
			  {READ}}},
		{.head = {0},
		 .step = {{7, 3, offsetof(struct rs_guest_info, features), RS_FEATURES_REQUIRED},
			  {READ}}},
		{.head = {0},
		 .step = {{7, 1, offsetof(struct rs_guest_info, abi_major), RS_ABI_MAJOR + 1},
			  {READ}}},
		{.head = {0, BEYOND}, .step = {{READ}}},
		{.head = {1, OWNER | READ_ONLY}, .step = {{READ}}},
		{.head = {1, OWNER | READ_ONLY | TAKE}, .step = {{READ}}},
		{.head = {0, NO_SINK | TAKE}, .step = {{READ}, {ENTER_PAGE, 1, 512, 1}, {READ}}},
		/* Others take a slot, or its bytes, before the observer looks, or in between. */
		{.head = {0},
		 .step = {{READ},
			  {PROVIDER, PROVIDER_HOW(0, 1, RS_PROVIDER_LIVE, 0), 0, 7},
			  {PROVIDER, PROVIDER_HOW(1, 0, RS_PROVIDER_LIVE, 0), 0, 8},
			  {ENTER_PAGE, 1, 512, 1},
			  {READ}}},
		{.head = {0},
		 .step = {{READ},
			  {PROVIDER, PROVIDER_HOW(2, 0, RS_PROVIDER_LIVE, 0), 0, 7},
			  {LATER, 5},
			  {PROVIDER, PROVIDER_HOW(0, 0, RS_PROVIDER_FREE, 0), 0, 1},
			  {ENTER_PAGE, 1, 512, 1},
			  {READ}}},
		{.head = {0},
		 .step = {{READ},
			  {PROVIDER, PROVIDER_HOW(2, 0, RS_PROVIDER_LIVE, 0), 0, 7},
			  {LATER, 6},
			  {PROVIDER, PROVIDER_HOW(0, 0, RS_PROVIDER_LIVE, 1), 0, 1},
			  {ENTER_PAGE, 1, 512, 1},
			  {READ},
			  {ENTER_PAGE, 1, 512, 2},
			  {READ}}},
		/* Many come and go. */
		{.head = {0}, .step = {{READ},
				       {PROVIDER, PROVIDER_HOW(0, 0, RS_PROVIDER_FREE, 0), 0, 7},
				       {ENTER_PAGE, 1, 512, 1},
				       {READ},
				       {PROVIDER, PROVIDER_HOW(0, 0, RS_PROVIDER_LIVE, 0), 0, 8},
				       {ENTER_PAGE, 1, 512, 2},
				       {READ},
				       {PROVIDER, PROVIDER_HOW(0, 0, RS_PROVIDER_FREE, 0), 0, 9},
				       {ENTER_PAGE, 1, 512, 3},
				       {READ},
				       {PROVIDER, PROVIDER_HOW(0, 0, RS_PROVIDER_LIVE, 0), 0, 10},
				       {ENTER_PAGE, 1, 512, 4},
				       {READ},
				       {PROVIDER, PROVIDER_HOW(0, 0, RS_PROVIDER_FREE, 0), 0, 11},
				       {ENTER_PAGE, 1, 512, 5},
				       {READ},
				       {PROVIDER, PROVIDER_HOW(0, 0, RS_PROVIDER_LIVE, 0), 0, 12},
				       {ENTER_PAGE, 1, 512, 6},
				       {READ},
				       {PROVIDER, PROVIDER_HOW(0, 0, RS_PROVIDER_FREE, 0), 0, 13},
				       {ENTER_PAGE, 1, 512, 7},
				       {READ}}},
		/* The region is laid out anew in between. */
		{.head = {0},
		 .step = {{READ},
			  {PROVIDER, PROVIDER_HOW(2, 0, RS_PROVIDER_LIVE, 0), 0, 7},
			  {LATER, 5},
			  {PROVIDER, PROVIDER_HOW(0, 0, RS_PROVIDER_FREE, 0), 0, 1},
			  {LATER, 0},
			  {0, 7, offsetof(struct rs_region_header, session_id), 1},
			  {ENTER_PAGE, 1, 512, 1},
			  {READ}}},
		{.head = {0},
		 .step = {{READ},
			  {PROVIDER, PROVIDER_HOW(3, 0, RS_PROVIDER_LIVE, 0), 0, 7},
			  {PROVIDER, PROVIDER_HOW(0, 0, RS_PROVIDER_FREE, 0), 0, 1},
			  {LATER, 7},
			  {PROVIDER, PROVIDER_HOW(3, 0, RS_PROVIDER_LIVE, 0), 0, 8},
			  {ENTER_PAGE, 1, 512, 1},
			  {READ}}},
		/* The producer is faster than the observer. */
		{.head = {0},
		 .step = {{READ},
			  {LATER, AT_RING | 2},
			  {ENTER_PAGE, 1, 104, 30},
			  {READ},
			  {LATER, AT_RING | 0},
			  {ENTER_PAGE, 1, 104, 60},
			  {READ},
			  {ENTER_PAGE, 1, 104, 20},
			  {READ}}},
	};
	const struct step none = {0};
	char name[16];
	size_t n;

	for (size_t i = 0; i < G_N_ELEMENTS(seeds); i++) {
		snprintf(name, sizeof(name), "seed%zu", i);
		for (n = G_N_ELEMENTS(seeds[i].step); n; n--)
			if (memcmp(&seeds[i].step[n - 1], &none, sizeof(none)))
				break;
		rs_fuzz_seed(name, &seeds[i], sizeof(struct head) + n * sizeof(struct step));
	}
}
