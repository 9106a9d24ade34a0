/* SPDX-License-Identifier: MIT */
/*
 * A live source between the host and a reader: what it tells of the region's tables, and when. It
 * waits for an epoch that the host has announced. The ring holds one record.
 */
#include <rs-trace-feed.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>

#include "build.h"
#include "region/regions.h"
#include <ringside/atomic.h>
#include <ringside/cmdline.h>
#include <ringside/record.h>
#include <string.h>

#define PAGE 4096u
#define TICKS 5000u
#define OLD_NS 1000000u
#define NEW_NS 9000000u
#define PID 7u

/* These replace GLib's. Only sleep takes time, and whoever writes to the region is called then. */
static guint slept_us;
static gint64 now_us = 1000000;
static void (*while_asleep)(void);

void g_usleep(gulong us)
{
	slept_us += (guint)us;
	now_us += (gint64)us;
	if (while_asleep)
		while_asleep();
}

gint64 g_get_monotonic_time(void)
{
	return now_us;
}

typedef struct {
	RsTraceRegion *region;
	RsTraceSink *follower;
	RsTraceFeed *feed;
	guint64 ns; /* of the last record */
	guint records, named;
} Fixture;

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	Fixture *f = data;

	if (record->kind != RS_TRACE_RECORD_EVENT)
		return;
	f->ns = record->ns;
	f->records++;
	f->named += record->event != NULL;
}

static struct rs_control *control_of(const Fixture *f)
{
	return rs_trace_region_section(f->region, RS_SEC_CONTROL, NULL);
}

static void set_up(Fixture *f, gconstpointer unused)
{
	struct rs_region_config config = {.vcpus = 1, .ring_bytes = 4 * PAGE};
	const RsTraceFollowerConfig follower = {.record = on_record, .data = f};

	g_assert_cmpint(rs_region_create(&config, &f->region, NULL), ==, 0);
	f->follower = rs_trace_follower_new(&follower);
}

static void follow_as(Fixture *f, RsTraceLiveFlags flags)
{
	RsTraceSource *source = rs_trace_live_new(f->region, RS_TRACE_FROM_START, flags, NULL);

	g_assert_nonnull(source);
	f->feed = rs_trace_feed_new(source, f->follower, 0, NULL);
}

static void follow(Fixture *f)
{
	follow_as(f, RS_TRACE_LIVE_OWNER);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	rs_trace_feed_free(f->feed);
	f->follower->ops->free(f->follower);
	rs_trace_region_free(f->region);
}

static void write_name(Fixture *f, const char *comm, guint64 since)
{
	guint buckets = f->region->header.section[RS_SEC_CMDLINE].count;
	struct rs_cmdline_bucket *bucket =
		rs_trace_region_element(f->region, RS_SEC_CMDLINE, rs_cmdline_hash(PID, buckets));
	struct rs_cmdline_entry *entry = &bucket->way[since % RS_CMDLINE_WAYS];

	*entry = (struct rs_cmdline_entry){
		.sequence = 2, .pid = PID, .tgid = 3, .since = since, .boot = 1};
	g_strlcpy(entry->comm, comm, sizeof(entry->comm));
}

static void count_name(Fixture *f)
{
	struct rs_guest_info *info = rs_trace_region_section(f->region, RS_SEC_GUEST_INFO, NULL);

	rs_shared_add32(&info->cmdline_changes, 1);
}

static void assert_name(Fixture *f, const char *expected)
{
	RsTraceRecord record = {.kind = RS_TRACE_RECORD_EVENT, .pid = PID, .when = {1, 0, TICKS}};
	RsTraceTask task;

	rs_trace_feed_update_names(f->feed);
	rs_trace_follower_task(f->feed, &record, &task);
	g_assert_cmpstr(task.comm, ==, expected);
}

/* The first look takes all names. Later ones do so only if the count has grown. */
static void test_names(Fixture *f, gconstpointer unused)
{
	write_name(f, "early", 1);
	follow(f);
	assert_name(f, "early");
	write_name(f, "later", 2);
	assert_name(f, "early");
	count_name(f);
	assert_name(f, "later");
}

/* If a page says to which process its task belongs, that counts, and not the table. */
static void test_tgid(Fixture *f, gconstpointer unused)
{
	RsTraceRecord record = {.kind = RS_TRACE_RECORD_EVENT, .pid = PID, .when = {1, 0, TICKS}};
	RsTraceTask task;

	write_name(f, "task", 1);
	follow(f);
	rs_trace_feed_update_names(f->feed);
	rs_trace_follower_task(f->feed, &record, &task);
	g_assert_cmpuint(task.tgid, ==, 3);
	record.tgid = 4;
	rs_trace_follower_task(f->feed, &record, &task);
	g_assert_cmpuint(task.tgid, ==, 4);
	g_assert_cmpstr(task.comm, ==, "task");
}

