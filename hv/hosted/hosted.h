/* SPDX-License-Identifier: MIT */
/*
 * A target that is an ordinary process on this machine, which links the agent's hosted port.
 *
 * The process is our child and our tracee. A thread of this target's own starts it, waits for it and
 * makes all ptrace calls, since the kernel accepts them from one thread only; the session's thread hands it
 * its wishes. A pause stops every thread that shares the text, as they come and go (clone, vfork), and text is written
 * through /proc/PID/mem. Signals pass through untouched.
 *
 * The process finds the region by the environment: RINGSIDE_REGION_FD, RINGSIDE_DOORBELL_FD (numbers) and
 * RINGSIDE_PID (its own id: programs that it starts in turn stay inert). After execve the text is
 * new: nothing is patched in it until its agent says hello.
 *
 * Where ptrace is not permitted the program runs all the same, pause fails with -EPERM, and
 * rs_hosted_can_patch() says so: the session then asks the agent to patch itself.
 *
 * If our process dies, the program runs on: the kernel detaches it, its text holds valid JMPs into code that
 * writes to a ring that nobody reads; the journal of the session names the process, and rs_hosted_attach() lets a
 * later session of that name put its text right. It is not killed: it is the user's (docs/patching.md).
 */
#ifndef RS_HV_HOSTED_HOSTED_H
#define RS_HV_HOSTED_HOSTED_H

#include "target/target.h"

struct rs_hosted_config {
	const char *const *argv; /* argv[0] is looked up in PATH; NULL-terminated; copied */
	const char *const *envp; /* NULL: ours; copied */
	int region_fd;           /* memfd of the region; duplicated, -1: none */
	bool no_ptrace;          /* run it untraced, as if ptrace were not permitted (for tests) */
};

/*
 * Makes the target; the program is started by ops->start, on a thread-default GMainContext of the
 * caller that also delivers the callbacks. vcpus: CPUs of this machine, at most RS_MAX_CPUS.
 * start: -ENOENT, -EACCES … the program cannot be run. ops->stop: SIGTERM, and SIGKILL two seconds
 * later. ops->destroy: takes ptrace off and kills a program that still runs. Its end is told as
 * RS_END_EXIT with its code, RS_END_FAULT for a signal that dumps core, RS_END_KILLED for another.
 */
int rs_hosted_create(const struct rs_hosted_config *config, struct rs_target **out,
		     struct rs_error *err);

/*
 * A target that is an existing process, stopped and written only: for putting right what an earlier session
 * left. `start_time` as rs_hosted_start_time() gave it, so that a reused pid is told from it:
 * -ESRCH. destroy lets it run on.
 */
int rs_hosted_attach(pid_t pid, uint64_t start_time, struct rs_target **out, struct rs_error *err);

/* Whether pause works; false with the reason. Known once start has returned. */
bool rs_hosted_can_patch(const struct rs_target *target, struct rs_error *why);

/* Start time of a process in clock ticks after boot (/proc/PID/stat), 0: there is none. */
uint64_t rs_hosted_start_time(pid_t pid);

#endif
