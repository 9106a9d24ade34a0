/* SPDX-License-Identifier: MIT */
/*
 * The clock of one source: the relation of the guest's event clock to the host's CLOCK_MONOTONIC.
 * It begins the epochs that tell readers this relation: at the start, when the agent reports, after
 * each pause that stopped the counter, and when the two clocks drift apart. docs/adr/0007-clock.md
 * gives the reasons, and says how large the error is.
 *
 * Thread: the session's. Trust: the guest may answer anything. A wrong answer makes the times of
 * its own trace wrong, and those of others in the same machine if it is the best known there.
 */
#ifndef RS_HV_CLOCK_H
#define RS_HV_CLOCK_H

#include "region/publish.h"
#include "target/target.h"
#include <rs-trace-region.h>

struct rs_clock;

/*
 * The caller keeps all that it passes, and it must outlive the clock. `nudge` is called with
 * `data`: see struct rs_ping_config.
 */
struct rs_clock *rs_clock_create(struct rs_target *target, RsTraceRegion *region,
				 struct rs_publisher *publisher, bool (*nudge)(void *data),
				 void *data);
void rs_clock_destroy(struct rs_clock *clock);

/*
 * To be called just before the target is started. `machine`: the clock of the machine whose counter
 * this is, or NULL. Its line is the best guess until this source's own agent has answered.
 */
void rs_clock_start(struct rs_clock *clock, const struct rs_clock *machine);
/* To be called when an agent has reported, after each boot. Spins for 2 ms at most. */
void rs_clock_greet(struct rs_clock *clock, const struct rs_guest_info *info);
/*
 * The machine was reset, or that is told late, when another boot's agent is at work already. The
 * second says whether the agent answers since then; it is asked each time, without an interrupt.
 */
void rs_clock_note_reset(struct rs_clock *clock);
bool rs_clock_agent_answers(struct rs_clock *clock);
/* To be called by rs_target_events.pause. Spins for 2 ms at most when the pause is over. */
void rs_clock_pause(struct rs_clock *clock, enum rs_pause_step step);
/*
 * To be called about every 100 ms. Follows drift, and asks the agent again if it has not answered.
 * Spins for 2 ms at most.
 */
void rs_clock_check(struct rs_clock *clock);

/*
 * `other` is the clock of another source with the same counter. If its line is known better,
 * `clock` takes it over.
 */
void rs_clock_learn(struct rs_clock *clock, const struct rs_clock *other);

/* The event clock's value now, in ticks; 0: unknown. */
uint64_t rs_clock_now(const struct rs_clock *clock);
/* Times may be wrong by this many ns. UINT64_MAX: unknown. */
uint64_t rs_clock_error_ns(const struct rs_clock *clock);

#endif
