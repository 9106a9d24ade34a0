/* SPDX-License-Identifier: MIT */
/* One source, followed by hand. */
#include "rs-trace-follower.h"

#include "pages.h"

typedef struct {
	RsTraceMerger *merger;
	RsTraceFollower *follower;
	TestPages *pages;
	GString *out;
	guint freed;
} Fixture;

static void show(const RsTraceRecord *record, gpointer data)
{
	Fixture *f = data;

	if (record->lost)
		g_string_append_printf(f->out, "%u lost %u; ", record->ring, (guint)record->lost);
	else
		g_string_append_printf(f->out, "%u.%u %s %s at %u; ", record->source, record->ring,
				       rs_trace_follower_comm(f->follower, record),
				       record->event ? record->event->name : "?",
				       (guint)record->ns);
}

static void set_up(Fixture *f, gconstpointer unused)
{
	f->out = g_string_new(NULL);
	f->merger = rs_trace_merger_new(0, 0, show, f);
	f->pages = test_pages_new(&f->freed);
	f->follower = rs_trace_follower_new(&f->pages->source, 3, f->merger);
}

static void tear_down(Fixture *f, gconstpointer unused)
{
	rs_trace_follower_free(f->follower);
	g_assert_cmpuint(f->freed, ==, 1);
	rs_trace_merger_free(f->merger);
	g_string_free(f->out, TRUE);
}

static RsTraceRingStatus do_round(Fixture *f)
{
	RsTraceRingStatus status;

	rs_trace_merger_begin_round(f->merger);
	status = rs_trace_follower_read(f->follower, 0);
	rs_trace_follower_update_names(f->follower);
	rs_trace_merger_end_round(f->merger, 0);
	return status;
}

static void test_order(Fixture *f, gconstpointer unused)
{
	f->pages->endless = TRUE;
	test_pages_add(f->pages, 0, 200, 7, 16);
	test_pages_add(f->pages, 1, 100, 8, 16);
	g_assert_cmpint(do_round(f), ==, RS_TRACE_RING_DATA);
	g_assert_cmpstr(f->out->str, ==, "");
	g_assert_cmpint(do_round(f), ==, RS_TRACE_RING_IDLE);
	g_assert_cmpstr(f->out->str, ==, "3.1 <...> switch at 100; 3.0 seven switch at 200; ");
	f->pages->endless = FALSE;
	g_assert_cmpint(do_round(f), ==, RS_TRACE_RING_END);
	g_string_truncate(f->out, 0);
	rs_trace_follower_finish(f->follower);
	rs_trace_merger_flush(f->merger);
	g_assert_cmpstr(f->out->str, ==, "1 lost 5; ");
}

/* More than a round takes: the ring counts as in flight, so that what others brought waits for it. */
static void test_many_pages(Fixture *f, gconstpointer unused)
{
	for (guint i = 0; i <= 2 * RS_TRACE_FOLLOWER_CHUNKS; i++)
		test_pages_add(f->pages, 0, 10 + i, 7, 16);
	test_pages_add(f->pages, 1, 1000, 7, 16);
	do_round(f);
	do_round(f);
	g_assert_cmpstr(f->out->str, ==, "");
	do_round(f);
	g_assert_true(g_str_has_prefix(f->out->str, "3.0 seven switch at 10; "));
	g_assert_true(g_str_has_suffix(f->out->str, "at 138; 3.1 seven switch at 1000; "));
}

static void test_unknown(Fixture *f, gconstpointer unused)
{
	test_pages_add(f->pages, 0, 1, 7, 99);
	do_round(f);
	g_assert_cmpuint(f->pages->told, ==, 1);
	g_assert_cmpuint(rs_trace_follower_bad(f->follower), ==, 1);
	f->pages->later = g_byte_array_new();
	test_desc_all(f->pages->later);
	test_pages_add(f->pages, 0, 2, 7, 17);
	do_round(f);
	do_round(f);
	g_assert_cmpuint(f->pages->told, ==, 2);
	g_assert_cmpuint(rs_trace_follower_bad(f->follower), ==, 1);
	g_assert_cmpstr(f->out->str, ==, "3.0 seven ? at 1; 3.0 seven all at 2; ");
}

/* The ids of another boot mean other events, and what is held is of the old one. */
static void test_boot(Fixture *f, gconstpointer unused)
{
	test_pages_add(f->pages, 0, 100, 7, 16);
	do_round(f);
	g_assert_cmpstr(f->out->str, ==, "");
	f->pages->boot++;
	test_pages_add(f->pages, 0, 110, 7, 16);
	do_round(f);
	g_assert_cmpstr(f->out->str, ==, "3.0 seven switch at 100; ");
	do_round(f);
	g_assert_cmpstr(f->out->str, ==, "3.0 seven switch at 100; 3.0 seven ? at 110; ");
	g_assert_cmpuint(rs_trace_follower_bad(f->follower), ==, 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#define ADD(name, func)                                                                            \
	g_test_add("/observe/follower/" name, Fixture, NULL, set_up, func, tear_down)
	ADD("order", test_order);
	ADD("many-pages", test_many_pages);
	ADD("unknown", test_unknown);
	ADD("boot", test_boot);
	return g_test_run();
}
