/* SPDX-License-Identifier: MIT */
/*
 * From tracefs to an observer: the bridge of ringside-guest reads files and pages as the kernel has
 * them, its agent writes a region, and an observer reads that through ringside-import.
 */
#define _GNU_SOURCE
#include "kernel.h"

#include "region/regions.h"
#include <bridge/reader.h>
#include <ringside/atomic.h>
#include <ringside/filter.h>
#include <ringside/ftrace_page.h>
#include <rs-trace-feed.h>
#include <rs-trace-follower.h>
#include <rs-trace-live.h>
#include <rs-trace-text.h>
#include <rs_port.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u
#define LATE (1ull << 32) /* after all events of a test */

/* Providers begin at the agent's time, so the kernel's events come later. */
static guint64 base;

static GByteArray *page_at(guint64 ts)
{
	return test_page_begin(base + ts);
}

typedef struct {
	Kernel kernel;
	struct bridge_catalog *catalog;
	struct bridge_reader reader;
	RsTraceRegion *region;
	RsTraceSink *follower;
	RsTraceFeed *feed;
	guint64 now;
	GString *seen; /* a line for each event */
	guint64 events, lost;
} Fixture;

/* ---- the observer ---- */

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	Fixture *f = data;
	g_autoptr(GString) text = g_string_new(NULL);

	f->lost += record->kind == RS_TRACE_RECORD_LOSS ? record->lost : 0;
	if (record->kind == RS_TRACE_RECORD_LOSS)
		g_string_append_printf(f->seen, "lost %u\n", (guint)record->lost);
	if (record->kind != RS_TRACE_RECORD_EVENT)
		return;
	f->events++;
	g_assert_nonnull(record->event);
	rs_trace_text_message(text, record);
	g_string_append_printf(f->seen, "%u %s-%u [%u] %s: %s\n", (guint)(record->when.ts - base),
			       task->comm, record->pid, record->ring, record->event->name,
			       text->str);
}

static void observe(Fixture *f, RsTraceFrom from)
{
	const RsTraceFollowerConfig config = {.record = on_record, .data = f};

	f->follower = rs_trace_follower_new(&config);
	f->feed = rs_trace_feed_new(rs_trace_live_new(f->region, from, 0, NULL), f->follower, 0,
				    NULL);
}

static void look(Fixture *f)
{
	for (guint i = 0; i < 4; i++) {
		f->now += 1000000000;
		f->follower->ops->begin_round(f->follower);
		rs_trace_feed_read(f->feed, f->now);
		f->follower->ops->end_round(f->follower, f->now);
	}
}

/* All events have come. */
static void settle(Fixture *f)
{
	do
		bridge_reader_sweep(&f->reader, base + LATE);
	while (f->reader.unsaid);
	look(f);
}

static void observe_end(Fixture *f)
{
	settle(f);
	rs_trace_feed_finish(f->feed);
	f->follower->ops->end(f->follower);
	rs_trace_feed_free(f->feed);
	f->follower->ops->free(f->follower);
	f->feed = NULL;
}

/* ---- the guest ---- */

static void attach(Fixture *f)
{
	static const struct rs_trace_ops ops = {.cpu_id = bridge_reader_cpu};
	const struct rs_agent_config config = {.region = f->region->map,
					       .region_size = f->region->size,
					       .ops = &ops,
					       .flags = RS_GUEST_SELF_PATCH | RS_GUEST_BRIDGE,
					       .agent = "test",
					       .name = "linux"};

	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	g_assert_cmpint(bridge_reader_register(&f->reader), ==, 0);
	bridge_catalog_register(f->catalog);
	g_assert_cmpint(f->catalog->refused, ==, 0);
}

static void set_up(Fixture *f, gconstpointer data)
{
	const guint cpus = (guint)sysconf(_SC_NPROCESSORS_CONF);
	const struct rs_region_config config = {.vcpus = cpus, .ring_bytes = 16 * PAGE};

	test_kernel_open(&f->kernel, cpus);
	base = rs_port_time() + (1ull << 36);
	f->seen = g_string_new(NULL);
	f->catalog = g_new0(struct bridge_catalog, 1);
	g_assert_true(bridge_catalog_read(f->catalog, &f->kernel.fs));
	g_assert_true(bridge_reader_open(&f->reader, f->catalog, &f->kernel.fs));
	g_assert_cmpint(rs_region_create(&config, &f->region, NULL), ==, 0);
}

