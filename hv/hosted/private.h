/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the hosted target: hosted.c (the session's side), tracer.c (the thread
 * that owns the process), spawn.c (starts it), text.c (its memory).
 */
#ifndef RS_HV_HOSTED_PRIVATE_H
#define RS_HV_HOSTED_PRIVATE_H

#include "base/ticks.h"
#include "hosted/hosted.h"

#include <glib.h>
#include <signal.h>

enum rs_hosted_request {
	RS_HOSTED_NOTHING,
	RS_HOSTED_START, /* fork, seize, exec */
	RS_HOSTED_SEIZE, /* an existing process */
	RS_HOSTED_PAUSE,
	RS_HOSTED_RESUME,
	RS_HOSTED_QUIT, /* detach (attached) or kill (ours), then end the thread */
};

struct rs_hosted {
	struct rs_target base; /* first */
	char **argv;
	char *program; /* argv[0] as found in PATH */
	char **envp;
	int regions_fd;
	uint64_t *claim, claim_base;
	int doorbell_fd;
	bool no_ptrace;
	bool attached; /* not ours: never killed */
	sigset_t mask; /* signal mask that the program starts with */

	GMainContext *context;
	GSource *doorbell_source, *kill_source;
	GThread *thread;
	GSource *ended_source;
	bool stop_asked, stop_forced; /* forced: it was killed, since it did not end */
	char stop_why[128];
	int mem_fd; /* /proc/PID/mem of the image that runs; -1: none */
	pid_t tracer_tid;
	struct rs_moment begun; /* the measurement of the clock's rate begins here */

	GMutex lock; /* protects all below */
	GCond answered;
	enum rs_hosted_request request;
	int result;
	struct rs_error error;
	struct rs_error no_patch; /* code 0: pause works */
	bool new_image;           /* mem_fd is of an image that is gone */
	bool paused;
	bool ended;
	bool reported;
	int status; /* of waitpid, once ended */
	struct rs_target_stats stats;

	/* Only the tracer thread uses these. */
	GHashTable *tasks; /* tid -> struct task */
	bool stopping;     /* every task is to be stopped */
	pid_t silent;      /* a pause waited in vain for this task; 0: none */
	bool quit;
};

/* tracer.c: the thread's main function; it ends after RS_HOSTED_QUIT. */
gpointer rs_hosted_tracer(gpointer data);
/* The signal that interrupts the thread's wait. Its handler does nothing. */
int rs_hosted_wake_signal(void);

/*
 * spawn.c, on the tracer thread: starts the program, and seizes it. If ptrace is not permitted, the
 * program runs without it, and *why has a code != 0. Returns the pid or -errno.
 */
pid_t rs_hosted_spawn(struct rs_hosted *hosted, unsigned long options, struct rs_error *why,
		      struct rs_error *err);

/* hosted.c, from the tracer thread: the process has executed another program. */
void rs_hosted_new_image(struct rs_hosted *hosted);
/* hosted.c, from the tracer thread: the process is gone (status as from waitpid). */
void rs_hosted_gone(struct rs_hosted *hosted, int status);

/* text.c: the target's operations on memory. */
int rs_hosted_read_virt(struct rs_target *target, rs_gva_t at, void *out, size_t size,
			struct rs_error *err);
int rs_hosted_read_text(struct rs_target *target, const struct rs_text_patch *patches, size_t count,
			uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err);
int rs_hosted_write_text(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, bool *bad, struct rs_error *err);

#endif
