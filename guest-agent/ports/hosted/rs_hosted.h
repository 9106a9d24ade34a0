/* SPDX-License-Identifier: MIT */
/*
 * The agent in an ordinary Linux process: finds its region, attaches, registers the events of the
 * program (those defined in the image that links this library) and, where the host cannot write our text, patches it.
 *
 * The region is named by the environment:
 *     RINGSIDE_REGION_FD=n    an inherited memfd (`ringside run --hosted`); RINGSIDE_DOORBELL_FD=n an eventfd
 *                             that wakes the reader; RINGSIDE_PID=pid, if set, must be ours: what
 *                             a traced program starts in turn stays inert
 *     RINGSIDE_SELF_PATCH=1   set by the host where it cannot write our text
 *     RINGSIDE_REGION=path    a file to map, e.g. /sys/bus/pci/devices/0000:00:02.0/resource2 in a guest
 * With neither, everything here does nothing and costs nothing, and events stay NOPs.
 *
 * fork: the child goes on recording what was on at the fork, under its own pid. It never patches, asks the
 * host for anything: the host does not know it. execve: the new image starts afresh. What a child executes finds
 * RINGSIDE_PID, which init sets, and stays inert.
 *
 * Threads: init and exit on one thread, once; an own thread runs only where the process patches itself.
 * Signals: that thread blocks all of them. Trust: the host is trusted; the layout is checked by the agent.
 */
#ifndef RS_HOSTED_H
#define RS_HOSTED_H

#include <ringside/agent.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Attaches under `name` (NULL: the program's). 0, also when there is no region to attach to (see
 * rs_hosted_active()) and when called again; else RS_AGENT_* or RS_ERR_*, and the program simply runs untraced.
 */
int rs_hosted_init(const char *name);
bool rs_hosted_active(void);

/*
 * Takes the program's events out of the session, and its text back to how it was if it patches itself. Called by
 * itself at exit().
 */
void rs_hosted_fini(void);

/*
 * For a program that watches others: the events that the calling thread emits from now on carry this pid
 * and name (up to RS_COMM_LEN bytes, or NUL-terminated). Pid 0: its own again.
 */
void rs_hosted_speak_for(uint32_t pid, const char *comm);

/*
 * In one C file of a program that does not want to call rs_hosted_init(): attaches before main.
 */
#define RS_HOSTED_AUTO_INIT(name)                                                                  \
	__attribute__((constructor)) static void rs_hosted_auto_init_(void)                        \
	{                                                                                          \
		rs_hosted_init(name);                                                              \
	}

#ifdef __cplusplus
}
#endif
#endif
