/* SPDX-License-Identifier: MIT */
#include "document/rs-trace-turn-private.h"

#define READERS 8

static gint n_now, n_most, n_done, is_over; /* atomic */

static gboolean ask(gconstpointer unused)
{
	return g_atomic_int_get(&is_over);
}

static gpointer read_all(gpointer unused)
{
	gint now;

	for (guint i = 0; i < 20; i++) {
		g_assert_true(rs_trace_turn_begin(ask, NULL));
		now = g_atomic_int_add(&n_now, 1) + 1;
		if (now > g_atomic_int_get(&n_most))
			g_atomic_int_set(&n_most, now);
		g_usleep(500);
		g_atomic_int_add(&n_now, -1);
		rs_trace_turn_end();
	}
	g_atomic_int_inc(&n_done);
	return NULL;
}

static void test_some(void)
{
	GThread *threads[READERS];

	for (guint i = 0; i < READERS; i++)
		threads[i] = g_thread_new("read", read_all, NULL);
	for (guint i = 0; i < READERS; i++)
		g_thread_join(threads[i]);
	g_assert_cmpint(n_done, ==, READERS);
	g_assert_cmpint(n_most, <=, RS_TRACE_TURNS);
}

static gpointer wait_in_vain(gpointer unused)
{
	g_assert_false(rs_trace_turn_begin(ask, NULL));
	return NULL;
}

/* Who waits may be told that it is in vain, and takes no turn. */
static void test_over(void)
{
	GThread *thread;

	for (guint i = 0; i < RS_TRACE_TURNS; i++)
		g_assert_true(rs_trace_turn_begin(ask, NULL));
	thread = g_thread_new("wait", wait_in_vain, NULL);
	g_atomic_int_set(&is_over, TRUE);
	g_thread_join(thread);
	g_atomic_int_set(&is_over, FALSE);
	for (guint i = 0; i < RS_TRACE_TURNS; i++)
		rs_trace_turn_end();
	for (guint i = 0; i < RS_TRACE_TURNS; i++)
		g_assert_true(rs_trace_turn_begin(ask, NULL));
	for (guint i = 0; i < RS_TRACE_TURNS; i++)
		rs_trace_turn_end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/turn/some", test_some);
	g_test_add_func("/turn/over", test_over);
	return g_test_run();
}
