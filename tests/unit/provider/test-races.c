/* SPDX-License-Identifier: MIT */
/*
 * Threads that register and unregister one provider against its rules, with sanitizers. A panic
 * that returns shows that nothing of the agent is damaged by it: each call that panics has no
 * effect, and the others go on.
 */
#include <pthread.h>
#include <ringside/provider.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "region/regions.h"

RS_PROVIDER_DEFINE(net, "acme.net")

#define ROUNDS 2000u

static uint32_t panics, writing;

static void count_panic(const char *why)
{
	__atomic_add_fetch(&panics, 1, __ATOMIC_RELAXED);
}

static void relax(void)
{
	sched_yield();
}

/*
 * What another thread does while the agent registers, or unregisters: where it asks for the time.
 * The agent waits for it, but not for ever: the other may have to wait for the agent.
 */
static struct {
	int (*call)(struct rs_agent_provider *provider); /* NULL: nothing */
	pthread_t thread;
	uint32_t over;
	int result;
} meanwhile;

static void *call_meanwhile(void *data)
{
	meanwhile.result = meanwhile.call(&net);
	rs_store_release(&meanwhile.over, 1);
	return NULL;
}

static void let_another(void)
{
	if (!meanwhile.call || meanwhile.thread)
		return;
	g_assert_cmpint(pthread_create(&meanwhile.thread, NULL, call_meanwhile, NULL), ==, 0);
	for (uint32_t i = 0; i < 300 && !rs_load_acquire(&meanwhile.over); i++)
		g_usleep(1000);
}

static void expect_another(int (*call)(struct rs_agent_provider *provider))
{
	memset(&meanwhile, 0, sizeof(meanwhile));
	meanwhile.call = call;
}

/* What the other call returned; it must have been made. */
static int result_of_another(void)
{
	g_assert_cmpuint(meanwhile.thread, !=, 0);
	pthread_join(meanwhile.thread, NULL);
	meanwhile.call = NULL;
	return meanwhile.result;
}

static uint64_t ask_time(void)
{
	static uint64_t now;

	let_another();
	return __atomic_add_fetch(&now, 1, __ATOMIC_RELAXED);
}

static const struct rs_trace_ops ops = {.time_now = ask_time, .relax = relax, .panic = count_panic};

static RsTraceRegion *begin(void)
{
	const struct rs_region_config layout = {.vcpus = 2, .ring_bytes = 1 << 20};
	struct rs_agent_config config = {
		.ops = &ops, .agent = "races", .name = "races", .cpu_count = 2};
	RsTraceRegion *region;

	g_assert_cmpint(rs_region_create(&layout, &region, NULL), ==, 0);
	config.region = region->map;
	config.region_size = region->size;
	g_assert_cmpint(rs_agent_init(&config), ==, 0);
	panics = 0;
	return region;
}

static void end(RsTraceRegion *region)
{
	g_assert_cmpint(rs_provider_unregister(&net), ==, 0);
	rs_agent_fini();
	rs_trace_region_free(region);
}

static void run(void *(*one)(void *), void *(*two)(void *), uint64_t done[2])
{
	pthread_t threads[2];
	void *results[2];

	g_assert_cmpint(pthread_create(&threads[0], NULL, one, NULL), ==, 0);
	g_assert_cmpint(pthread_create(&threads[1], NULL, two, NULL), ==, 0);
	for (int i = 0; i < 2; i++) {
		g_assert_cmpint(pthread_join(threads[i], &results[i]), ==, 0);
		done[i] = (uint64_t)(uintptr_t)results[i];
	}
}

/* Returns how often it was refused. */
static void *register_often(void *data)
{
	uintptr_t refused = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		int err = rs_provider_register(&net);

		g_assert_true(err == 0 || err == -RS_EBUSY);
		refused += err != 0;
	}
	return (void *)refused;
}

static void *unregister_often(void *data)
{
	uintptr_t refused = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		int err = rs_provider_unregister(&net);

		g_assert_true(err == 0 || err == -RS_EBUSY);
		refused += err != 0;
	}
	return (void *)refused;
}

/* As one thread would do it: what is refused may be tried again. */
static void *come_and_go(void *data)
{
	uintptr_t refused = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		if (rs_provider_register(&net) != 0) {
			refused++;
			continue;
		}
		while (rs_provider_unregister(&net) != 0)
			refused++;
		g_assert_false(rs_provider_enabled(&net) && !rs_agent_active());
	}
	return (void *)refused;
}

