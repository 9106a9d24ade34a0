/* SPDX-License-Identifier: MIT */
/*
 * The agent in an ordinary Linux process. It finds its region, attaches to it and registers the
 * events of the image that links this library. Where the host cannot write the program's text, it
 * patches that text itself.
 *
 * The environment names the memory that holds regions:
 *     RINGSIDE_REGION_FD=n    an inherited memfd (`ringside run --hosted`)
 *     RINGSIDE_DOORBELL_FD=n  an eventfd that wakes the reader of the region that is kept for us
 *     RINGSIDE_SELF_PATCH=1   the host cannot write our text
 *     RINGSIDE_REGION=path    or a file: what `ringside ps --region NAME` prints, to join a session
 *                             that runs on this host, or in a guest the device's memory,
 *                             /sys/bus/pci/devices/0000:00:02.0/resource2
 * Without it everything here does nothing, and events stay NOPs. A process takes a region of its
 * own out of that memory: the one that the host keeps for it, or one that is free. Where none is
 * free, it runs untraced (RS_AGENT_TAKEN).
 *
 * What a traced program starts inherits the environment, and takes a region too if it holds an
 * agent. So does what a process executes: it is another source. Only the program that the host
 * itself started keeps its region then. After a fork without execve the child goes on recording
 * what was on at the fork, under its own pid. It never patches and asks nothing of the host, which
 * does not know it. Its region is not another's before the child is gone too.
 *
 * Where a program and a plugin each link this library, each has an agent and is a source of its
 * own. A plugin in a program that exports these functions (-rdynamic) calls the program's instead.
 * It is told so by RS_AGENT_OTHER, and registers its events with RS_PROVIDER() and
 * rs_agent_register().
 *
 * Threads: init and fini are called once, on one thread. Where the process patches itself there is
 * a thread for it, which blocks all signals. Trust: it trusts the host, but checks the layout.
 */
#ifndef RS_HOSTED_H
#define RS_HOSTED_H

#include <ringside/agent.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Attaches under `name`, with the events of the image that calls: see ringside/name.h. NULL: the
 * program's, with '_' for each character that no name may have. Returns 0 also if there is no
 * region (then rs_hosted_active() is false) and when called again. After RS_AGENT_* or RS_ERR_* the
 * program runs untraced.
 */
static inline int rs_hosted_init(const char *name);

/* What rs_hosted_init() calls: `events` are those of the image in which it stands. */
int rs_hosted_init_image(const char *name, const struct rs_event *events);
static inline int rs_hosted_init(const char *name)
{
	return rs_hosted_init_image(name, __start_rs_events);
}
bool rs_hosted_active(void);

/*
 * Takes the program out of the session. A process that patches itself gets its text back. At exit
 * the region is left without it.
 */
void rs_hosted_fini(void);

/*
 * For a program that watches others. From now on events of the calling thread carry this pid and
 * name (up to RS_COMM_LEN bytes, or NUL-terminated). Pid 0: its own again.
 */
void rs_hosted_speak_for(uint32_t pid, uint32_t tgid, const char *comm);

/* Instead of a call of rs_hosted_init(), in one C file of the program: attaches before main. */
#define RS_HOSTED_AUTO_INIT(name)                                                                  \
	__attribute__((constructor)) static void rs_hosted_auto_init_(void)                        \
	{                                                                                          \
		rs_hosted_init(name);                                                              \
	}

#ifdef __cplusplus
}
#endif
#endif
