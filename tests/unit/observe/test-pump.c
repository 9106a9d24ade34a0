/* SPDX-License-Identifier: MIT */
/* Sources of pages in memory: all records come out, and the owner's thread learns of the end. */
#include "rs-trace-pump.h"
#include "rs-trace-follower.h"

#include "pages.h"
#include "rs-trace-urgent.h"

#include <sched.h>

typedef struct {
	GThread *owner;
	GMainLoop *loop;
	RsTraceSink *follower;
	GString *out;
	guint records, lost, limit;
	gboolean done;
	int policy; /* by which the pump's thread runs */
} Taker;

static void on_record(const RsTraceRecord *record, const RsTraceTask *task, gpointer data)
{
	Taker *t = data;

	g_assert_true(g_thread_self() != t->owner);
	if (record->kind == RS_TRACE_RECORD_LOSS)
		t->lost += (guint)record->lost;
	if (record->kind != RS_TRACE_RECORD_EVENT)
		return;
	t->records++;
	t->policy = sched_getscheduler(0);
	g_string_append_printf(t->out, "%u:%s@%u ", record->origin->index, task->comm,
			       (guint)record->ns);
}

static gboolean on_round(gpointer data)
{
	Taker *t = data;

	return !t->limit || t->records < t->limit;
}

static void on_done(gpointer data)
{
	Taker *t = data;

	g_assert_true(g_thread_self() == t->owner);
	t->done = TRUE;
	g_main_loop_quit(t->loop);
}

/* `limit`: records that are enough; 0: never. */
static RsTracePump *new_pump_of(Taker *t, guint limit, const RsTracePumpConfig *wanted)
{
	RsTraceFollowerConfig follower = {.record = on_record, .round = on_round, .data = t};
	RsTracePumpConfig config = *wanted;

	*t = (Taker){.owner = g_thread_self(),
		     .loop = g_main_loop_new(NULL, FALSE),
		     .out = g_string_new(NULL),
		     .limit = limit};
	config.data = t;
	t->follower = config.sink = rs_trace_follower_new(&follower);
	return rs_trace_pump_new(&config);
}

static RsTracePump *new_pump(Taker *t, guint limit)
{
	return new_pump_of(t, limit, &(RsTracePumpConfig){.done = on_done});
}

static void clear(Taker *t, RsTracePump *pump)
{
	rs_trace_pump_free(pump);
	g_main_loop_unref(t->loop);
	g_string_free(t->out, TRUE);
}

/* Both are there from the start: their records come in the order of time. Both end. */
static void test_two_sources(void)
{
	guint freed = 0;
	TestPages *a = test_pages_new(&freed), *b = test_pages_new(&freed);
	RsTracePump *pump;
	Taker t;

	test_pages_add(a, 0, 10, 7, TEST_SWITCH);
	test_pages_add(a, 1, 30, 8, TEST_SWITCH);
	test_pages_add(b, 0, 20, 7, TEST_SWITCH);
	test_pages_add(b, 0, 40, 7, TEST_SWITCH);
	pump = new_pump(&t, 0);
	g_assert_cmpuint(rs_trace_pump_add(pump, &a->source, NULL), ==, 0);
	g_assert_cmpuint(rs_trace_pump_add(pump, &b->source, NULL), ==, 1);
	rs_trace_pump_start(pump);
	g_main_loop_run(t.loop);
	g_assert_true(t.done);
	rs_trace_pump_finish(pump);
	g_assert_cmpuint(rs_trace_follower_bad(t.follower), ==, 0);
	g_assert_cmpuint(t.records, ==, 4);
	g_assert_cmpstr(t.out->str, ==, "0:seven@10 1:seven@20 0:<...>@30 1:seven@40 ");
	clear(&t, pump);
	g_assert_cmpuint(freed, ==, 2);
}

/* The rest is read at the end. A caller that asked for the end is not told of it. */
static void test_finish(void)
{
	guint freed = 0;
	TestPages *a = test_pages_new(&freed), *b = test_pages_new(&freed);
	RsTracePump *pump;
	Taker t;

	a->endless = b->endless = TRUE;
	test_pages_add(a, 0, 10, 7, TEST_SWITCH);
	test_pages_add(b, 1, 5, 9, TEST_SWITCH);
	pump = new_pump(&t, 0);
	rs_trace_pump_add(pump, &a->source, NULL);
	rs_trace_pump_add(pump, &b->source, NULL);
	rs_trace_pump_start(pump);
	rs_trace_pump_finish(pump);
	g_assert_cmpuint(rs_trace_follower_bad(t.follower), ==, 0);
	g_assert_cmpuint(t.records, ==, 2);
	rs_trace_pump_finish(pump);
	g_assert_cmpuint(rs_trace_follower_bad(t.follower), ==, 0);
	while (g_main_context_iteration(NULL, FALSE))
		;
	g_assert_false(t.done);
	clear(&t, pump);
	g_assert_cmpuint(freed, ==, 2);
}

