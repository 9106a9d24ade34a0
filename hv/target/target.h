/* SPDX-License-Identifier: MIT */
/*
 * A target: the machine (or process) whose guest is traced, as the rest of hv sees it. Its
 * implementations are hv/vmm (our KVM VMM), hv/qemu (QEMU over QMP and its gdb stub) and
 * hv/hosted (an ordinary process). Nothing above this header knows which one it talks to.
 *
 * Threads: every function is called on the session's thread (the thread of its GMainContext). Every
 * callback of rs_target_events runs there too: a target with threads of its own hands over by
 * itself. Guest memory is hostile: the functions here return bytes, and the caller checks them.
 */
#ifndef RS_HV_TARGET_H
#define RS_HV_TARGET_H

#include "base/error.h"
#include "target/text.h"
#include <ringside/control.h>
#include <ringside/region.h>
#include <ringside/types.h>
#include <sys/types.h>

struct rs_target;

/* Why a target ended (rs_target_end.reason). */
enum rs_end_reason {
	RS_END_EXIT,         /* the guest asked: `code` is its exit code */
	RS_END_PANIC,        /* the guest said why: `text` */
	RS_END_TRIPLE_FAULT, /* shut down by the CPU */
	RS_END_RESET,        /* the guest reset the machine */
	RS_END_KILLED,       /* we stopped it: `text` says who asked */
	RS_END_GONE,         /* the process that ran it went away */
	RS_END_FAULT,        /* the target could not go on: `text` */
};

struct rs_target_end {
	enum rs_end_reason reason;
	int code;       /* 0..255 */
	int signal;     /* RS_END_FAULT: what killed the program; 0: no signal */
	char text[256]; /* may be the guest's: escape before printing */
};

/*
 * Steps of a pause. A pause at somebody else's wish (a QEMU that is stopped and continued by
 * another client) has STOPPED and RESUMED alone, and somewhat late. STOPPED after RESUMING: it did
 * not go on.
 */
enum rs_pause_step {
	RS_PAUSE_ASKED,    /* about to be stopped */
	RS_PAUSE_STOPPED,  /* no vCPU runs */
	RS_PAUSE_RESUMING, /* about to go on */
	RS_PAUSE_RESUMED,  /* goes on */
};

struct rs_target_events {
	void *data;
	/*
	 * The guest rang for the request in `slot`, which may be any number. Whoever rang waits
	 * outside the guest until this returns. The callee takes the request out of the region
	 * and publishes the answer there, or that one will come. True: the guest asked to end, and
	 * the target ends as *end says. Mailboxes ring nothing.
	 */
	bool (*hypercall)(void *data, uint32_t slot, struct rs_target_end *end);
	/* A reader's doorbell was rung. */
	void (*doorbell)(void *data);
	/* The target has ended. Called once. Memory can still be read until destroy. */
	void (*ended)(void *data, const struct rs_target_end *end);
	/* The guest is stopped or goes on: see enum rs_pause_step. May be NULL. */
	void (*pause)(void *data, enum rs_pause_step step);
	/*
	 * The machine was reset, and the target goes on: its guest boots anew, and its text is as
	 * it was loaded. `at`: when that was, g_get_monotonic_time(); it may be told seconds later,
	 * when the next boot is at work. May be NULL.
	 */
	void (*reset)(void *data, gint64 at);
	/*
	 * The guest's kernel has panicked, as the machine was told, at that moment. The target goes
	 * on, and whoever runs the machine decides what follows: a reset, its end, or nothing. May
	 * be NULL.
	 */
	void (*panicked)(void *data, gint64 at);
	/* Something that people are to know of the machine, in one line. May be NULL. */
	void (*news)(void *data, const char *text);
	/*
	 * ready() was false, and is to be asked again. It also comes when a target answers again
	 * after pauses have failed because it did not. May be NULL.
	 */
	void (*ready)(void *data);
};

/* Why a vCPU left the guest. Values are those of the event host:exit. */
enum rs_exit_reason {
	RS_EXIT_KICK,      /* we, or a signal, made it leave */
	RS_EXIT_PORT,      /* a port: `at` is its number */
	RS_EXIT_MMIO,      /* memory that is none: `at` is its address */
	RS_EXIT_HYPERCALL, /* the port or memory of hypercalls */
	RS_EXIT_DOORBELL,  /* likewise of doorbells */
	RS_EXIT_CONSOLE,   /* a port of the serial console */
	RS_EXIT_HALT,
	RS_EXIT_SHUTDOWN, /* a triple fault */
	RS_EXIT_SYSTEM,   /* a system event, such as a reset */
	RS_EXIT_ERROR,    /* it cannot go on */
	RS_EXIT_OTHER,
};

