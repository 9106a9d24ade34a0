/* SPDX-License-Identifier: MIT */
/*
 * A program of this host that runs already and holds an agent, as a machine. Its memory of regions
 * is one of its own open files: that of a session which died, or one that its agent has made and
 * waits at (a door: guest-agent/ports/hosted/door.h). ADR 33.
 *
 * `via` is pid:PID:START, with the start time of rs_hosted_start_time(), so that a later process
 * with the same id is another one.
 *
 * Thread: main. Trust: what is in the memory is hostile, and so is what the process has open.
 */
#ifndef RS_HV_MACHINE_PROCESS_H
#define RS_HV_MACHINE_PROCESS_H

#include "machine/reach.h"

#define RS_VIA_PROCESS "pid:"

/* To be freed. NULL: there is no such process. */
char *rs_machine_process_via(pid_t pid);
/* Whether `via` is that of a process; NULL is accepted. */
bool rs_machine_is_process(const char *via);
/* Whether the process lives. */
bool rs_machine_process_lives(const char *via);
/* Whether it lives and has such a memory, so that it can be reached. */
bool rs_machine_process_waits(const char *via);
/* Its id, whether it lives or not; 0: `via` is of none. */
pid_t rs_machine_process_pid(const char *via);
/* The name of its program, to be freed. */
char *rs_machine_process_name(const char *via);

/*
 * Whether it has such a memory. -ESRCH: there is no such process; -ENOENT: it has none; -EACCES:
 * its files must not be looked at.
 */
int rs_machine_process_has_agent(pid_t pid, struct rs_error *err);

/*
 * As rs_machine_reach(). -ESRCH: it has ended; -ENOENT: it has no such memory (any more); -EBUSY:
 * a session has the memory; -EAGAIN: its agent does not answer. Others: as rs_regions_open(),
 * rs_region_fit() and rs_hosted_attach().
 */
int rs_machine_reach_process(const struct rs_machine_reach *wish, struct rs_machine *out,
			     struct rs_error *err);

#endif
