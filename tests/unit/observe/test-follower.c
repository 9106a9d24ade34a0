/* SPDX-License-Identifier: MIT */
/* One source, followed by hand. */
#include "rs-trace-follower.h"

#include "pages.h"

#include <string.h>

typedef struct {
	RsTraceSink *follower;
	RsTraceFeed *feed;
	TestPages *pages;
	GString *out;
	guint freed;
} Fixture;

static void show(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	Fixture *f = data;

	if (record->kind == RS_TRACE_RECORD_LOSS)
		g_string_append_printf(f->out, "%u lost %u; ", record->ring, (guint)record->lost);
	else if (record->kind == RS_TRACE_RECORD_BOOT)
		g_string_append_printf(f->out, "%u boot %u at %u; ", record->origin->index,
				       record->when.boot, (guint)record->ns);
	else
		g_string_append_printf(
			f->out, "%u.%u %s %s at %u; ", record->origin->index, record->ring,
			task->comm, record->event ? record->event->name : "?", (guint)record->ns);
}

static void set_up(Fixture *f, gconstpointer unused)
{
	const RsTraceFollowerConfig config = {.record = show, .data = f};

	f->out = g_string_new(NULL);
	f->follower = rs_trace_follower_new(&config);
	f->pages = test_pages_new(&f->freed);
	f->feed = rs_trace_feed_new(&f->pages->source, f->follower, 3, NULL);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	rs_trace_feed_free(f->feed);
	g_assert_cmpuint(f->freed, ==, 1);
	f->follower->ops->free(f->follower);
	g_string_free(f->out, TRUE);
}

static RsTraceRingStatus do_round(Fixture *f)
{
	RsTraceRingStatus status;

	f->follower->ops->begin_round(f->follower);
	status = rs_trace_feed_read(f->feed, 0);
	f->follower->ops->end_round(f->follower, 0);
	return status;
}

static void test_order(Fixture *f, gconstpointer unused)
{
	f->pages->endless = TRUE;
	test_pages_add(f->pages, 0, 200, 7, TEST_SWITCH);
	test_pages_add(f->pages, 1, 100, 8, TEST_SWITCH);
	g_assert_cmpint(do_round(f), ==, RS_TRACE_RING_DATA);
	g_assert_cmpstr(f->out->str, ==, "");
	g_assert_cmpint(do_round(f), ==, RS_TRACE_RING_IDLE);
	g_assert_cmpstr(f->out->str, ==, "0.1 <...> switch at 100; 0.0 seven switch at 200; ");
	f->pages->endless = FALSE;
	g_assert_cmpint(do_round(f), ==, RS_TRACE_RING_END);
	g_string_truncate(f->out, 0);
	rs_trace_feed_finish(f->feed);
	f->follower->ops->end(f->follower);
	g_assert_cmpstr(f->out->str, ==, "1 lost 5; ");
}

/* More pages than one round takes: the ring counts as in flight, and other records wait for it. */
static void test_many_pages(Fixture *f, gconstpointer unused)
{
	for (guint i = 0; i <= 2 * RS_TRACE_FEED_CHUNKS; i++)
		test_pages_add(f->pages, 0, 10 + i, 7, TEST_SWITCH);
	test_pages_add(f->pages, 1, 1000, 7, TEST_SWITCH);
	do_round(f);
	do_round(f);
	g_assert_cmpstr(f->out->str, ==, "");
	do_round(f);
	do_round(f); /* the event at 1000 waits for all that came with the event at 138 */
	g_assert_true(g_str_has_prefix(f->out->str, "0.0 seven switch at 10; "));
	g_assert_true(g_str_has_suffix(f->out->str, "at 138; 0.1 seven switch at 1000; "));
}

/* A provider that came after the last look, but before the page. */
static void test_late(Fixture *f, gconstpointer unused)
{
	test_pages_add(f->pages, 0, 1, 7, 99);
	do_round(f);
	g_assert_cmpuint(f->pages->told, ==, 1);
	g_assert_cmpuint(rs_trace_follower_bad(f->follower), ==, 1);
	f->pages->later = g_byte_array_new();
	test_desc_all(f->pages->later);
	test_pages_add_boot(f->pages, 2, 0, 110, 7, TEST_ALL);
	do_round(f);
	do_round(f);
	g_assert_cmpuint(f->pages->told, ==, 2);
	g_assert_cmpuint(rs_trace_follower_bad(f->follower), ==, 1);
	g_assert_cmpstr(f->out->str, ==,
			"0.0 seven ? at 1; 0 boot 2 at 105; 0.0 again all at 110; ");
}

static void show_sorted(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	g_string_append_printf(data, "%u.%d %u/%u; ", record->ring, (int)record->kind,
			       (guint)record->sorted_ns, (guint)record->ns);
}

static void round_at(RsTraceSink *follower, RsTraceFeed *feed, guint64 now_ns)
{
	follower->ops->begin_round(follower);
	rs_trace_feed_read(feed, now_ns);
	follower->ops->end_round(follower, now_ns);
}

/*
 * Who claims to be far in the future comes shortly behind the round, and others are as they were.
 * What a ring without a record lost is no earlier than the others' records.
 */