static void tear_down(Fixture *f, gconstpointer data)
{
	if (f->feed)
		observe_end(f);
	rs_agent_fini();
	bridge_reader_close(&f->reader);
	bridge_catalog_free(f->catalog);
	g_free(f->catalog);
	rs_trace_region_free(f->region);
	test_kernel_close(&f->kernel);
	g_string_free(f->seen, TRUE);
}

static struct rs_event *event_of(Fixture *f, guint kernel_id)
{
	return f->catalog->by_id[kernel_id]->event;
}

/* The host's control word, and that it has changed. */
static void want(Fixture *f, guint kernel_id, guint32 word)
{
	guint id = event_of(f, kernel_id)->id;
	guint32 *words = rs_trace_region_section(f->region, RS_SEC_EVENT_CTL, NULL);

	rs_store(&words[id], word);
	bridge_catalog_apply(f->catalog, &f->kernel.fs, FALSE);
}

static void move(Fixture *f, guint cpu, GByteArray *page)
{
	test_kernel_page(&f->kernel, cpu, page);
	g_byte_array_unref(page);
	bridge_reader_sweep(&f->reader, base);
}

/* ---- rules ---- */

static void test_the_catalog_has_what_can_be_switched(Fixture *f, gconstpointer data)
{
	attach(f);
	g_assert_cmpint(f->catalog->events, ==, 2);
	g_assert_cmpint(event_of(f, SWITCH_ID)->id, >=, RS_FIRST_EVENT_ID);
	g_assert_cmpstr(event_of(f, OPEN_ID)->info->name, ==, "open");
}

static void test_wishes_reach_tracefs(Fixture *f, gconstpointer data)
{
	static const char enable[] = "events/test/hop/enable";
	g_autofree char *on = NULL, *off = NULL, *other = NULL;

	attach(f);
	want(f, SWITCH_ID, RS_EVENT_ENABLED);
	on = test_kernel_file(&f->kernel, enable);
	other = test_kernel_file(&f->kernel, "events/test/open/enable");
	g_assert_cmpstr(on, ==, "1");
	g_assert_cmpstr(other, ==, "0");
	g_assert_true(bridge_catalog_is_on(f->catalog));
	bridge_catalog_apply(f->catalog, &f->kernel.fs, TRUE);
	off = test_kernel_file(&f->kernel, enable);
	g_assert_cmpstr(off, ==, "0");
	g_assert_false(bridge_catalog_is_on(f->catalog));
}

static void test_events_arrive_with_their_text(Fixture *f, gconstpointer data)
{
	GByteArray *page = page_at(1000);

	attach(f);
	observe(f, RS_TRACE_FROM_START);
	test_page_hop(page, 0, 70001, "one", 3);
	test_page_hop(page, 7, 70002, "two", 12);
	test_page_open(page, 5, 70009, "/etc/passwd");
	move(f, 0, page);
	observe_end(f);
	g_assert_cmpstr(f->seen->str, ==,
			"1000 ended-70001 [0] hop: comm=one to=3 near\n"
			"1007 gone too-70002 [0] hop: comm=two to=12 far\n"
			"1012 <...>-70009 [0] open: name=/etc/passwd flags=W|C\n");
}

/* Many events: a page is moved in parts, and becomes several of ours. */
static void test_full_pages_arrive_whole(Fixture *f, gconstpointer data)
{
	const guint n = 90, pages = 8;

	attach(f);
	observe(f, RS_TRACE_FROM_START);
	for (guint i = 0; i < pages; i++) {
		GByteArray *page = page_at(1000 * (i + 1));

		for (guint k = 0; k < n; k++)
			test_page_hop(page, 1, 70001, "many", (gint32)k);
		move(f, 0, page);
		look(f);
	}
	observe_end(f);
	g_assert_cmpint(f->events, ==, n * pages);
	g_assert_cmpint(f->lost, ==, 0);
}

