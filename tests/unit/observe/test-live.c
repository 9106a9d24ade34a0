/* SPDX-License-Identifier: MIT */
/*
 * A live source between the host and a reader. The reader waits for an epoch that is about to be
 * published, so that the records of its first moments get its times. One record stands in the ring.
 * The host is a thread.
 */
#include <rs-trace-follower.h>
#include <rs-trace-live.h>

#include "region/regions.h"
#include <ringside/atomic.h>
#include <ringside/record.h>
#include <string.h>

#define PAGE 4096u
#define TICKS 5000u
#define OLD_NS 1000000000u
#define NEW_NS 9000000000u

struct bed {
	RsTraceRegion *region;
	struct rs_control *control;
	struct rs_clock_epoch *epochs;
	RsTraceMerger *merger;
	RsTraceFollower *follower;
	guint64 ns;
	guint records;
};

static void on_merged(const RsTraceRecord *record, gpointer data)
{
	struct bed *bed = data;

	if (record->kind != RS_TRACE_RECORD_EVENT)
		return;
	bed->ns = record->ns;
	bed->records++;
}

static void begin_epoch(struct bed *bed, guint32 index, guint64 ticks, guint64 ns)
{
	struct rs_clock_epoch *epoch = &bed->epochs[index];

	rs_store(&epoch->flags, index ? RS_EPOCH_CONTINUES : 0);
	rs_store(&epoch->tsc_base, ticks);
	rs_store(&epoch->ns_base, ns);
	rs_store(&epoch->mult, 1);
	rs_store_release(&epoch->index, index);
	rs_store_release(&bed->control->epoch_count, index + 1);
}

/* One page with one record at TICKS, of the epoch before. */
static void write_record(struct bed *bed)
{
	struct rs_ring_page *page = rs_trace_region_section(bed->region, RS_SEC_RINGS, NULL);
	struct rs_ring_state *state = rs_trace_region_section(bed->region, RS_SEC_RING_STATE, NULL);
	struct rs_rec_header *record = (struct rs_rec_header *)(page + 1);
	guint end = RS_RING_PAGE_HEADER + sizeof(*record);

	*page = (struct rs_ring_page){
		.ts = TICKS, .boot = 1, .header_size = RS_RING_PAGE_HEADER, .committed = end};
	*record = (struct rs_rec_header){
		.id = RS_FIRST_EVENT_ID, .size = sizeof(*record), .ts = TICKS};
	state->pages = 1;
	rs_store_release(&state->word, 1ull << RS_WORD_RECORDS_SHIFT | end / RS_RING_UNIT);
}

static void bed_init(struct bed *bed)
{
	struct rs_region_config config = {.vcpus = 1, .ring_bytes = 4 * PAGE};

	*bed = (struct bed){0};
	g_assert_cmpint(rs_region_create(&config, &bed->region, NULL), ==, 0);
	bed->control = rs_trace_region_section(bed->region, RS_SEC_CONTROL, NULL);
	bed->epochs = rs_trace_region_section(bed->region, RS_SEC_CLOCK, NULL);
	begin_epoch(bed, 0, 0, OLD_NS);
	write_record(bed);
	bed->merger = rs_trace_merger_new(0, 0, on_merged, bed);
	bed->follower = rs_trace_follower_new(
		rs_trace_live_new(bed->region, RS_TRACE_FROM_START, TRUE, NULL), 0, bed->merger);
}

static void bed_done(struct bed *bed)
{
	rs_trace_follower_free(bed->follower);
	rs_trace_merger_free(bed->merger);
	rs_trace_region_free(bed->region);
}

static void read_all(struct bed *bed)
{
	rs_trace_merger_begin_round(bed->merger);
	rs_trace_follower_read(bed->follower, 0);
	rs_trace_merger_end_round(bed->merger, 0);
	rs_trace_merger_flush(bed->merger);
}

static gpointer publish(gpointer data)
{
	struct bed *bed = data;

	g_usleep(300);
	begin_epoch(bed, 1, TICKS - 1, NEW_NS);
	rs_store_release(&bed->control->clock_pending, 2);
	return NULL;
}

static void test_pending(void)
{
	struct bed bed;
	GThread *host;

	bed_init(&bed);
	rs_store(&bed.control->clock_pending, 1);
	host = g_thread_new("host", publish, &bed);
	read_all(&bed);
	g_thread_join(host);
	g_assert_cmpuint(bed.records, ==, 1);
	g_assert_cmpuint(bed.ns, ==, NEW_NS + 1);
	bed_done(&bed);
}

/* The host has died in between: the reader goes on with what it knows, and waits once only. */
static void test_abandoned(void)
{
	struct bed bed;

	bed_init(&bed);
	rs_store(&bed.control->clock_pending, 1);
	read_all(&bed);
	g_assert_cmpuint(bed.records, ==, 1);
	g_assert_cmpuint(bed.ns, ==, OLD_NS + TICKS);
	bed_done(&bed);
}

/* It came while the page was being copied. */
static void test_just_published(void)
{
	struct bed bed;

	bed_init(&bed);
	begin_epoch(&bed, 1, TICKS, NEW_NS);
	rs_store(&bed.control->clock_pending, 2);
	read_all(&bed);
	g_assert_cmpuint(bed.ns, ==, NEW_NS);
	bed_done(&bed);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/observe/live/pending", test_pending);
	g_test_add_func("/observe/live/abandoned", test_abandoned);
	g_test_add_func("/observe/live/just-published", test_just_published);
	return g_test_run();
}