struct rs_vcpu_exit {
	uint32_t vcpu;
	enum rs_exit_reason reason;
	uint64_t at;
	uint64_t guest_ns; /* in the guest before it; 0: nobody had asked yet when it went in */
	uint64_t host_ns;  /* outside before that; 0: likewise */
};

/*
 * Who is told what vCPUs do, on their own threads, beside each other. Must outlive the target.
 */
struct rs_target_watch {
	void *data;
	/* Read before and after each stay in the guest: RS_EVENT_ENABLED in it asks for exits. */
	const uint32_t *exits;
	void (*exit)(void *data, const struct rs_vcpu_exit *exit);
};

/* Counters, each since the target started. */
struct rs_target_stats {
	uint64_t exits;           /* vCPU exits to us; 0 if a target cannot tell */
	uint64_t kvm_exits;       /* as KVM counts them, all vCPUs; 0 likewise */
	uint64_t doorbells;       /* of a process: those that came at once are one */
	uint64_t console_waiting; /* bytes of the guest's console that nobody has read so far … */
	uint64_t console_lost;    /* … and that could not be written. Those that we write */
};

struct rs_target_ops {
	const char *kind; /* "kvm", "qemu-tcg", "hosted" …: for people */
	bool is_program;  /* a process of this host, whose agent is there or never comes */
	bool native;      /* a CPU of this host runs its code */
	/* It is not ours to end: stop() ends only our part in it, once its text is as it was. */
	bool borrowed;
	const char *writer; /* how text is written, for people; NULL: the guest has to do it */
	bool clock_stops;   /* a pause stops the guest's event clock, a new epoch begins then */
	uint32_t nudges;    /* RS_GUEST_NUDGE_*: the interrupts that nudge() can raise */
	bool tells_exits;   /* to target->watch */

	/* Begins to run the guest. Events may arrive from now on. */
	int (*start)(struct rs_target *target, struct rs_error *err);

	/*
	 * Whether a pause would take no longer than the guest needs to stop, or fail at once. Never
	 * waits. False: the target was busy when it was last heard of. It has been asked whether it
	 * is now, and events.ready follows soon, at the latest when the target is given up. NULL:
	 * always true. Called through rs_target_ready().
	 */
	bool (*ready)(struct rs_target *target);
	/* Stops every vCPU (or thread) outside guest code, and lets them go on. Not nested. A
	 * target that has ended accepts both. Called through rs_target_pause() and _resume(). */
	int (*pause)(struct rs_target *target, struct rs_error *err);
	int (*resume)(struct rs_target *target, struct rs_error *err);
	/* A batch of patches begins, or is over. In between the calling thread is to get a CPU at
	 * once. Not nested. NULL: there is nothing to do for that. */
	void (*hurry)(struct rs_target *target, bool on);

	/* Copies guest-physical memory. All or nothing: -EFAULT if some of it is not memory. NULL:
	 * the target has no physical addresses (hosted). */
	int (*read_phys)(struct rs_target *target, rs_gpa_t at, void *out, size_t size,
			 struct rs_error *err);
	/* Copies memory as the guest sees it. NULL: use page tables over read_phys. */
	int (*read_virt)(struct rs_target *target, rs_gva_t at, void *out, size_t size,
			 struct rs_error *err);

	/*
	 * Only text.c calls these (see text.h), with patches that were checked. `bad`: as for
	 * rs_text_write_checked(). read_text is for targets where every read is a system call or a
	 * message. NULL: read_phys or read_virt for each patch.
	 */
	int (*write_text)(struct rs_target *target, const struct rs_text_patch *patches,
			  size_t count, bool *bad, struct rs_error *err);
	int (*read_text)(struct rs_target *target, const struct rs_text_patch *patches,
			 size_t count, uint8_t (*now)[RS_TEXT_MAX], struct rs_error *err);
	/*
	 * Whether all of these patches, which the caller compares with the text first, can be
	 * written by write_live while the guest runs, so that a CPU runs through the old bytes or
	 * the new ones of each, or what of a site stands for the NOP; if all are `unused`, none
	 * does. `failed`: what a pause for that has returned; 0: none was tried. Both NULL: never.
	 * Called through rs_text_writes_live() and rs_text_write_live().
	 */
	bool (*writes_live)(struct rs_target *target, const struct rs_text_patch *patches,
			    size_t count, int failed);
	int (*write_live)(struct rs_target *target, const struct rs_text_patch *patches,
			  size_t count, bool *bad, struct rs_error *err);

