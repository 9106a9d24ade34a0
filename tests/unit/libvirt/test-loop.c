/* SPDX-License-Identifier: MIT */
#include "libvirt/loop.h"

#include <unistd.h>

#define PATIENCE (30 * G_TIME_SPAN_SECOND)

static GMutex lock;
static GCond changed;
static int reads, ticks, released;
static GThread *there;

static void note(int *count)
{
	g_mutex_lock(&lock);
	(*count)++;
	there = g_thread_self();
	g_cond_signal(&changed);
	g_mutex_unlock(&lock);
}

static void await(const int *count, int least)
{
	gint64 end = g_get_monotonic_time() + PATIENCE;

	g_mutex_lock(&lock);
	while (*count < least)
		g_assert_true(g_cond_wait_until(&changed, &lock, end));
	g_mutex_unlock(&lock);
}

static void on_read(int watch, int fd, int events, void *opaque)
{
	char byte;

	g_assert_true(opaque == &reads);
	if (events & RS_LOOP_READABLE && read(fd, &byte, 1) == 1)
		note(&reads);
}

static void on_tick(int timer, void *opaque)
{
	note(&ticks);
	/* Itself, while it is called. */
	if (ticks == 3)
		rs_loop_remove_timeout(timer);
}

static void on_release(void *opaque)
{
	note(&released);
}

static void test_files_and_timers_call_on_the_loop(void)
{
	int ends[2], watch, timer;

	rs_loop_start();
	g_assert_cmpint(pipe(ends), ==, 0);
	watch = rs_loop_add_handle(ends[0], RS_LOOP_READABLE, on_read, &reads, on_release);
	g_assert_cmpint(watch, >=, 0);
	g_assert_cmpint(write(ends[1], "a", 1), ==, 1);
	await(&reads, 1);
	g_assert_true(there != g_thread_self());
	/* It waits for nothing, then again. */
	rs_loop_update_handle(watch, 0);
	g_assert_cmpint(write(ends[1], "b", 1), ==, 1);
	timer = rs_loop_add_timeout(-1, on_tick, NULL, on_release);
	rs_loop_update_timeout(timer, 1);
	await(&ticks, 3);
	await(&released, 1);
	g_assert_cmpint(reads, ==, 1);
	rs_loop_update_handle(watch, RS_LOOP_READABLE);
	await(&reads, 2);
	g_assert_cmpint(rs_loop_remove_handle(watch), ==, 0);
	await(&released, 2);
	g_assert_cmpint(rs_loop_remove_handle(watch), ==, -1);
	g_assert_cmpint(rs_loop_remove_timeout(timer), ==, -1);
	g_assert_cmpint(ticks, ==, 3);
	close(ends[0]);
	close(ends[1]);
}

static void test_no_file_is_refused(void)
{
	g_assert_cmpint(rs_loop_add_handle(-1, RS_LOOP_READABLE, on_read, NULL, NULL), ==, -1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/loop/calls", test_files_and_timers_call_on_the_loop);
	g_test_add_func("/loop/no-file", test_no_file_is_refused);
	return g_test_run();
}
