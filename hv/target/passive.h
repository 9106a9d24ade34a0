/* SPDX-License-Identifier: MIT */
/*
 * A target that can only be traced: a process that joined a session, or whatever has an agent in a
 * piece of memory that was attached. It cannot be paused, read or nudged, and patches its own text.
 * It ends when somebody stops it, which only ends our part. Thread: the session's.
 */
#ifndef RS_HV_TARGET_PASSIVE_H
#define RS_HV_TARGET_PASSIVE_H

#include "target/target.h"

/*
 * `what` names it in messages: "a process that joined". Both strings outlive it. `machine`: the
 * target whose clock it has, and which outlives it. NULL: its clock ticks with the host's counter,
 * from another moment.
 */
struct rs_target *rs_passive_create(const char *kind, const char *what, uint32_t vcpus,
				    struct rs_target *machine);

#endif
