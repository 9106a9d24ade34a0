/* SPDX-License-Identifier: MIT */
/*
 * The cmdline cache between threads that name tasks through the agent and a viewer that takes
 * snapshots the way that the CLI does: built with ThreadSanitizer, all but GLib. A name says to
 * whom it belongs, twice, so that half a name or another task's is seen. Few buckets: the writers
 * meet in every entry.
 */
#include "region/regions.h"

#include <glib.h>
#include <pthread.h>
#include <ringside/agent.h>
#include <ringside/atomic.h>
#include <ringside/cmdline.h>
#include <rs-trace-cmdline.h>
#include <stdio.h>
#include <string.h>

#define WRITERS 3u
#define NAMES 150000u
#define PIDS 24u
#define BUCKET 3u

static RsTraceRegion *region;
static uint64_t ticks;
static uint32_t writing;

static uint64_t clock_tick(void)
{
	return __atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
}

/* Pids that share one bucket. */
static uint32_t pid_of(uint32_t n)
{
	static const uint32_t most = 1u << 20;
	uint32_t buckets = region->header.section[RS_SEC_CMDLINE].count;

	for (uint32_t pid = 1; pid < most; pid++) {
		if (rs_cmdline_hash(pid, buckets) == BUCKET && n-- == 0)
			return pid;
	}
	g_assert_not_reached();
}
static uint32_t pids[PIDS];

static void make_name(char out[RS_COMM_LEN + 1], uint32_t pid, uint32_t n)
{
	guint other = n ^ pid * 0x9e3779b1u;

	/* Every part depends on the number, and all but the first also on the task. */
	g_snprintf(out, RS_COMM_LEN + 1, "%08x%08x%08x%08x%08x", n, other, ~other, other + 1,
		   other * 3);
}

static void check_name(const char *name, uint32_t pid)
{
	char expected[RS_COMM_LEN + 1];
	guint n;

	g_assert_cmpuint(strlen(name), ==, RS_COMM_LEN);
	g_assert_cmpint(sscanf(name, "%8x", &n), ==, 1);
	make_name(expected, pid, n);
	g_assert_cmpstr(name, ==, expected);
}

static void *writer(void *data)
{
	uint32_t me = (uint32_t)(uintptr_t)data;

	for (uint32_t i = 0; i < NAMES; i++) {
		uint32_t pid = pids[(i * 7 + me) % PIDS];
		char name[RS_COMM_LEN + 1];

		make_name(name, pid, i * WRITERS + me);
		rs_agent_cmdline(pid, pid + 1, name);
	}
	__atomic_sub_fetch(&writing, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Like an observer, but copies only the bucket that all use, to look more often. */
static void snapshot(RsTraceCmdline *names)
{
	const size_t size = sizeof(struct rs_cmdline_bucket), at = BUCKET * size;
	uint64_t copy[2][sizeof(struct rs_cmdline_bucket) / 8];

	rs_trace_region_copy(region, RS_SEC_CMDLINE, at, copy[0], size);
	rs_rmb();
	rs_trace_region_copy(region, RS_SEC_CMDLINE, at, copy[1], size);
	rs_trace_cmdline_merge(names, (const guint8 *)copy[0], (const guint8 *)copy[1], size,
			       sizeof(struct rs_cmdline_entry));
}

static uint32_t check_all(RsTraceCmdline *names)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < PIDS; i++) {
		RsTraceTask task;

		rs_trace_cmdline_lookup(names, pids[i], (RsTraceMoment){1, UINT32_MAX, UINT64_MAX},
					&task);
		if (!strcmp(task.comm, "<...>"))
			continue;
		check_name(task.comm, pids[i]);
		g_assert_cmpuint(task.tgid, ==, pids[i] + 1);
		known++;
	}
	return known;
}

static void begin(void)
{
	static const struct rs_trace_ops ops = {.time_now = clock_tick};
	struct rs_region_config layout = {.vcpus = 1, .ring_bytes = 64 * 1024};
	struct rs_agent_config config = {.ops = &ops};

	g_assert_cmpint(rs_region_create(&layout, &region, NULL), ==, 0);
	config.region = region->map;
	config.region_size = region->size;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	for (uint32_t i = 0; i < PIDS; i++)
		pids[i] = pid_of(i);
}

static void end(void)
{
	rs_agent_fini();
	rs_trace_region_free(region);
}

/*
 * A task that changes its name faster than a reader looks. Whatever the reader missed, it shows the
 * name of that time or none. A name that it saw is shown, up to the next one that it saw or missed.
 */
static void test_hasty(void)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
	g_autoptr(GArray) since = g_array_new(FALSE, FALSE, sizeof(uint64_t));
	uint32_t missed = 0;

	begin();
	for (uint32_t round = 0; round < 10; round++) {
		uint32_t hurry = round % 3 ? RS_CMDLINE_WAYS / 2 : 2 * RS_CMDLINE_WAYS + 3;

		for (uint32_t i = 0; i < hurry; i++) {
			char name[RS_COMM_LEN + 1];

			make_name(name, pids[0], since->len);
			rs_agent_cmdline(pids[0], 0, name);
			g_array_append_val(since, ticks);
		}
		snapshot(names);
		for (uint32_t i = 0; i < since->len; i++) {
			RsTraceMoment when = {1, 0, g_array_index(since, uint64_t, i)};
			char name[RS_COMM_LEN + 1];
			RsTraceTask task;

			make_name(name, pids[0], i);
			rs_trace_cmdline_lookup(names, pids[0], when, &task);
			if (!strcmp(task.comm, "<...>") && i + RS_CMDLINE_WAYS < since->len)
				missed++;
			else
				g_assert_cmpstr(task.comm, ==, name);
		}
	}
	g_assert_cmpuint(missed, >, 0);
	end();
}

static void test_race(void)
{
	g_autoptr(RsTraceCmdline) names = rs_trace_cmdline_new();
	pthread_t threads[WRITERS];
	uint32_t rounds = 0;

	begin();
	writing = WRITERS;
	for (uintptr_t i = 0; i < WRITERS; i++)
		g_assert_cmpint(pthread_create(&threads[i], NULL, writer, (void *)i), ==, 0);
	while (__atomic_load_n(&writing, __ATOMIC_ACQUIRE)) {
		snapshot(names);
		check_all(names);
		rounds++;
	}
	for (uint32_t i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	/* After the writers have ended, every way of the bucket holds a name. */
	snapshot(names);
	g_assert_cmpuint(check_all(names), >=, 1);
	g_test_message("%u snapshots, %u tasks known", rounds, check_all(names));
	end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/names/hasty", test_hasty);
	g_test_add_func("/agent/names/race", test_race);
	return g_test_run();
}
