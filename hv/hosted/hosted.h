/* SPDX-License-Identifier: MIT */
/*
 * A target that is an ordinary process on this machine, which links the agent's hosted port.
 *
 * The process is our child, or one that runs already, and nobody's tracee: debuggers and the like
 * can attach to it. Its life is followed by a pidfd. Its text is read and written through
 * /proc/PID/mem. For a batch of patches all threads that run in its memory are stopped for a moment
 * (ptrace: seize, interrupt, detach), vfork children included; signals and a user's SIGSTOP are as
 * before. Where a CPU's vendor says that an aligned word may change while others run through it,
 * the word is written and nothing is stopped. So it is, too, while somebody else is the tracer. A
 * patch that does not lie in one word then waits: pause fails with -EBUSY. ADR 33 says why.
 *
 * The process finds its region by its environment: RINGSIDE_REGION_FD and RINGSIDE_DOORBELL_FD are
 * numbers of file descriptors, RINGSIDE_REGION is a path. Programs that it starts find one of their
 * own there. After execve the text is new: nothing is patched in it until its agent says hello.
 *
 * If its memory must not be written or ptrace is not permitted when it is started, pause fails with
 * -EPERM, and rs_hosted_can_patch() returns false. The session then asks the agent to patch itself.
 *
 * If our process dies, the program runs on, also if that was in the middle of a stop. Its text
 * holds valid JMPs to code that writes to a ring that nobody reads. The journal of the session
 * names the process, and its text is restored by way of rs_hosted_attach(). We do not kill the
 * program, since it belongs to the user (docs/patching.md).
 */
#ifndef RS_HV_HOSTED_HOSTED_H
#define RS_HV_HOSTED_HOSTED_H

#include "target/target.h"

/* How text is written. */
enum rs_hosted_way {
	RS_HOSTED_ANY,  /* as the CPU and other tracers allow */
	RS_HOSTED_STOP, /* for tests: never while it runs … */
	RS_HOSTED_LIVE, /* … and only while it runs */
};

struct rs_hosted_config {
	const char *const *argv; /* argv[0] is looked up in PATH; NULL-terminated; copied */
	const char *const *envp; /* NULL: ours; copied */
	int regions_fd;          /* memfd of the trace regions; duplicated, -1: none */
	/*
	 * Claim word of the region that waits for the program; it outlives start. NULL: none. The
	 * program's id is written there, with `claim_base`, before the program runs.
	 */
	uint64_t *claim, claim_base;
	bool no_ptrace; /* for tests: as if ptrace were not permitted */
	/*
	 * For tests. RINGSIDE_HOSTED_TEXT=stop in our environment overrides it, and =live does
	 * where this CPU never runs through a part of a new word.
	 */
	enum rs_hosted_way way;
};

/*
 * Makes the target. ops->start starts the program. The caller's thread-default GMainContext runs
 * the callbacks. vcpus: CPUs of this machine, at most RS_MAX_CPUS. start: -ENOENT, -EACCES … the
 * program cannot be run. ops->stop: SIGTERM, and SIGKILL 0.6 s later. ops->destroy: kills a program
 * that still runs. The reason of its end is RS_END_EXIT with its code,
 * RS_END_FAULT after a signal that dumps core, RS_END_KILLED after another signal.
 */
int rs_hosted_create(const struct rs_hosted_config *config, struct rs_target **out,
		     struct rs_error *err);

/*
 * A target that is an existing process, whether or not it is a child of ours. -ESRCH: the process
 * does not exist, all its threads have ended, or `start_time` is not that of
 * rs_hosted_start_time(), so the pid was reused. -EACCES, -EPERM: its memory must not be written.
 * `doorbell_fd`: an eventfd that its agent rings, which the target takes over on success; -1: none.
 * stop and destroy let it run on, and the reason of its own end is RS_END_GONE.
 */
int rs_hosted_attach(pid_t pid, uint64_t start_time, int doorbell_fd, struct rs_target **out,
		     struct rs_error *err);

/* Whether pause works; if not, *why is the reason. Known once start has returned. */
bool rs_hosted_can_patch(const struct rs_target *target, struct rs_error *why);

/* Start time of a process in clock ticks after boot (/proc/PID/stat), 0: there is none. */
uint64_t rs_hosted_start_time(pid_t pid);

#endif
