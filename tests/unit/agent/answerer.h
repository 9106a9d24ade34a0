/* SPDX-License-Identifier: MIT */
/*
 * An agent and the host's own slots (hv) on one mapping of a region, for tests of requests whose
 * answers come late. Built with sanitizers, all but GLib. For one file of a program.
 */
#ifndef RS_TEST_AGENT_ANSWERER_H
#define RS_TEST_AGENT_ANSWERER_H

#include "region/regions.h"
#include "session/slots.h"

#include <ringside/agent.h>
#include <ringside/control.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static RsTraceRegion *region;
static struct rs_slots *slots;
static struct rs_control *control;

/* Another boot, on the region that there is. `ops` outlives it. */
static void answerer_boot(const struct rs_trace_ops *ops, uint64_t tsc_hz)
{
	const struct rs_agent_config config = {.region = region->map,
					       .region_size = region->size,
					       .ops = ops,
					       .agent = "test",
					       .name = "test",
					       .cpu_count = 1,
					       .tsc_hz = tsc_hz,
					       .flags = RS_GUEST_NUDGE_VECTOR,
					       .nudge_vector = 40};

	CHECK(rs_agent_init(&config) == 0);
}

static void answerer_begin(const struct rs_trace_ops *ops, uint64_t tsc_hz)
{
	const struct rs_region_config config = {
		.vcpus = 2, .ring_bytes = 65536, .hcall_channel = RS_CHANNEL_MAILBOX};
	struct rs_error err = {0};

	CHECK(rs_region_create(&config, &region, &err) == 0);
	slots = rs_slots_create(region);
	control = rs_trace_region_section(region, RS_SEC_CONTROL, NULL);
	answerer_boot(ops, tsc_hz);
}

/* After rs_agent_fini(). */
static void answerer_end(void)
{
	rs_slots_destroy(slots);
	rs_trace_region_free(region);
}

#endif
