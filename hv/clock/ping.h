/* SPDX-License-Identifier: MIT */
/*
 * Asks a running agent for its event clock. The host raises rs_control.clock_ping, and the agent
 * answers in rs_guest_info. The agent read its clock between these two moments. Several round trips
 * together narrow this bracket down.
 *
 * Thread: the session's, which spins here. Trust: the answers are the guest's and may be any value.
 */
#ifndef RS_HV_CLOCK_PING_H
#define RS_HV_CLOCK_PING_H

#include <ringside/control.h>
#include <ringside/region.h>

struct rs_pong {
	uint64_t ticks;    /* event clock, in ticks … */
	uint64_t ns;       /* … at this CLOCK_MONOTONIC … */
	uint64_t error_ns; /* … or up to this much before or after it */
};

/* The last ping, by the caller kept from call to call. At first all 0. */
struct rs_ping_sent {
	uint64_t ns; /* CLOCK_MONOTONIC; 0: no late answer to it is wanted */
	uint32_t ping;
};

struct rs_ping_config {
	struct rs_control *control;
	const struct rs_guest_info *info;
	struct rs_ping_sent *sent;
	uint64_t hz; /* of the event clock, not 0 */
	/*
	 * Interrupts the guest so that its agent looks for the ping. False, or no function: the
	 * guest cannot be interrupted.
	 */
	bool (*nudge)(void *data);
	void *data;
};

/*
 * Spins for 2 ms at most, and for 50 us at most for each answer after the first. Spins for 0.1 ms
 * at most if there is no sign that the agent will look: the guest cannot be nudged, and the agent
 * has not answered the last ping, not even late. The calling thread may move to another CPU. False:
 * nobody answered, or the answers contradict each other. Then `out` is not changed.
 */
bool rs_ping(const struct rs_ping_config *config, struct rs_pong *out);

/*
 * Takes an answer to the last ping that came when nobody waited for it any more. Its error is half
 * the time since the ping. False: there is none, or it was taken before. Never waits.
 */
bool rs_ping_late(const struct rs_ping_config *config, struct rs_pong *out);

#endif