/* The CPU's page begins at its first event. */
static void put_two(Fixture *f, guint cpu, guint64 first, guint64 second)
{
	GByteArray *page = page_at(first);

	test_page_hop(page, 0, 70001, "one", (gint32)first);
	test_page_hop(page, (guint)(second - first), 70001, "two", (gint32)second);
	test_kernel_page(&f->kernel, cpu, page);
	g_byte_array_unref(page);
}

/* False: the test is skipped. */
static gboolean has_two_cpus(Fixture *f)
{
	attach(f);
	if (f->reader.cpu_count > 1)
		return TRUE;
	g_test_skip("one CPU");
	return FALSE;
}

static void check_seen(Fixture *f, const char *wanted)
{
	g_autoptr(GRegex) regex =
		g_regex_new("^(\\d+) .* (\\[\\d\\]).*\n", G_REGEX_MULTILINE, 0, NULL);
	g_autofree char *seen = g_regex_replace(regex, f->seen->str, -1, 0, "\\1\\2 ", 0, NULL);

	g_assert_cmpstr(seen, ==, wanted);
}

static void test_cpus_are_in_order(Fixture *f, gconstpointer data)
{
	if (!has_two_cpus(f))
		return;
	observe(f, RS_TRACE_FROM_START);
	put_two(f, 0, 2000, 2500);
	put_two(f, 1, 1000, 1500);
	bridge_reader_sweep(&f->reader, base + 3000);
	settle(f);
	check_seen(f, "1000[1] 1500[1] 2000[0] 2500[0] ");
}

/* Rings are read one after the other. An event of the first may be earlier than what is there. */
static void test_an_event_waits_for_what_another_cpu_has_not_shown(Fixture *f, gconstpointer data)
{
	if (!has_two_cpus(f))
		return;
	observe(f, RS_TRACE_FROM_START);
	put_two(f, 0, 1000, 3000);
	bridge_reader_sweep(&f->reader, base + 2000);
	look(f);
	check_seen(f, "");
	put_two(f, 1, 2500, 4000);
	bridge_reader_sweep(&f->reader, base + 3500);
	look(f);
	/* All up to 2000 have come. */
	check_seen(f, "1000[0] ");
	g_assert_cmpint(f->events, ==, 1);
	bridge_reader_sweep(&f->reader, base + 5000);
	look(f);
	check_seen(f, "1000[0] 2500[1] 3000[0] ");
	bridge_reader_sweep(&f->reader, base + 6000);
	look(f);
	check_seen(f, "1000[0] 2500[1] 3000[0] 4000[1] ");
	g_assert_cmpint(f->reader.unsaid, ==, 0);
	g_assert_cmpint(f->lost, ==, 0);
}

/* What is in a page that is handed out by parts is lost once, and shown once. */
static void test_parts_of_a_page_count_once(Fixture *f, gconstpointer data)
{
	GByteArray *page = page_at(1000);

	attach(f);
	observe(f, RS_TRACE_FROM_START);
	for (guint i = 0; i < 10; i++)
		test_page_hop(page, 100, 70001 + i % 2, "ten", (gint32)i);
	test_page_missed(page, TRUE, 5);
	test_kernel_lost(&f->kernel, 0, 5);
	test_kernel_page(&f->kernel, 0, page);
	g_byte_array_unref(page);
	for (guint i = 0; i < 10; i++) {
		bridge_reader_sweep(&f->reader, base + 1250 + 200 * i);
		f->reader.unsaid = 1;
		look(f);
		g_assert_cmpint(f->events, ==, MIN(2 * i, 10));
	}
	g_assert_cmpint(f->lost, ==, 5);
	g_assert_nonnull(strstr(f->seen->str, "2000 gone too-70002 [0] hop: comm=ten to=9"));
}

