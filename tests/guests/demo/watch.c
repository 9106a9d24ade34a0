/* SPDX-License-Identifier: MIT */
/* vCPU 1 halts until the host has changed something, several times. vCPU 0 goes on asking. */
#include "demo.h"

#include <ringside/agent.h>
#include <ringside/record.h>

static uint32_t changes, nudges;

void rs_on_nudge(struct rs_frame *frame)
{
	if (rs_cpu_id() == 1)
		__atomic_fetch_add(&nudges, 1, __ATOMIC_RELAXED);
}

void rs_on_nmi(struct rs_frame *frame)
{
	rs_on_nudge(frame);
}

static void follow(uint32_t rounds)
{
	uint32_t generation = 0, before;

	/* Nothing that the host has ever done has this number. */
	generation--;
	if (rs_agent_wait_control(&generation))
		rs_panic("the first wait failed");
	while (changes < rounds) {
		before = generation;
		int32_t result = rs_agent_wait_control(&generation);
		if (result || generation == before)
			rs_panic("wait: %s", rs_agent_strerror(result));
		rs_printf("demo: change %u, generation %u\n", changes + 1, generation);
		__atomic_fetch_add(&changes, 1, __ATOMIC_ACQ_REL);
	}
}

void watch(uint32_t cpu)
{
	uint32_t rounds = (uint32_t)rs_option_u64("rounds", 3);
	uint64_t questions = 0;

	if (cpu == 1)
		follow(rounds);
	while (cpu == 0 && __atomic_load_n(&changes, __ATOMIC_ACQUIRE) < rounds) {
		struct rs_hcall_reply reply;
		if (rs_agent_query(RS_FIRST_EVENT_ID, &reply))
			rs_panic("a question in between was not answered");
		questions++;
	}
	if (cpu == 0) {
		rs_printf("demo: %u changes, %u nudges, %lu questions meanwhile\n", rounds, nudges,
			  questions);
		rs_exit(0);
	}
	for (;;)
		rs_idle();
}
