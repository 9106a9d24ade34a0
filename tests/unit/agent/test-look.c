/* SPDX-License-Identifier: MIT */
/* Pings of the host, which the test sends whenever the agent looks at its clock. */
#define _GNU_SOURCE
#include "core.h"
#include "region/regions.h"

#include <glib.h>
#include <signal.h>
#include <ucontext.h>

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

/* A host that sends its next ping some steps after the answer to the one before. */
static volatile uint32_t steps, later;

static void on_step(int number, siginfo_t *signal_info, void *context)
{
	ucontext_t *at = context;

	if (info->clock_pong != control->clock_ping)
		return;
	if (++steps == 300 && later) {
		later--;
		control->clock_ping++;
		steps = 0;
	}
	/* What comes after the last look need not be gone through step by step. */
	if (steps == 300)
		at->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

/* Whoever has answered waits a little for the next ping of a row. */
static void test_waits(void)
{
	struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, old;

	set_up();
	sigaction(SIGTRAP, &action, &old);
	control->clock_ping++;
	later = 3;
	steps = 0;
	__asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\torl $0x100, (%%rsp)\n\t"
			 "popfq\n\tleaq 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
	rs_agent_look();
	__asm__ volatile("leaq -128(%%rsp), %%rsp\n\tpushfq\n\tandl $~0x100, (%%rsp)\n\t"
			 "popfq\n\tleaq 128(%%rsp), %%rsp" ::
				 : "memory", "cc");
	sigaction(SIGTRAP, &old, NULL);
	g_assert_cmpuint(later, ==, 0);
	g_assert_cmpuint(looks_at_clock, ==, 4);
	g_assert_cmpuint(info->clock_pong, ==, 7 + 4);
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/look/pings", test_pings);
	g_test_add_func("/agent/look/interrupted", test_interrupted);
	g_test_add_func("/agent/look/waits", test_waits);
	return g_test_run();
}
