/* SPDX-License-Identifier: MIT */
/* Breakpoints in sites: which are the host's, and where the code that met one goes on. */
#define RS_CREATE_TRACE_POINTS
#include "test-events.h"

#include "region/regions.h"

#include <glib.h>
#include <ringside/agent.h>
#include <string.h>

#define SITES 64u
#define STEP 16u
#define BREAKPOINT 0xcc

static uint8_t text[SITES * STEP] __attribute__((aligned(16)));
static struct rs_site sites[SITES];
static RsTraceRegion *region;
static struct rs_control *control;
static RS_PROVIDER(provider, "test");

static int32_t to(const void *at, const int32_t *field)
{
	return (int32_t)((intptr_t)at - (intptr_t)field);
}

static uint8_t *code(uint32_t i)
{
	return text + i * STEP;
}

/*
 * Where the agent knows no site, a breakpoint is not the host's. But one that is gone is run over
 * again, since its provider may have gone, too.
 */
static void check_nobodys(void)
{
	uint8_t *at = code(0), before = *at;

	*at = BREAKPOINT;
	g_assert_cmpuint(rs_agent_breakpoint((uintptr_t)at), ==, 0);
	*at = 0x03; /* the second byte of `int $3` */
	g_assert_cmpuint(rs_agent_breakpoint((uintptr_t)at), ==, 0);
	*at = before;
	g_assert_cmpuint(rs_agent_breakpoint((uintptr_t)at), ==, (uintptr_t)at);
}

/* `order`: which site each entry names. */
static void set_up(uint32_t (*order)(uint32_t i))
{
	static const uint8_t nop[RS_SITE_BYTES] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	struct rs_region_config config = {.vcpus = 1, .ring_bytes = 64 * 1024};
	struct rs_agent_config agent = {.cpu_count = 1};

	for (uint32_t i = 0; i < SITES; i++) {
		uint8_t *at = code(order(i));

		memcpy(at, nop, sizeof(nop));
		sites[i] = (struct rs_site){.code = to(at, &sites[i].code),
					    .target = to(at, &sites[i].target),
					    .event = to(&rs_event_test_pair, &sites[i].event),
					    .size = RS_SITE_BYTES};
	}
	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	agent.region = region->map;
	agent.region_size = region->size;
	provider.sites = sites;
	provider.sites_end = sites + SITES;
	check_nobodys();
	g_assert_cmpint(rs_agent_init(&agent), ==, 0);
	check_nobodys();
	g_assert_cmpint(rs_agent_register(&provider), ==, 0);
}

static void tear_down(void)
{
	rs_agent_unregister(&provider);
	check_nobodys();
	rs_agent_fini();
	rs_trace_region_free(region);
}

static void check_all(void)
{
	for (uint32_t i = 0; i < SITES; i++) {
		const uintptr_t at = (uintptr_t)code(i);
		const uint8_t before = *code(i);

		/* It is gone by now: what stands there is run. */
		g_assert_cmpuint(rs_agent_breakpoint(at), ==, at);
		*code(i) = BREAKPOINT;
		/* The guest's own, since the host switches nothing. */
		g_assert_cmpuint(rs_agent_breakpoint(at), ==, 0);
		control->switching++;
		g_assert_cmpuint(rs_agent_breakpoint(at), ==, at + RS_SITE_BYTES);
		/* Only the first byte of a site is one. */
		*(code(i) + 1) ^= BREAKPOINT ^ 0x1f;
		g_assert_cmpuint(rs_agent_breakpoint(at + 1), ==, 0);
		*(code(i) + 1) ^= BREAKPOINT ^ 0x1f;
		*code(i) = before;
		control->switching++;
		g_assert_cmpuint(rs_agent_breakpoint(at), ==, at);
	}
}

static uint32_t forwards(uint32_t i)
{
	return i;
}

static uint32_t mixed(uint32_t i)
{
	return i * 37 % SITES;
}

static void test_in_order(void)
{
	set_up(forwards);
	check_all();
	tear_down();
}

/* A linker may list sites in any order. */
static void test_mixed(void)
{
	set_up(mixed);
	check_all();
	tear_down();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/agent/breakpoint/in-order", test_in_order);
	g_test_add_func("/agent/breakpoint/mixed", test_mixed);
	return g_test_run();
}