/* The observer goes before the sweep that says that all has come. */
static void test_what_waits_is_shown_at_the_end(Fixture *f, gconstpointer data)
{
	attach(f);
	observe(f, RS_TRACE_FROM_START);
	put_two(f, 0, 1000, 3000);
	bridge_reader_sweep(&f->reader, base + 2000);
	bridge_reader_sweep(&f->reader, base + 2100);
	look(f);
	g_assert_cmpint(f->events, ==, 1);
	f->reader.unsaid = 0;
	rs_trace_feed_finish(f->feed);
	f->follower->ops->end(f->follower);
	g_assert_cmpint(f->events, ==, 2);
	g_assert_cmpint(f->lost, ==, 0);
}

/* hop: to == 12 */
static guint32 publish_filter(Fixture *f)
{
	guint8 *filters = rs_trace_region_section(f->region, RS_SEC_FILTERS, NULL);
	struct rs_filter_program *program = (void *)(filters + RS_FILTER_GRAIN);
	struct rs_filter_insn insn = {.op = RS_OP_EQ,
				      .source = RS_SRC_FIELD,
				      .width = 4,
				      .offset = 16,
				      .on_true = RS_FILTER_ACCEPT,
				      .on_false = RS_FILTER_REJECT,
				      .imm = 12,
				      .mask = G_MAXUINT32};

	*program = (struct rs_filter_program){.sequence = 2,
					      .insn_count = 1,
					      .size = sizeof(*program) + sizeof(insn),
					      .pool = sizeof(*program) + sizeof(insn),
					      .event = event_of(f, SWITCH_ID)->id};
	memcpy(program + 1, &insn, sizeof(insn));
	return RS_EVENT_ENABLED | 1u << RS_EVENT_FILTER_SHIFT;
}

static void test_a_filter_takes_records_out(Fixture *f, gconstpointer data)
{
	GByteArray *page = page_at(1000), *none = page_at(3000);

	attach(f);
	observe(f, RS_TRACE_FROM_START);
	want(f, SWITCH_ID, publish_filter(f));
	test_page_hop(page, 0, 70001, "one", 3);
	test_page_hop(page, 7, 70001, "two", 12);
	test_page_open(page, 5, 70001, "a");
	move(f, 0, page);
	/* What was recorded before the event went off is read after that. */
	want(f, SWITCH_ID, 0);
	test_page_hop(none, 0, 70001, "none", 3);
	move(f, 0, none);
	observe_end(f);
	/* Times stay, and what was rejected is not lost. */
	g_assert_cmpstr(f->seen->str, ==,
			"1007 ended-70001 [0] hop: comm=two to=12 far\n"
			"1012 ended-70001 [0] open: name=a flags=W|C\n");
}

static void test_what_ftrace_lost_is_counted(Fixture *f, gconstpointer data)
{
	GByteArray *first = page_at(1000), *second = page_at(2000);

	attach(f);
	observe(f, RS_TRACE_FROM_START);
	test_page_hop(first, 0, 70001, "one", 1);
	test_page_missed(first, TRUE, 5);
	test_kernel_lost(&f->kernel, 0, 5);
	move(f, 0, first);
	test_page_hop(second, 0, 70001, "two", 2);
	test_page_missed(second, FALSE, 0); /* the sum says how many */
	test_kernel_lost(&f->kernel, 0, 12);
	move(f, 0, second);
	/* After the last page. */
	test_kernel_lost(&f->kernel, 0, 14);
	bridge_reader_settle(&f->reader);
	observe_end(f);
	g_assert_cmpstr(f->seen->str, ==,
			"lost 5\n1000 ended-70001 [0] hop: comm=one to=1 near\n"
			"lost 7\n2000 ended-70001 [0] hop: comm=two to=2 near\n"
			"lost 2\n");
}

/* The sum of what ftrace lost may be ahead of a page. */
static void test_nothing_is_counted_twice(Fixture *f, gconstpointer data)
{
	attach(f);
	observe(f, RS_TRACE_FROM_START);
	for (guint i = 0; i < 3; i++) {
		GByteArray *page = page_at(1000 * (i + 1));

		test_page_hop(page, 0, 70001, "some", 1);
		test_page_missed(page, i != 0, 4);
		test_kernel_lost(&f->kernel, 0, MIN(6 + 2 * i, 9));
		move(f, 0, page);
	}
	bridge_reader_settle(&f->reader);
	observe_end(f);
	g_assert_cmpint(f->lost, ==, 9);
}