/* A guest that writes and changes its providers for ever does not put off the end. */
static void test_finish_churn(void)
{
	guint freed = 0;
	TestPages *a = test_pages_new(&freed), *b = test_pages_new(&freed);
	gint told;
	RsTracePump *pump;
	Taker t;

	a->repeats = b->endless = TRUE;
	a->churn = 4000;
	a->source.ring_pages = RS_RING_PAGES_MAX;
	b->source.ring_pages = 1024;
	test_pages_add(a, 0, 10, 7, TEST_SWITCH);
	for (guint i = 0; i < 1000; i++)
		test_pages_add(b, 1, 5, 9, TEST_SWITCH);
	pump = new_pump(&t, 0);
	rs_trace_pump_add(pump, &a->source, NULL);
	rs_trace_pump_add(pump, &b->source, NULL);
	rs_trace_pump_start(pump);
	told = g_atomic_int_get(&a->told);
	rs_trace_pump_finish(pump);
	g_assert_cmpint(g_atomic_int_get(&a->told) - told, <, 200);
	/* The other one is read to its end. */
	g_assert_cmpuint(b->pages->len, ==, 0);
	clear(&t, pump);
	g_assert_cmpuint(freed, ==, 2);
}

/* A source that writes as fast as it is read does not put off a stop; what was read comes out. */
static void test_stop(void)
{
	guint freed = 0;
	TestPages *a = test_pages_new(&freed);
	RsTracePump *pump;
	gint told;
	Taker t;

	a->repeats = TRUE;
	a->churn = 1;
	a->source.ring_pages = RS_RING_PAGES_MAX;
	test_pages_add(a, 0, 10, 7, TEST_SWITCH);
	pump = new_pump(&t, 0);
	rs_trace_pump_add(pump, &a->source, NULL);
	rs_trace_pump_start(pump);
	while (!(told = g_atomic_int_get(&a->told)))
		g_usleep(1000);
	rs_trace_pump_stop(pump);
	g_assert_cmpuint(rs_trace_follower_bad(t.follower), ==, 0);
	/* All that is there would be twice as many pages. */
	g_assert_cmpint(g_atomic_int_get(&a->told) - told, <, RS_RING_PAGES_MAX);
	/* It tells what it knows with each page, and once more at its end. */
	g_assert_cmpuint(t.records + 1, ==, g_atomic_int_get(&a->told));
	/* What was not read is still in the rings. */
	g_assert_cmpuint(t.lost, ==, 0);
	clear(&t, pump);
	g_assert_cmpuint(freed, ==, 1);
}

static void on_one_ended(gpointer source, gpointer data)
{
	g_main_loop_quit(((Taker *)data)->loop);
}

/* It was said that a source has ended, but it goes on writing. What it writes then is not lost. */
static void test_never_ends(void)
{
	guint freed = 0;
	TestPages *a = test_pages_new(&freed), *b = test_pages_new(&freed);
	RsTracePumpConfig config = {.ended = on_one_ended};
	RsTracePump *pump;
	Taker t;

	a->repeats = TRUE;
	b->endless = TRUE;
	test_pages_add(a, 0, 10, 7, TEST_SWITCH);
	pump = new_pump_of(&t, 0, &config);
	rs_trace_pump_add(pump, &a->source, NULL);
	rs_trace_pump_add(pump, &b->source, NULL);
	rs_trace_pump_start(pump);
	rs_trace_pump_end(pump, 0);
	g_main_loop_run(t.loop);
	g_assert_cmpuint(freed, ==, 1);
	rs_trace_pump_stop(pump);
	g_assert_cmpuint(t.records, >, 0);
	g_assert_cmpuint(t.lost, ==, 0);
	clear(&t, pump);
}

/* The taker of the records wants no more. */
static void test_enough(void)
{
	guint freed = 0;
	TestPages *a = test_pages_new(&freed);
	RsTracePump *pump;
	Taker t;

	a->endless = TRUE;
	test_pages_add(a, 0, 10, 7, TEST_SWITCH);
	test_pages_add(a, 0, 11, 7, 99);
	pump = new_pump(&t, 1);
	rs_trace_pump_add(pump, &a->source, NULL);
	rs_trace_pump_start(pump);
	g_main_loop_run(t.loop);
	g_assert_true(t.done);
	rs_trace_pump_finish(pump);
	g_assert_cmpuint(rs_trace_follower_bad(t.follower), ==, 1);
	clear(&t, pump);
}

static gpointer ask(gpointer data)
{
	rs_trace_urgent_ask(RS_TRACE_URGENT_REAL);
	return GINT_TO_POINTER(sched_getscheduler(0));
}

/* As any thread would become that asks, also if it is refused. */
static void test_urgent(void)
{
	gpointer expected = g_thread_join(g_thread_new("asks", ask, NULL));
	guint freed = 0;
	TestPages *a = test_pages_new(&freed);
	RsTracePump *pump;
	Taker t;

	test_pages_add(a, 0, 10, 7, TEST_SWITCH);
	pump = new_pump(&t, 0);
	rs_trace_pump_add(pump, &a->source, NULL);
	rs_trace_pump_set_urgent(pump, TRUE);
	rs_trace_pump_start(pump);
	g_main_loop_run(t.loop);
	rs_trace_pump_finish(pump);
	g_assert_cmpuint(t.records, ==, 1);
	g_assert_cmpint(t.policy, ==, GPOINTER_TO_INT(expected));
	clear(&t, pump);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/observe/pump/two-sources", test_two_sources);
	g_test_add_func("/observe/pump/finish", test_finish);
	g_test_add_func("/observe/pump/finish-churn", test_finish_churn);
	g_test_add_func("/observe/pump/stop", test_stop);
	g_test_add_func("/observe/pump/never-ends", test_never_ends);
	g_test_add_func("/observe/pump/enough", test_enough);
	g_test_add_func("/observe/pump/urgent", test_urgent);
	return g_test_run();
}
