/* SPDX-License-Identifier: MIT */
/*
 * A target that is an ordinary process on this machine, which links the agent's hosted port.
 *
 * The process is our child and our tracee. The tracer, a thread of this target, starts it, waits
 * for it and makes all ptrace calls, since the kernel accepts them from only one thread. The
 * session's thread hands requests to the tracer. A pause stops every thread that shares the text,
 * also those that clone and vfork make meanwhile. Text is written through /proc/PID/mem. Signals
 * pass through.
 *
 * The process finds its region by its environment: RINGSIDE_REGION_FD and RINGSIDE_DOORBELL_FD are
 * numbers of file descriptors, RINGSIDE_REGION is a path. Programs that it starts find one of their
 * own there. After execve the text is new: nothing is patched in it until its agent says hello.
 *
 * If ptrace is not permitted, the program runs without it, pause fails with -EPERM, and
 * rs_hosted_can_patch() returns false. The session then asks the agent to patch itself.
 *
 * If our process dies, the kernel detaches the program, which runs on. Its text holds valid JMPs to
 * code that writes to a ring that nobody reads. The journal of the session names the process, and a
 * later session of that name restores its text by rs_hosted_attach(). We do not kill the program,
 * since it belongs to the user (docs/patching.md).
 */
#ifndef RS_HV_HOSTED_HOSTED_H
#define RS_HV_HOSTED_HOSTED_H

#include "target/target.h"

struct rs_hosted_config {
	const char *const *argv; /* argv[0] is looked up in PATH; NULL-terminated; copied */
	const char *const *envp; /* NULL: ours; copied */
	int regions_fd;          /* memfd of the trace regions; duplicated, -1: none */
	/*
	 * Claim word of the region that waits for the program; it outlives start. NULL: none. The
	 * program's id is written there, with `claim_base`, before the program runs.
	 */
	uint64_t *claim, claim_base;
	bool no_ptrace; /* for tests: run it untraced, as if ptrace were not permitted */
};

/*
 * Makes the target. ops->start starts the program. The caller's thread-default GMainContext runs
 * the callbacks. vcpus: CPUs of this machine, at most RS_MAX_CPUS. start: -ENOENT, -EACCES … the
 * program cannot be run. ops->stop: SIGTERM, and SIGKILL 0.6 s later. ops->destroy: detaches
 * ptrace and kills a program that still runs. The reason of its end is RS_END_EXIT with its code,
 * RS_END_FAULT after a signal that dumps core, RS_END_KILLED after another signal.
 */
int rs_hosted_create(const struct rs_hosted_config *config, struct rs_target **out,
		     struct rs_error *err);

/*
 * A target that is an existing process, for restoring text that an earlier session patched. It can
 * only pause, resume, read and write. -ESRCH: the process does not exist, all its threads
 * have ended, or `start_time` is not that of rs_hosted_start_time(), so the pid was reused. destroy
 * lets it run on.
 */
int rs_hosted_attach(pid_t pid, uint64_t start_time, struct rs_target **out, struct rs_error *err);

/* Whether pause works; if not, *why is the reason. Known once start has returned. */
bool rs_hosted_can_patch(const struct rs_target *target, struct rs_error *why);

/* Start time of a process in clock ticks after boot (/proc/PID/stat), 0: there is none. */
uint64_t rs_hosted_start_time(pid_t pid);

#endif