/* A page with one record at TICKS, of chain 0, as all epochs here. */
static void write_record(Fixture *f)
{
	struct rs_ring_page *page = rs_trace_region_section(f->region, RS_SEC_RINGS, NULL);
	struct rs_ring_state *state = rs_trace_region_section(f->region, RS_SEC_RING_STATE, NULL);
	struct rs_rec_header *record = (struct rs_rec_header *)(page + 1);
	guint end = RS_RING_PAGE_HEADER + sizeof(*record);

	*page = (struct rs_ring_page){
		.ts = TICKS, .boot = 1, .header_size = RS_RING_PAGE_HEADER, .committed = end};
	*record = (struct rs_rec_header){
		.id = RS_FIRST_EVENT_ID, .size = sizeof(*record), .ts = TICKS};
	state->pages = 1;
	rs_store_release(&state->word, 1ull << RS_WORD_RECORDS_SHIFT | end / RS_RING_UNIT);
}

static void begin_epoch(Fixture *f, guint32 index, guint64 ticks, guint64 ns)
{
	struct rs_clock_epoch *epoch = rs_trace_region_element(f->region, RS_SEC_CLOCK, index);

	*epoch = (struct rs_clock_epoch){
		.index = index, .tsc_base = ticks, .ns_base = ns, .mult = 1};
	rs_store_release(&control_of(f)->epoch_count, index + 1);
}

static void read_all(Fixture *f)
{
	f->follower->ops->begin_round(f->follower);
	rs_trace_feed_read(f->feed, 0);
	f->follower->ops->end_round(f->follower, 0);
	f->follower->ops->end(f->follower);
}

/* A later minor version may have longer epochs. */
static void test_longer_epochs(Fixture *f, gconstpointer unused)
{
	struct rs_section *section = &f->region->header.section[RS_SEC_CLOCK];

	section->stride = sizeof(struct rs_clock_epoch) + 24;
	section->count = 4;
	begin_epoch(f, 0, 0, OLD_NS);
	begin_epoch(f, 1, 0, NEW_NS);
	write_record(f);
	follow(f);
	read_all(f);
	g_assert_cmpuint(f->ns, ==, NEW_NS + TICKS);
}

static void add_provider(Fixture *f, struct rs_provider *entry)
{
	struct rs_guest_info *info = rs_trace_region_section(f->region, RS_SEC_GUEST_INFO, NULL);
	TestDesc *desc = test_desc_new(RS_FIRST_EVENT_ID, "live", "event");
	g_autoptr(GByteArray) bytes = g_byte_array_new();

	*info = (struct rs_guest_info){
		.abi_major = RS_ABI_MAJOR,
		.arch = RS_ARCH_X86_64,
		.session_id = f->region->header.session_id,
		.boot = 1,
		.boots[1 % RS_BOOTS] = {.boot = 1},
		.provider_slots = 1,
		.provider_changes = info->provider_changes + 1,
		.cpu_count = 1,
		.magic = RS_GUEST_MAGIC,
	};
	test_desc_end(desc, NULL, NULL, bytes);
	test_provider(entry, 0, bytes);
	memcpy(rs_trace_region_section(f->region, RS_SEC_EVENTS, NULL), bytes->data, bytes->len);
	memcpy(rs_trace_region_section(f->region, RS_SEC_PROVIDERS, NULL), entry, sizeof(*entry));
}

/* Tables of another agent in the same memory are not taken for those of the agent before. */
static void test_given_away(Fixture *f, gconstpointer owner)
{
	struct rs_region_header *shared = (void *)f->region->map;
	RsTraceSource *source;
	struct rs_provider entry;
	RsTraceChunk chunk;

	write_name(f, "early", 1);
	begin_epoch(f, 0, 0, 1000000);
	begin_epoch(f, 1, 0, 2000000);
	write_record(f);
	follow_as(f, GPOINTER_TO_INT(owner));
	source = f->feed->source;
	rs_trace_feed_update_names(f->feed);
	source->ops->begin_round(source, f->feed);
	g_assert_cmpint(source->ops->next(source, 0, 0, &chunk), ==, RS_TRACE_RING_DATA);
	/* The region is laid out anew after the reader has copied the page. */
	shared->session_id++;
	write_name(f, "later", 2);
	begin_epoch(f, 1, 0, 3000000);
	begin_epoch(f, 2, 0, 4000000);
	add_provider(f, &entry);
	count_name(f);
	source->ops->changes(source, f->feed);
	g_assert_cmpint(rs_trace_schema_knows(f->feed->schema, 0, &entry), ==, !!owner);
	assert_name(f, owner ? "later" : "early");
	rs_store(&((struct rs_ring_state *)rs_trace_region_section(f->region, RS_SEC_RING_STATE,
								   NULL))
			  ->dropped,
		 9);
	g_assert_cmpuint(source->ops->pending_loss(source, 0), ==, owner ? 9 : 0);
	if (!owner)
		g_assert_cmpint(source->ops->next(source, 0, 0, &chunk), ==, RS_TRACE_RING_END);
}

