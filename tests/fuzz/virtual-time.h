/* SPDX-License-Identifier: MIT */
/*
 * Takes the place of hv/base/ticks.c and of GLib's clock, for a target that must not wait: time
 * passes by being asked for. Include it in one file of a target.
 */
#ifndef RS_TESTS_FUZZ_TIME_H
#define RS_TESTS_FUZZ_TIME_H

#include "base/ticks.h"

#include <glib.h>
#include <sched.h>

#ifndef RS_FUZZ_TICK_NS
#define RS_FUZZ_TICK_NS 2000u
#endif
#define RS_FUZZ_BEGIN 1000000000u

static uint64_t rs_fuzz_now = RS_FUZZ_BEGIN;
/* What others do while time passes. NULL: nothing. */
static void (*rs_fuzz_meanwhile)(void);

uint64_t rs_ticks(void)
{
	return rs_fuzz_now;
}

uint64_t rs_monotonic_ns(void)
{
	rs_fuzz_now += RS_FUZZ_TICK_NS;
	if (rs_fuzz_meanwhile)
		rs_fuzz_meanwhile();
	return rs_fuzz_now;
}

uint64_t rs_wall_ns(void)
{
	return rs_fuzz_now;
}

struct rs_moment rs_moment_now(void)
{
	return (struct rs_moment){rs_fuzz_now, rs_fuzz_now};
}

double rs_moment_rate(const struct rs_moment *from, const struct rs_moment *to)
{
	return to->ns > from->ns
		       ? (double)(to->ticks - from->ticks) * 1e9 / (double)(to->ns - from->ns)
		       : 0;
}

uint64_t rs_ticks_hz(const struct rs_moment *since)
{
	return 1000000000u;
}

/* GLib itself keeps the real time, which is far ahead: every timer is due at once. */
gint64 g_get_monotonic_time(void)
{
	return (gint64)(rs_fuzz_now / 1000);
}

/* So are those that the code under test lets GLib make. */
GSource *g_timeout_source_new(guint interval)
{
	GSource *source = g_idle_source_new();

	g_source_set_priority(source, G_PRIORITY_DEFAULT);
	return source;
}

/* Who waits for an answer moves to another CPU, which takes a while. */
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus)
{
	return 0;
}

void g_usleep(gulong us)
{
	rs_fuzz_now += us * 1000;
}

#endif
