/* SPDX-License-Identifier: MIT */
/* hosted-watch N: sleeps until the host has changed its wishes, N times; ends with 7. */
#define RS_CREATE_TRACE_POINTS
#include <ringside/event.h>

#include <rs_hosted.h>
#include <stdlib.h>

RS_TRACE_EVENT(watch, change, TP_PROTO(uint32_t generation), TP_ARGS(generation),
	       TP_STRUCT__entry(__field(u32, generation)),
	       TP_fast_assign(__entry->generation = generation;),
	       TP_printk("generation=%u", generation))

int main(int argc, char **argv)
{
	uint32_t generation = UINT32_MAX;

	if (argc != 2 || rs_hosted_init("watch"))
		return 1;
	/* The first one returns at once. */
	for (int i = 0; i <= atoi(argv[1]); i++) {
		if (rs_agent_wait_control(&generation))
			return 2;
		trace_watch_change(generation);
	}
	return 7;
}
