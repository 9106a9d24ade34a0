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
 *     RINGSIDE_REGION=        an empty path: the program is not traced
 *     RINGSIDE_WAIT=ms        how long to wait for a host that does not answer, instead of 5 s, or
 *                             0.2 s with a memory that was not named; 0: it does not wait
 *     RINGSIDE_DEBUG=1        say on standard error which region it got, or why none
 * Without it, a program in a Linux guest asks the kernel's module (/dev/ringside) for a region.
 * Where there is no module, a program of root looks for an ivshmem device with a directory. Where
 * there is none, events stay NOPs. The library then has a thread that sleeps until `ringside attach
 * --pid` gives it a region, unless RINGSIDE_REGION is empty. A process takes a region of
 * its own in that memory: the one that the host keeps for it, or a free one. If none is free, it
 * runs untraced (-RS_EADDRINUSE). Programs with other rights than who started them (setuid) heed
 * none of these variables.
 *
 * Programs that a traced program starts inherit the environment. If such a program holds an agent,
 * it takes a region too. A program that a process executes in its own place is also a new source.
 * Only the program that the host itself started keeps its region then.
 *
 * After a fork without execve, the child goes on recording events that were on at the fork, under
 * its own pid. It never patches text, and asks nothing of the host, which does not know the child.
 * No other process gets the region before the child has gone too.
 *
 * If a program and its plugin each link this library, each has an agent and is a source of its own.
 * That is so for any number of plugins, and if they start at the same moment in several threads. An
 * image with an agent stays in the process: dlclose() does not unload it.
 *
 * If the program exports these functions (-rdynamic), or a plugin that was opened with RTLD_GLOBAL
 * does, then other plugins call them instead of their own, or share variables with them. Such a
 * plugin gets -RS_EXDEV. A line on standard error and in the session's log says so. It can be
 * linked with -Wl,--exclude-libs,ALL, which makes its copy its own. Or it does not link this
 * library, and registers its events with RS_PROVIDER() and rs_agent_register().
 *
 * Threads: init and fini are called once, on one thread. If the process patches itself, or waits
 * for a session, the library has a thread for this, which blocks all signals. If a session on this
 * host ends or is killed, that thread notices it, puts the text back, and waits for another
 * session. Then only the events of the image that has called rs_hosted_init() are there again.
 * Trust: the library trusts the host, but checks the layout.
 */
#ifndef RS_HOSTED_H
#define RS_HOSTED_H

#include <ringside/agent.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Attaches under `name` (see ringside/name.h), with the events of the image that calls. `name`
 * NULL: the program's name, with '_' for each character that a name must not have. Returns 0 also
 * if there is no memory (then rs_hosted_active() is false), and when called again.
 * After an error the program runs untraced.
 */
static inline int rs_hosted_init(const char *name);

/*
 * rs_hosted_init() calls this with the events of the image that rs_hosted_init() is compiled into.
 */
int rs_hosted_init_image(const char *name, const struct rs_event *events);
static inline int rs_hosted_init(const char *name)
{
	return rs_hosted_init_image(name, __start_rs_events);
}

/*
 * rs_hosted_init(NULL) once in the life of the program, whoever calls it. The library
 * ringside-provider does so when the first provider is registered.
 */
void rs_hosted_attach(void);

/*
 * Whether the program is attached. No more once it has found that the host has ended. Any thread.
 */
bool rs_hosted_active(void);

/*
 * Takes the program out of the session. If the process patches itself, its text is restored. It
 * need not be called: at exit the region is left anyway.
 */
void rs_hosted_fini(void);

/*
 * For a program that watches others. From now on, events of the calling thread carry this pid, tgid
 * and name (up to RS_COMM_LEN bytes, or NUL-terminated). Pid 0: its own again.
 */
void rs_hosted_speak_for(uint32_t pid, uint32_t tgid, const char *comm);

/*
 * To be called by a thread after it has changed its own name (prctl, pthread_setname_np). Its later
 * events and filters then use the new name. A thread's name is read at its first event and here,
 * but not in between: events that cost nanoseconds cannot ask the kernel. While the thread speaks
 * for another, its events keep that name. Async-signal-safe.
 */
void rs_hosted_thread_renamed(void);

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
