/* SPDX-License-Identifier: MIT */
/*
 * Asks a running agent for its event clock: rs_control.clock_ping goes up, the agent answers in
 * rs_guest_info. Each round trip brackets the answer, and several together bracket it closely.
 *
 * Thread: the session's, which spins here. The answers are the guest's word: any value is survived.
 */
#ifndef RS_HV_SESSION_PING_H
#define RS_HV_SESSION_PING_H

#include <ringside/control.h>
#include <ringside/region.h>

struct rs_pong {
	uint64_t ticks;    /* event clock … */
	uint64_t ns;       /* … at this CLOCK_MONOTONIC … */
	uint64_t error_ns; /* … or so much before or after it */
};

struct rs_ping_config {
	struct rs_control *control;
	const struct rs_guest_info *info;
	uint64_t hz; /* of the event clock, not 0 */
	/*
	 * Interrupts the guest so that its agent looks; false: that cannot be done. NULL likewise.
	 */
	bool (*nudge)(void *data);
	void *data;
};

/*
 * Spins for 2 ms at most, and for some tens of us for each answer after the first. It only takes a
 * glance if nothing says that the agent will look: the guest cannot be nudged, and has not answered
 * the last ping, not even late. May leave its CPU for another one. False: nobody answered,
 * or the answers contradict each other; `out` is untouched.
 */
bool rs_ping(const struct rs_ping_config *config, struct rs_pong *out);

#endif