/* The first call is not done when the other one is made. */
static void check_race(int (*first)(struct rs_agent_provider *),
		       int (*other)(struct rs_agent_provider *), bool panics_other)
{
	RsTraceRegion *region = begin();

	if (first == rs_provider_unregister)
		g_assert_cmpint(rs_provider_register(&net), ==, 0);
	expect_another(other);
	g_assert_cmpint(first(&net), ==, 0);
	g_assert_cmpint(result_of_another(), ==, panics_other ? -RS_EBUSY : 0);
	g_assert_cmpuint(panics, ==, panics_other);
	g_assert_cmpint(rs_provider_find(&net, "written")->id != 0, ==,
			first == rs_provider_register);
	end(region);
}

static void test_register_racing_with_register_panics(void)
{
	RsTraceRegion *region;
	uint64_t refused[2];

	check_race(rs_provider_register, rs_provider_register, true);
	region = begin();
	run(register_often, register_often, refused);
	/* One of all calls was right. */
	g_assert_cmpuint(refused[0] + refused[1], ==, 2 * ROUNDS - 1);
	g_assert_cmpuint(panics, ==, 2 * ROUNDS - 1);
	end(region);
}

static void test_register_racing_with_unregister_panics(void)
{
	RsTraceRegion *region;
	uint64_t refused[2];

	check_race(rs_provider_register, rs_provider_unregister, true);
	check_race(rs_provider_unregister, rs_provider_register, true);
	region = begin();
	run(register_often, unregister_often, refused);
	g_assert_cmpuint(panics, ==, refused[0] + refused[1]);
	end(region);
	region = begin();
	run(come_and_go, come_and_go, refused);
	g_assert_cmpuint(panics, ==, refused[0] + refused[1]);
	end(region);
}

/* Whoever returns may unload the image. */
static int unregister_and_look(struct rs_agent_provider *provider)
{
	int err = rs_provider_unregister(provider);

	g_assert_cmpuint(rs_load(&rs_provider_find(provider, "written")->id), ==, 0);
	g_assert_null(rs_load(&rs_provider_find(provider, "written")->provider));
	g_assert_cmpuint(rs_load(&provider->id), ==, 0);
	return err;
}

static void test_unregister_may_race_with_unregister(void)
{
	check_race(rs_provider_unregister, unregister_and_look, false);
	for (uint32_t i = 0; i < 200; i++) {
		RsTraceRegion *region = begin();
		uint64_t refused[2];

		g_assert_cmpint(rs_provider_register(&net), ==, 0);
		run(unregister_often, unregister_often, refused);
		g_assert_cmpuint(panics, ==, 0);
		g_assert_cmpuint(rs_provider_find(&net, "written")->id, ==, 0);
		end(region);
	}
}

static void *write_often(void *data)
{
	while (rs_load(&writing)) {
		RS_PROVIDER_WRITE(net, "written", 1, 1, __field(u32, n, 1));
		rs_provider_enabled(&net);
		rs_provider_set_enabled(&net, 1, 1);
	}
	return NULL;
}

static void *come_and_go_alone(void *data)
{
	come_and_go(data);
	rs_store(&writing, 0);
	return NULL;
}

/* Statements need no care: they may run at any time. */
static void test_statements_run_while_the_provider_comes_and_goes(void)
{
	RsTraceRegion *region = begin();
	uint64_t unused[2];

	rs_store(&writing, 1);
	run(write_often, come_and_go_alone, unused);
	g_assert_cmpuint(panics, ==, 0);
	end(region);
}

static void *create_ids(void *data)
{
	struct rs_activity_id *ids = g_new0(struct rs_activity_id, ROUNDS);

	for (uint32_t i = 0; i < ROUNDS; i++)
		rs_activity_create(&ids[i]);
	return ids;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct rs_activity_id));
}

static void test_threads_make_different_activity_ids(void)
{
	RsTraceRegion *region = begin();
	struct rs_activity_id *ids = g_new0(struct rs_activity_id, 2 * ROUNDS);
	uint64_t made[2];

	run(create_ids, create_ids, made);
	for (uint32_t i = 0; i < 2; i++) {
		struct rs_activity_id *part = (struct rs_activity_id *)(uintptr_t)made[i];

		memcpy(ids + i * ROUNDS, part, ROUNDS * sizeof(*part));
		g_free(part);
	}
	qsort(ids, 2 * ROUNDS, sizeof(*ids), compare);
	for (uint32_t i = 1; i < 2 * ROUNDS; i++)
		g_assert_cmpint(compare(&ids[i - 1], &ids[i]), <, 0);
	g_free(ids);
	end(region);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/provider/race/register", test_register_racing_with_register_panics);
	g_test_add_func("/provider/race/unregister", test_register_racing_with_unregister_panics);
	g_test_add_func("/provider/race/no-op", test_unregister_may_race_with_unregister);
	g_test_add_func("/provider/race/statements",
			test_statements_run_while_the_provider_comes_and_goes);
	g_test_add_func("/provider/race/activities", test_threads_make_different_activity_ids);
	return g_test_run();
}