/* ---- epochs that are announced ---- */

/* For the functions that `while_asleep` points to. */
static Fixture *sleeper;

static void begin(Fixture *f)
{
	sleeper = f;
	begin_epoch(f, 0, 0, OLD_NS);
	write_record(f);
	follow(f);
	slept_us = 0;
}

/* The host publishes the epoch that the record belongs to. */
static void publish_epoch(void)
{
	begin_epoch(sleeper, 1, TICKS - 1, NEW_NS);
	rs_store_release(&control_of(sleeper)->clock_pending, 2);
}

static void test_pending(Fixture *f, gconstpointer unused)
{
	begin(f);
	rs_store(&control_of(f)->clock_pending, 1);
	while_asleep = publish_epoch;
	read_all(f);
	while_asleep = NULL;
	g_assert_cmpuint(slept_us, >, 0);
	g_assert_cmpuint(f->records, ==, 1);
	g_assert_cmpuint(f->ns, ==, NEW_NS + 1);
}

/* The host has died before it published the epoch: the reader goes on with the epochs it knows. */
static void test_abandoned(Fixture *f, gconstpointer unused)
{
	begin(f);
	rs_store(&control_of(f)->clock_pending, 1);
	read_all(f);
	g_assert_cmpuint(slept_us, >, 0);
	g_assert_cmpuint(f->records, ==, 1);
	g_assert_cmpuint(f->ns, ==, OLD_NS + TICKS);
}

/* The epoch came while the page was being copied. */
static void test_just_published(Fixture *f, gconstpointer unused)
{
	begin(f);
	begin_epoch(f, 1, TICKS, NEW_NS);
	rs_store(&control_of(f)->clock_pending, 2);
	read_all(f);
	g_assert_cmpuint(slept_us, ==, 0);
	g_assert_cmpuint(f->ns, ==, NEW_NS);
}

/* A hostile guest: another number at each look. */
static void pend_anew(void)
{
	control_of(sleeper)->clock_pending += 2;
}

/* The host: the epoch that was announced is there. */
static void publish(void)
{
	control_of(sleeper)->epoch_count++;
	control_of(sleeper)->clock_pending++;
}

/* A round of a hundred chunks. Returns how many us they waited together. */
static guint wait_a_round(Fixture *f)
{
	RsTraceSource *source = f->feed->source;

	slept_us = 0;
	source->ops->begin_round(source, f->feed);
	for (guint i = 0; i < 100; i++)
		source->ops->changes(source, f->feed);
	return slept_us;
}

/* A guest that can write the host's words makes the reader wait for some rounds only. */
static void test_vain_waits(Fixture *f, gconstpointer unused)
{
	struct rs_control *control = control_of(f);
	guint waits = 0;

	sleeper = f;
	follow(f);
	control->clock_pending = 1;
	while_asleep = publish;
	for (guint i = 0; i < 100; i++) {
		control->clock_pending |= 1;
		g_assert_cmpuint(wait_a_round(f), ==, 100);
	}
	control->clock_pending = 1;
	while_asleep = pend_anew;
	for (guint i = 0; i < 100; i++) {
		guint us = wait_a_round(f);

		g_assert_cmpuint(us, <=, 50000);
		waits += us > 0;
	}
	g_assert_cmpuint(waits, ==, 3);
	/* The host is there after all. */
	control->epoch_count++;
	g_assert_cmpuint(wait_a_round(f), >, 0);
	while_asleep = NULL;
}

/* ---- entries that are being written ---- */

static struct rs_provider *entry_of(const Fixture *f)
{
	return rs_trace_region_section(f->region, RS_SEC_PROVIDERS, NULL);
}

/* A provider that has died before the record, as the observer knows it. */
static void follow_dead(Fixture *f)
{
	struct rs_provider entry;

	sleeper = f;
	begin_epoch(f, 0, 0, OLD_NS);
	add_provider(f, &entry);
	entry_of(f)->state = RS_PROVIDER_DEAD;
	entry_of(f)->until = TICKS - 2;
	follow(f);
	f->feed->source->ops->changes(f->feed->source, f->feed);
	write_record(f);
	slept_us = 0;
}