static void test_bounded(Fixture *f, gconstpointer unused)
{
	g_autoptr(GString) out = g_string_new(NULL);
	const RsTraceFollowerConfig config = {
		.record = show_sorted, .data = out, .ahead_ns = 50, .origin_ns = 1000};
	RsTraceSink *follower = rs_trace_follower_new(&config);
	guint freed = 0;
	TestPages *pages = test_pages_new(&freed);
	RsTraceFeed *feed = rs_trace_feed_new(&pages->source, follower, 3, NULL);

	test_pages_add(pages, 0, 200, 7, TEST_SWITCH);
	test_pages_add(pages, 0, 245, 7, TEST_SWITCH);
	test_pages_add(pages, 0, 900000, 7, TEST_SWITCH);
	round_at(follower, feed, 1190);
	round_at(follower, feed, 1200);
	g_assert_cmpstr(out->str, ==, "0.0 200/200; 0.0 245/245; 0.0 250/900000; ");
	g_string_truncate(out, 0);
	rs_trace_feed_finish(feed);
	follower->ops->end(follower);
	g_assert_cmpstr(out->str, ==, "1.1 250/900000; ");
	rs_trace_feed_free(feed);
	follower->ops->free(follower);
	g_assert_cmpuint(freed, ==, 1);
}

/*
 * Another boot says so in its place. The ids of the one before mean other events in it, its pids
 * other tasks.
 */
static void test_boot(Fixture *f, gconstpointer unused)
{
	f->pages->later = g_byte_array_new();
	test_desc_end(test_desc_new(TEST_SWITCH, "other", "event"), NULL, NULL, f->pages->later);
	test_pages_add(f->pages, 0, 100, 7, TEST_SWITCH);
	test_pages_add_boot(f->pages, 2, 0, 110, 7, TEST_SWITCH);
	test_pages_add_boot(f->pages, 2, 1, 106, 7, TEST_SWITCH);
	do_round(f);
	do_round(f);
	g_assert_cmpstr(f->out->str, ==,
			"0.0 seven switch at 100; 0 boot 2 at 105; 0.1 again event at 106; "
			"0.0 again event at 110; ");
	/* An event that nobody described. */
	test_pages_add_boot(f->pages, 3, 0, 130, 7, TEST_SWITCH);
	g_string_truncate(f->out, 0);
	do_round(f);
	do_round(f);
	g_assert_cmpstr(f->out->str, ==, "0 boot 3 at 130; 0.0 <...> ? at 130; ");
	g_assert_cmpuint(rs_trace_follower_bad(f->follower), ==, 1);
}

/*
 * Another provider with each page, as fast as a guest can. A round takes some of them, and what is
 * remembered stays below a bound, with every event that a held record names.
 */
static void test_churn(Fixture *f, gconstpointer unused)
{
	const guint n = 2000, symbols = 4000, bytes = symbols * sizeof(struct rs_symbol);
	guint left, rounds = 0;

	f->pages->churn = symbols;
	for (guint i = 0; i < n; i++)
		test_pages_add(f->pages, 0, 10 + i, 7, TEST_SWITCH);
	/* Nothing is shown yet. */
	f->follower->ops->begin_round(f->follower);
	do {
		left = f->pages->pages->len;
		g_assert_cmpint(rs_trace_feed_read(f->feed, 0), ==, RS_TRACE_RING_IN_FLIGHT);
		g_assert_cmpuint((left - f->pages->pages->len) * bytes, <=, 2u << 20);
		rounds++;
	} while (f->pages->pages->len < left);
	g_assert_cmpuint(rounds, >, 10);
	g_assert_cmpuint((n - left) * bytes, <=, 32u << 20);
	f->follower->ops->end_round(f->follower, 0);
	/* It goes on by itself. */
	for (rounds = 0; f->pages->pages->len; rounds++)
		do_round(f);
	g_assert_cmpuint(rounds, <, n / 10);
	f->follower->ops->end(f->follower);
	g_assert_cmpuint(rs_trace_follower_bad(f->follower), ==, 0);
	g_assert_null(strchr(f->out->str, '?'));
	g_assert_true(g_str_has_suffix(f->out->str, "0.0 seven event at 2009; "));
}

/* Providers with next to nothing: their number is bounded. */
static void test_many_providers(Fixture *f, gconstpointer unused)
{
	const guint n = 10000;
	guint left;

	f->pages->churn = 1;
	for (guint i = 0; i < n; i++)
		test_pages_add(f->pages, 0, 10 + i, 7, TEST_SWITCH);
	f->follower->ops->begin_round(f->follower);
	do {
		left = f->pages->pages->len;
		rs_trace_feed_read(f->feed, 0);
	} while (f->pages->pages->len < left);
	g_assert_cmpuint(n - left, <, 5000);
	f->follower->ops->end_round(f->follower, 0);
	while (f->pages->pages->len)
		do_round(f);
	g_assert_cmpuint(rs_trace_follower_bad(f->follower), ==, 0);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, func)                                                                            \
	g_test_add("/observe/follower/" name, Fixture, NULL, set_up, func, tear_down)
	ADD("order", test_order);
	ADD("many-pages", test_many_pages);
	ADD("late", test_late);
	ADD("boot", test_boot);
	ADD("churn", test_churn);
	ADD("many-providers", test_many_providers);
	ADD("bounded", test_bounded);
	return g_test_run();
}