/* An observer that is too slow for our ring. */
static void test_pages_that_nobody_read_are_counted(Fixture *f, gconstpointer data)
{
	const guint n = 20, pages = 300;

	attach(f);
	observe(f, RS_TRACE_FROM_START);
	for (guint i = 0; i < pages; i++) {
		GByteArray *page = page_at(1000 * (i + 1));

		for (guint k = 0; k < n; k++)
			test_page_hop(page, 1, 70001, "many", (gint32)k);
		move(f, 0, page);
	}
	observe_end(f);
	g_assert_cmpint(f->lost, >, 0);
	g_assert_cmpint(f->events, >, 0);
	g_assert_cmpint(f->events + f->lost, ==, n * pages);
}

static void test_who_joins_late_has_lost_nothing(Fixture *f, gconstpointer data)
{
	GByteArray *before = page_at(1000), *after = page_at(2000);

	attach(f);
	test_page_hop(before, 0, 70001, "before", 1);
	move(f, 0, before);
	observe(f, RS_TRACE_FROM_NOW);
	look(f);
	test_page_hop(after, 0, 70001, "after", 2);
	move(f, 0, after);
	observe_end(f);
	g_assert_cmpstr(f->seen->str, ==, "2000 ended-70001 [0] hop: comm=after to=2 near\n");
}

/* Whether the observer or the agent comes first. */
static void test_an_observer_may_wait_for_the_bridge(Fixture *f, gconstpointer data)
{
	GByteArray *page = page_at(1000);

	observe(f, RS_TRACE_FROM_START);
	look(f);
	attach(f);
	test_page_hop(page, 0, 70001, "one", 1);
	move(f, 0, page);
	observe_end(f);
	g_assert_cmpstr(f->seen->str, ==, "1000 ended-70001 [0] hop: comm=one to=1 near\n");
}

static void test_without_a_decoder_all_is_lost_and_counted(Fixture *f, gconstpointer data)
{
	g_autofree char *folder = g_strdup(g_getenv("RINGSIDE_LIBEXEC"));
	GByteArray *page = page_at(1000);

	g_setenv("RINGSIDE_LIBEXEC", "/nowhere", TRUE);
	attach(f);
	observe(f, RS_TRACE_FROM_START);
	test_page_hop(page, 0, 70001, "one", 1);
	test_page_hop(page, 0, 70001, "two", 1);
	move(f, 0, page);
	observe_end(f);
	g_setenv("RINGSIDE_LIBEXEC", folder, TRUE);
	g_assert_cmpstr(f->seen->str, ==, "lost 2\n");
}

static void add(const char *name, void (*test)(Fixture *f, gconstpointer data))
{
	g_test_add(name, Fixture, NULL, set_up, test, tear_down);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	add("/bridge/catalog", test_the_catalog_has_what_can_be_switched);
	add("/bridge/wishes", test_wishes_reach_tracefs);
	add("/bridge/text", test_events_arrive_with_their_text);
	add("/bridge/full-pages", test_full_pages_arrive_whole);
	add("/bridge/order", test_cpus_are_in_order);
	add("/bridge/order-of-parts", test_an_event_waits_for_what_another_cpu_has_not_shown);
	add("/bridge/parts", test_parts_of_a_page_count_once);
	add("/bridge/parts-at-end", test_what_waits_is_shown_at_the_end);
	add("/bridge/filter", test_a_filter_takes_records_out);
	add("/bridge/lost-by-ftrace", test_what_ftrace_lost_is_counted);
	add("/bridge/not-twice", test_nothing_is_counted_twice);
	add("/bridge/lost-by-us", test_pages_that_nobody_read_are_counted);
	add("/bridge/late", test_who_joins_late_has_lost_nothing);
	add("/bridge/early", test_an_observer_may_wait_for_the_bridge);
	add("/bridge/no-decoder", test_without_a_decoder_all_is_lost_and_counted);
	return g_test_run();
}
