/* SPDX-License-Identifier: MIT */
/*
 * Threads that look for events by their ids and use their state, while providers come, go, and are
 * freed at once: built with ThreadSanitizer, and again with ASan/UBSan. One provider stays, so its
 * events must always be found, even while the list changes before and behind it.
 */
#include "region/regions.h"

#include <glib.h>
#include <pthread.h>
#include <ringside/agent.h>
#include <ringside/atomic.h>
#include <sched.h>

#define LOOKERS 3u
#define ROUNDS 300u
#define IDS 8u
#define USED ((void *)1234)

static const struct rs_event_info infos[2] = {
	{.system = "test", .name = "first", .print = "first", .print_args = ""},
	{.system = "test", .name = "second", .print = "second", .print_args = ""},
};

/* A provider in memory of its own, as that of a plugin is. */
struct image {
	struct rs_event events[2];
	struct rs_agent_provider provider;
};

static RsTraceRegion *region;
static struct image *stays;
static uint32_t ended, used;

static struct image *make(const char *name)
{
	struct image *image = g_aligned_alloc0(1, sizeof(*image), 64);

	for (uint32_t i = 0; i < 2; i++)
		image->events[i].info = &infos[i];
	image->provider = (struct rs_agent_provider){
		.name = name,
		.events = image->events,
		.events_end = image->events + 2,
	};
	return image;
}

static struct image *load(const char *name)
{
	struct image *image = make(name);

	g_assert_cmpint(rs_agent_register(&image->provider), ==, 0);
	return image;
}

static void unload(struct image *image)
{
	g_assert_cmpint(rs_agent_unregister(&image->provider), ==, 0);
	memset(image, 0xee, sizeof(*image));
	g_aligned_free(image);
}

static void begin(const struct rs_trace_ops *ops)
{
	struct rs_region_config layout = {.vcpus = 1, .ring_bytes = 64 * 1024};
	struct rs_agent_config config = {.cpu_count = 1, .ops = ops};

	g_assert_cmpint(rs_region_create(&layout, &region, NULL), ==, 0);
	config.region = region->map;
	config.region_size = region->size;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	stays = load("stays");
}

/* All that are left go at once. */
static void end(void)
{
	rs_agent_fini();
	g_assert_null(rs_event_by_id(RS_FIRST_EVENT_ID));
	g_assert_cmpuint(stays->events[0].id, ==, 0);
	g_aligned_free(stays);
	rs_trace_region_free(region);
}

static void on_write(struct rs_event_state *state, void *data)
{
	rs_store(&state->own, USED);
}

/* The image must not be gone before this has returned. */
static void on_read(const struct rs_event_state *state, void *data)
{
	for (uint32_t i = 0; i < 20; i++) {
		void *value = rs_load(&state->own);

		g_assert_true(value == USED || !value);
	}
	rs_shared_add32(data, 1);
}

static void *look(void *data)
{
	while (!rs_load_acquire(&ended)) {
		for (uint32_t id = RS_FIRST_EVENT_ID; id < RS_FIRST_EVENT_ID + IDS; id++) {
			rs_event_write_state(id, on_write, NULL);
			rs_event_read_state(id, on_read, &used);
			/* May be of a provider that goes, so nobody follows it. */
			(void)rs_event_by_id(id);
		}
		g_assert_true(rs_event_by_id(stays->events[1].id) == &stays->events[1]);
	}
	return NULL;
}

/* ---- one change, and lookers that come and go at set times ---- */

static struct image *goes;
static uint32_t waits, came, gone;

static void await(const uint32_t *flag)
{
	while (!rs_load_acquire(flag))
		sched_yield();
}

static void op_relax(void)
{
	rs_store_release(&waits, 1);
	sched_yield();
}

static void *take_away(void *data)
{
	unload(goes);
	rs_store_release(&gone, 1);
	return NULL;
}

static void stay(const struct rs_event_state *state, void *data)
{
	rs_store_release(&came, 1);
	await(&gone);
}

static void *come_later(void *data)
{
	rs_event_read_state(stays->events[0].id, stay, NULL);
	return NULL;
}

/* Who looks already is waited for. Who comes later is not, and may look as long as he wants. */
static void look_first(const struct rs_event_state *state, void *data)
{
	pthread_t *threads = data;

	g_assert_cmpint(pthread_create(&threads[0], NULL, take_away, NULL), ==, 0);
	await(&waits);
	g_assert_cmpint(pthread_create(&threads[1], NULL, come_later, NULL), ==, 0);
	await(&came);
	g_assert_cmpuint(rs_load_acquire(&gone), ==, 0);
}

static void test_turns(void)
{
	static const struct rs_trace_ops ops = {.relax = op_relax};

	for (uint32_t side = 0; side < 3; side++) {
		pthread_t threads[2];

		begin(&ops);
		goes = load("goes");
		waits = came = gone = 0;
		rs_event_read_state(stays->events[0].id, look_first, threads);
		for (uint32_t i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		end();
	}
}

/* What stands behind a provider's events is none of them. */
static void test_ends(void)
{
	struct image *image;

	begin(NULL);
	image = make("one");
	image->provider.events_end--;
	g_assert_cmpint(rs_agent_register(&image->provider), ==, 0);
	image->events[1].id = 4000;
	g_assert_true(rs_event_by_id(image->events[0].id) == &image->events[0]);
	g_assert_null(rs_event_by_id(4000));
	unload(image);
	end();
}

static void test_race(void)
{
	pthread_t threads[LOOKERS];

	begin(NULL);
	for (uintptr_t i = 0; i < LOOKERS; i++)
		g_assert_cmpint(pthread_create(&threads[i], NULL, look, NULL), ==, 0);
	/* However late the lookers come, they come. */
	for (uint32_t i = 0; i < ROUNDS || !rs_load(&used); i++) {
		struct image *before = load("before"), *behind = load("behind");

		unload(i % 2 ? before : behind);
		unload(i % 2 ? behind : before);
	}
	rs_store_release(&ended, 1);
	for (uint32_t i = 0; i < LOOKERS; i++)
		pthread_join(threads[i], NULL);
	g_test_message("%u times in use", used);
	end();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/state/race", test_race);
	g_test_add_func("/agent/state/turns", test_turns);
	g_test_add_func("/agent/state/ends", test_ends);
	return g_test_run();
}