static void complete_entry(void)
{
	struct rs_provider *entry = entry_of(sleeper);

	if (slept_us == 300)
		rs_store_release(&entry->sequence, entry->sequence + 1);
}

/* It has come back, has written the record, and dies again just when the observer looks. */
static void test_entry_in_flight(Fixture *f, gconstpointer unused)
{
	struct rs_guest_info *info = rs_trace_region_section(f->region, RS_SEC_GUEST_INFO, NULL);

	follow_dead(f);
	entry_of(f)->sequence += 3;
	entry_of(f)->until = TICKS + 1;
	info->provider_changes++;
	while_asleep = complete_entry;
	read_all(f);
	while_asleep = NULL;
	g_assert_cmpuint(slept_us, ==, 300);
	g_assert_cmpuint(f->records, ==, 1);
	g_assert_cmpuint(f->named, ==, 1);
}

/* A round of a hundred chunks, with the time that they may wait. */
static guint wait_for_entry(Fixture *f)
{
	f->feed->own_patience = RS_TRACE_FEED_PATIENCE_US;
	return wait_a_round(f);
}

/* The guest was killed in the middle: the record is shown as unknown in the end. */
static void test_entry_abandoned(Fixture *f, gconstpointer unused)
{
	struct rs_guest_info *info = rs_trace_region_section(f->region, RS_SEC_GUEST_INFO, NULL);
	guint sum = 0;

	follow_dead(f);
	entry_of(f)->sequence++;
	info->provider_changes++;
	g_assert_cmpuint(wait_for_entry(f), ==, 20000);
	/* What it waits from then on is a hundredth of the time. */
	for (guint i = 0; i < 1000; i++) {
		now_us += 10000;
		sum += wait_for_entry(f);
	}
	g_assert_cmpuint(sum, >=, 90000);
	g_assert_cmpuint(sum, <=, 110000);
	read_all(f);
	g_assert_cmpuint(f->records, ==, 1);
	g_assert_cmpuint(f->named, ==, 0);
	/* However long nothing was to be waited for, it does not wait longer than at first. */
	now_us += 3600ll * G_USEC_PER_SEC;
	g_assert_cmpuint(wait_for_entry(f), ==, 20000);
}

/* All sources of a round share what it may wait. */
static void test_entries_share_the_time(Fixture *f, gconstpointer unused)
{
	struct rs_guest_info *info = rs_trace_region_section(f->region, RS_SEC_GUEST_INFO, NULL);
	gint64 patience = 1000;

	follow_dead(f);
	entry_of(f)->sequence++;
	info->provider_changes++;
	rs_trace_feed_share_patience(f->feed, &patience);
	g_assert_cmpuint(wait_a_round(f), ==, 1000);
	g_assert_cmpuint(wait_a_round(f), ==, 0);
	patience = 500;
	g_assert_cmpuint(wait_a_round(f), ==, 500);
}

/* It is written again at once. A chunk waits once, and takes two looks. */
static void write_again(void)
{
	struct rs_provider *entry = entry_of(sleeper);

	if (slept_us % 100 == 0) {
		entry->generation++;
		entry->sequence += 2;
	}
}

static void test_entry_written_again(Fixture *f, gconstpointer unused)
{
	struct rs_guest_info *info = rs_trace_region_section(f->region, RS_SEC_GUEST_INFO, NULL);

	follow_dead(f);
	entry_of(f)->sequence++;
	info->provider_changes++;
	while_asleep = write_again;
	f->feed->own_patience = RS_TRACE_FEED_PATIENCE_US;
	f->feed->source->ops->changes(f->feed->source, f->feed);
	g_assert_cmpuint(slept_us, ==, 100);
	f->feed->source->ops->changes(f->feed->source, f->feed);
	g_assert_cmpuint(slept_us, ==, 200);
	while_asleep = NULL;
}

#define ADD(path, test) g_test_add("/observe/live/" path, Fixture, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	ADD("names", test_names);
	ADD("tgid", test_tgid);
	ADD("longer-epochs", test_longer_epochs);
	g_test_add("/observe/live/given-away", Fixture, NULL, set_up, test_given_away, tear_down);
	/* A guest that writes the header of its own region does not end the session's trace. */
	g_test_add("/observe/live/own", Fixture, GINT_TO_POINTER(RS_TRACE_LIVE_OWNER), set_up,
		   test_given_away, tear_down);
	ADD("pending", test_pending);
	ADD("abandoned", test_abandoned);
	ADD("just-published", test_just_published);
	ADD("vain-waits", test_vain_waits);
	ADD("entry-in-flight", test_entry_in_flight);
	ADD("entry-abandoned", test_entry_abandoned);
	ADD("entries-share", test_entries_share_the_time);
	ADD("entry-written-again", test_entry_written_again);
	return g_test_run();
}
