/* SPDX-License-Identifier: MIT */
/*
 * Says when it sees something: each vCPU emits clock:seen(number) as soon as the word that
 * tests/vm/test-clock.c counts up has changed. Meanwhile it looks for what else the host wants,
 * unless it was started with `deaf`.
 */
#define RS_CREATE_TRACE_POINTS
#include "events.h"

#include "rs_baremetal.h"
#include <ringside/agent.h>
#include <ringside/atomic.h>
#include <ringside/control.h>
#include <ringside/region.h>

const char rs_guest_name[] = "clock";

/* A word of the control page that means nothing to the agent: as in the test. */
static const uint32_t *word(void)
{
	const struct rs_region_header *header;
	const struct rs_control *control;
	uint64_t size;
	void *region;

	if (!rs_region(&region, &size))
		rs_panic("no region");
	header = region;
	control = (void *)((char *)region + header->section[RS_SEC_CONTROL].offset);
	return (const uint32_t *)&control->reserved1[11];
}

void rs_main(uint32_t cpu)
{
	const uint32_t *number = word();
	bool deaf = rs_option("deaf", NULL, 0);
	uint32_t last = 0; /* as the word is at the start: the test may count before we are here */

	rs_set_task(cpu + 1, cpu + 1, "clock");
	for (;;) {
		uint32_t now = rs_load_acquire(number);

		if (now != last)
			trace_clock_seen(now);
		last = now;
		if (!deaf)
			rs_agent_look();
		rs_pause();
	}
}
