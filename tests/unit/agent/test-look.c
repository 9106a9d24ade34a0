/* SPDX-License-Identifier: MIT */
/* Pings of the host, which the test sends whenever the agent looks at its clock. */
#include "core.h"
#include "region/regions.h"

#include <glib.h>

#define PONGS_MAX 64u /* in one look */

static RsTraceRegion *region;
static struct rs_control *control;
static struct rs_guest_info *info;
static uint32_t looks_at_clock, pings; /* how many more the host sends */
static void (*interrupt)(void);

static uint64_t op_time(void)
{
	void (*now)(void) = interrupt;

	looks_at_clock++;
	interrupt = NULL;
	if (now)
		now();
	if (pings) {
		pings--;
		control->clock_ping++;
	}
	return 1000 + looks_at_clock;
}

static const struct rs_trace_ops ops = {.time_now = op_time};

static void set_up(void)
{
	struct rs_region_config config = {.vcpus = 1, .ring_bytes = 64 * 1024};
	struct rs_agent_config agent = {.ops = &ops, .cpu_count = 1};

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	info = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	agent.region = region->map;
	agent.region_size = region->size;
	control->clock_ping = 7;
	pings = 0;
	g_assert_cmpint(rs_agent_init(&agent), ==, 0);
	/* Nobody waits for what a boot before was asked. */
	g_assert_cmpuint(info->clock_pong, ==, 7);
	looks_at_clock = 0;
}

static void tear_down(void)
{
	rs_agent_fini();
	rs_trace_region_free(region);
}

/* Then the agent has answered `answers` pings, the last one at its last look at the clock. */
static void look(uint32_t answers)
{
	uint32_t pong = info->clock_pong;
	uint64_t ts = info->clock_ts;

	looks_at_clock = 0;
	rs_agent_look();
	g_assert_cmpuint(looks_at_clock, ==, answers);
	g_assert_cmpuint(info->clock_pong, ==, pong + answers);
	g_assert_cmpuint(info->clock_ts, ==, answers ? 1000 + answers : ts);
}

static void test_pings(void)
{
	set_up();
	look(0);
	control->clock_ping++;
	look(1);
	look(0);
	/* Some in a row, each sent when the one before was seen. */
	control->clock_ping++;
	pings = 9;
	look(10);
	look(0);
	/* A host that does not end keeps nobody for ever. */
	control->clock_ping++;
	pings = 1000;
	look(PONGS_MAX);
	look(PONGS_MAX);
	pings = 0;
	look(1);
	look(0);
	tear_down();
	/* Nor is there anything to look at without a region. */
	looks_at_clock = 0;
	rs_agent_look();
	g_assert_cmpuint(looks_at_clock, ==, 0);
}

static void look_too(void)
{
	uint32_t before = looks_at_clock;

	control->clock_ping++;
	rs_agent_look();
	g_assert_cmpuint(looks_at_clock, ==, before);
}

/* An interrupt that comes while a ping is being answered leaves the next one to who is there. */
static void test_interrupted(void)
{
	set_up();
	for (uint32_t i = 0; i < 3; i++) {
		control->clock_ping++;
		interrupt = look_too;
		look(2);
	}
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/look/pings", test_pings);
	g_test_add_func("/agent/look/interrupted", test_interrupted);
	return g_test_run();
}
