/* SPDX-License-Identifier: MIT */
/*
 * The clock of one source: the relation of the guest's event clock to the host's CLOCK_MONOTONIC.
 * It begins the epochs that tell readers this relation: at the start, when the agent reports, after
 * each pause that stopped the counter, and when the two clocks drift apart. docs/adr/0007-clock.md
 * says why it is done so, and how large the error is.
 *
 * Thread: the session's. Trust: the guest may answer anything. A wrong answer makes the times of
 * its own trace wrong, and those of others in the same machine if it is the best known there.
 */
#ifndef RS_HV_SESSION_CLOCK_H
#define RS_HV_SESSION_CLOCK_H

#include "session/publish.h"
#include "target/target.h"
#include <rs-trace-region.h>

struct rs_clock;

/*
 * Everything handed over stays the caller's and outlives the clock. `nudge`: see struct
 * rs_ping_config.
 */
struct rs_clock *rs_clock_create(struct rs_target *target, RsTraceRegion *region,
				 struct rs_publisher *publisher, bool (*nudge)(void *data),
				 void *data);
void rs_clock_destroy(struct rs_clock *clock);

/* Just before the target is started. */
void rs_clock_start(struct rs_clock *clock);
/* The agent has reported, of this boot or another one. Spins for 2 ms at most. */
void rs_clock_greet(struct rs_clock *clock, const struct rs_guest_info *info);
/* To be passed on from rs_target_events.pause. After a pause it spins for 2 ms at most. */
void rs_clock_pause(struct rs_clock *clock, enum rs_pause_step step);
/* To be called now and then: follows drift, and asks again if nobody answered. */
void rs_clock_check(struct rs_clock *clock);

/* `other` shows the same counter. What is known of it is used here, if it is known better. */
void rs_clock_learn(struct rs_clock *clock, const struct rs_clock *other);

/* The event clock now; 0: unknown. */
uint64_t rs_clock_now(const struct rs_clock *clock);
/* Times may be wrong by so much. UINT64_MAX: unknown. */
uint64_t rs_clock_error_ns(const struct rs_clock *clock);

#endif