	void (*stats)(struct rs_target *target, struct rs_target_stats *out);
	/* The event clock's rate in Hz as the host knows it, 0 if it does not. A target that has
	 * this says also that the event clock ticks with the host's counter (base/ticks.h). */
	uint64_t (*clock_hz)(struct rs_target *target);
	/* The event clock's value now, exactly. NULL or 0: unknown. */
	uint64_t (*clock_now)(struct rs_target *target);

	/*
	 * Raises interrupt `vector` (16..255), or an NMI if it is 0, on every vCPU that is up, so
	 * that the agent looks at rs_control.nudge. Never waits for the guest: a paused guest gets
	 * it when it runs again. -ENOTSUP: `nudges` has no such interrupt; -ESRCH: the guest has
	 * ended. NULL: no interrupt can be raised.
	 */
	int (*nudge)(struct rs_target *target, uint32_t vector, struct rs_error *err);

	/*
	 * Writes the guest's memory into a new file (target/core.h), at an absolute path. Also of
	 * one that has ended, if its memory is still there. Waits, for up to 2 minutes or as long
	 * as the disk takes. -ESRCH: it is not there. On failure a part of the file may be. NULL:
	 * the target has no memory of its own.
	 */
	int (*dump)(struct rs_target *target, const char *path, struct rs_error *err);

	/*
	 * While it is paused: the vCPUs whose bits are set in `cpus`, one for each of
	 * target->vcpus, stay where they are when resume() lets the others go on, until another
	 * call. NULL: none stays. -E2BIG: too many would go on. NULL op: it cannot do that.
	 */
	int (*hold)(struct rs_target *target, const uint64_t *cpus, struct rs_error *err);
	/*
	 * Resets the machine, as its button would. events.reset follows: it boots anew, and is not
	 * ended by that. NULL: it cannot be reset.
	 */
	int (*reset)(struct rs_target *target, struct rs_error *err);

	/* Since then, the guest's agent has reported. From now on a reset is the guest's own. */
	void (*booted)(struct rs_target *target);

	/* Asks the guest to end; `ended` follows. */
	void (*stop)(struct rs_target *target, const char *why);
	/* Ends it at once, without asking. NULL: stop() does so. Not of one that is `borrowed`. */
	void (*kill)(struct rs_target *target, const char *why);
	/* Leaves the guest running without us if that is possible (QEMU). Otherwise ends it. */
	void (*destroy)(struct rs_target *target);
};

struct rs_target {
	const struct rs_target_ops *ops;
	struct rs_target_events events;
	/* Set before start, if ops->tells_exits; NULL: nobody asks. Not owned. */
	const struct rs_target_watch *watch;
	uint32_t vcpus;
	pid_t pid; /* process that runs the guest; our own for hv/vmm */

	/*
	 * rs_control.switching of a guest whose agent says RS_GUEST_BREAKPOINTS, for write_live.
	 * NULL: a breakpoint in its text is nobody's. Not owned.
	 */
	uint32_t *switching;
	uint32_t pauses;    /* rs_target_pause() calls that were not undone yet */
	bool held;          /* somebody else has stopped it too: resume() leaves it stopped */
	bool let_run;       /* somebody else let it run on in a pause of ours: that is over */
	uint64_t paused_at; /* CLOCK_MONOTONIC, ns */
	/*
	 * Grows with each question to somebody else that a read of memory took, such as one to
	 * QEMU by way of libvirt's daemon: some ms each.
	 */
	uint64_t slow_reads;
};

/* Whether to pause it now. Otherwise events.ready tells when: see ops->ready. */
bool rs_target_ready(struct rs_target *target);
/*
 * Pauses, and tells events.pause of each step. Nested pauses are counted, and only the outermost
 * one stops the guest. 0, or what ops->pause returns.
 */
int rs_target_pause(struct rs_target *target, struct rs_error *err);
/*
 * Undoes one rs_target_pause(); harmless without one. `paused_ns` (may be NULL) gets how long the
 * guest stood still; of an inner pause how long until now. 0, or what ops->resume returns: then the
 * guest may stand still although no pause is counted, and another call tries again.
 */
int rs_target_resume(struct rs_target *target, uint64_t *paused_ns, struct rs_error *err);

#endif
