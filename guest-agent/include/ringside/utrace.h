/* SPDX-License-Identifier: MIT */
/*
 * Engines that watch and hold threads, as utrace has them. An engine is attached to one thread,
 * gets callbacks for the events that it has asked for, and may stop the thread, let it go on or
 * step it.
 * Any number of engines are attached to a thread and do not know of each other.
 *
 * This header is for who writes engines. utrace_os.h is for the OS whose threads they are, and
 * docs/dialects/utrace.md tells how both work together.
 *
 * Threads: what is declared here may be called on any CPU, at any time, also in a callback, and
 * with locks held that no hook of struct rs_utrace_os takes. Only rs_utrace_barrier() waits.
 * Not from an interrupt, which may have come inside of one of these calls on the same CPU.
 *
 * Memory: what is attached belongs to whoever attaches it. Nothing is allocated. All calls on an
 * engine need a reference to it and then are safe, whatever its thread does. An engine keeps the
 * struct of its thread in memory, though not the thread alive.
 *
 * Trust: engines and the OS trust each other.
 */
#ifndef RINGSIDE_UTRACE_H
#define RINGSIDE_UTRACE_H

#include <ringside/engine.h>
#include <ringside/error.h>
#include <ringside/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A callback gets and returns an action, and for some events an OR of it and of one of these. */
#define RS_UTRACE_ACTION_MASK 0x07u
#define RS_UTRACE_ACTION(value) ((enum rs_utrace_action)((value)&RS_UTRACE_ACTION_MASK))
/* What becomes of the system call: report_syscall_entry. */
#define RS_UTRACE_SYSCALL_RUN 0x00u
#define RS_UTRACE_SYSCALL_ABORT 0x10u   /* it is not made */
#define RS_UTRACE_SYSCALL_RESUMED 0x20u /* only given: reported again after a stop; see there */

struct rs_utrace_thread;
struct rs_utrace_engine;

/* A signal on its way. A callback may change what it says. */
struct rs_utrace_signal {
	int32_t number; /* as the OS numbers them */
	int32_t code;   /* why it was sent, as the OS has it */
	void *info;     /* the OS's own description; may be NULL */
	bool step;      /* only given: a step is over, and that is why it was sent */
};

/* report_jctl */
enum rs_utrace_jctl { RS_UTRACE_JCTL_STOPPED, RS_UTRACE_JCTL_CONTINUED };

/*
 * An engine's callbacks. A member may be NULL as long as the engine does not set its event.
 *
 * All but report_reap are called by the thread itself, at a safe point: no lock is held, and what
 * the thread has in user mode is all there. A callback may do all that this header allows, and may
 * wait for memory. It must not wait for another thread's doing: to hold its thread it returns STOP.
 * An event that the thread runs into inside of a callback is not reported, but counted.
 *
 * For one event, engines are called in the order in which they were attached. An engine that is
 * attached meanwhile gets its first call for the next event. SYSCALL_ENTRY, with the calls of
 * report_quiesce before it, has the reverse order: who was attached last is the closest to user
 * mode.
 *
 * `action` is what will be done if this engine returns RESUME: the smallest of what the engines
 * before it want, and for system calls and signals what the last one of them returned.
 *
 * The return value says what the engine wants from now on, and so takes the place of what it wanted
 * before. What is asked by rs_utrace_control() while the callback runs counts as said after it. A
 * number that is no action means RESUME, and so does a step that the OS does not have. The thread
 * acts on it when it is about to return to user mode, except for STOP in report_syscall_entry,
 * report_signal, report_exit and the calls of report_quiesce before them: there the thread stops
 * once all engines have been called.
 */
struct rs_utrace_ops {
	/*
	 * QUIESCE. Called before each event that any engine gets, except REAP. `event` is that
	 * event's mask. The engine may have the event called at once by rs_utrace_set_events()
	 * here. `event` 0: no event, but an engine has asked for a report, and the thread is about
	 * to return to user mode, or to stop.
	 */
	uint32_t (*report_quiesce)(uint32_t action, struct rs_utrace_engine *engine,
				   uint32_t event);
	/*
	 * SIGNAL, SIGNAL_*: `action` and the return value have RS_UTRACE_SIGNAL_*. The event is
	 * what the OS was to do, and all engines with that event are called, whatever one of them
	 * makes of it.
	 * SIGNAL_REPORT: no signal waits, but the engine has asked for INTERRUPT and has SIGNAL
	 * among its events. It may fill *signal, whose number is 0, and return what is to be done
	 * with it: so it sends the thread a signal of its own. If the number stays 0 there is none.
	 * Other engines see the signal only if they have asked, too, and are called later.
	 * `regs` here and below: the user's registers as the OS keeps them.
	 */
	uint32_t (*report_signal)(uint32_t action, struct rs_utrace_engine *engine, void *regs,
				  struct rs_utrace_signal *signal);
	/*
	 * CLONE. `flags` are the OS's. Who attaches to `child` here is there before it runs. STOP
	 * by rs_utrace_control() then holds it before its first instruction.
	 */
	uint32_t (*report_clone)(uint32_t action, struct rs_utrace_engine *engine, uint64_t flags,
				 struct rs_utrace_thread *child);
	/* JCTL. `notify`: the thread is the last one of its process, and its parent is told. */
	uint32_t (*report_jctl)(uint32_t action, struct rs_utrace_engine *engine,
				enum rs_utrace_jctl type, bool notify);
	/* EXEC. `path` is the program's, as the OS gives it. */
	uint32_t (*report_exec)(uint32_t action, struct rs_utrace_engine *engine, const char *path,
				void *regs);
	/*
	 * SYSCALL_ENTRY: `action` and the return value have RS_UTRACE_SYSCALL_*. If the thread
	 * stops here, it does so before the call is made. When it goes on, it makes the call that
	 * its registers ask for then. First it calls all engines again, with SYSCALL_RESUMED in
	 * `action`, if one of them has asked for REPORT or INTERRUPT before or during the stop: the
	 * registers may have been changed by another. SIGKILL ends the stop without the call.
	 */
	uint32_t (*report_syscall_entry)(uint32_t action, struct rs_utrace_engine *engine,
					 void *regs);
	/* SYSCALL_EXIT: the call's result is in the registers, and may be changed. */
	uint32_t (*report_syscall_exit)(uint32_t action, struct rs_utrace_engine *engine,
					void *regs);
	/* EXIT. *code becomes the exit code; `original` is what the thread gave. */
	uint32_t (*report_exit)(uint32_t action, struct rs_utrace_engine *engine, int64_t original,
				int64_t *code);
	/*
	 * DEATH. `group_dead`: the thread was its process's last one; `signal`: as the OS has it.
	 * Of the return value only DETACH means something. After it, report_reap is not called.
	 */
	uint32_t (*report_death)(struct rs_utrace_engine *engine, bool group_dead, int32_t signal);
	/*
	 * REAP: the last call, after report_death has returned if there is one, by whoever reaps
	 * the thread or by the thread. The engine is then detached.
	 */
	void (*report_reap)(struct rs_utrace_engine *engine);
	/*
	 * The last reference has gone. The memory is the attacher's again; `thread` and `data` are
	 * valid for the last time. Once for each time that the engine was attached, in the context
	 * of whoever put the reference, without a lock. May be NULL, needs no event.
	 */
	void (*release)(struct rs_utrace_engine *engine);
};

/*
 * An engine, in memory of the attacher. Zero it before its first use; it may be attached again once
 * it was released.
 */
struct rs_utrace_engine {
	/* To be read only; constant from attach to release. */
	const struct rs_utrace_ops *ops;
	struct rs_utrace_thread *thread;
	uint64_t number; /* one more than that of the engine attached before it to this thread */
	void *data;      /* the attacher's */
	/* Private: under the lock of the thread, but `refs`, which is atomic. */
	struct rs_utrace_engine *child[2], *parent; /* in the tree of the thread's engines */
	struct rs_utrace_engine *gone;              /* in a list of those to be dropped */
	uint32_t below;                             /* what concerns it and those below it */
	uint32_t refs;
	uint32_t events;
	uint8_t wish;  /* enum rs_utrace_action: what the engine wants now */
	bool attached; /* is in the thread's list */
	bool detached; /* by control while its callback ran: leaves the list after it */
	bool asked;    /* control was called since its callback began */
	bool due;      /* control has asked for a report since its callback began */
};

/*
 * Attaches an engine to a thread, or finds one. `flags`, an OR of
 *     MATCH_OPS, MATCH_DATA   which one to look for: with these ops, with this data, both, or any
 *     CREATE                  attach `memory`, else find the first one that matches
 *     EXCLUSIVE               with CREATE: not if there is one that matches
 * On success, *engine has a reference that belongs to the caller. It has another one as long as it
 * is attached. `memory` is NULL without CREATE. A new engine has no events, so nothing happens yet.
 * The caller must know that the struct of the thread is there, as by rs_utrace_thread_get().
 *     -RS_EINVAL  unknown flags, EXCLUSIVE without CREATE, CREATE without ops or memory
 *     -RS_EBUSY   `memory` is attached or was not released yet
 *     -RS_EEXIST  EXCLUSIVE, and there is one
 *     -RS_ENOENT  without CREATE: none matches
 *     -RS_ESRCH   reaping the thread has begun
 */
#define RS_UTRACE_ATTACH_MATCH_OPS 0x01u
#define RS_UTRACE_ATTACH_MATCH_DATA 0x02u
#define RS_UTRACE_ATTACH_CREATE 0x10u
#define RS_UTRACE_ATTACH_EXCLUSIVE 0x20u
int rs_utrace_attach(struct rs_utrace_thread *thread, uint32_t flags,
		     const struct rs_utrace_ops *ops, void *data, struct rs_utrace_engine *memory,
		     struct rs_utrace_engine **engine);

/* References. Get needs one already. Put may call ops->release. */
void rs_utrace_engine_get(struct rs_utrace_engine *engine);
void rs_utrace_engine_put(struct rs_utrace_engine *engine);

/*
 * Sets the events for which the engine gets callbacks, instead of those that it had.
 *     0                 done. No callback of an event that was cleared is running, but the
 *                       caller's own, and none will be called.
 *     -RS_EINPROGRESS   done, but the callback of an event that was cleared is running now on
 *                       another CPU. rs_utrace_barrier() waits for its end. Never for bits that
 *                       were only set.
 *     -RS_EINVAL        unknown events, or one whose callback is NULL
 *     -RS_ESRCH         the engine is not attached
 *     -RS_EALREADY      too late to set or clear DEATH or QUIESCE, since the thread's death has
 *                       begun, or REAP, since its reaping has. All events stay as they were.
 */
int rs_utrace_set_events(struct rs_utrace_engine *engine, uint32_t events);

/*
 * Says what the engine wants from now on (enum rs_utrace_action), instead of what it wanted before.
 * A stopped thread goes on once none of its engines wants STOP.
 *     STOP        0: the thread is stopped, and stays so. -RS_EINPROGRESS: it runs. Then this acts
 *                 as REPORT, and what report_quiesce returns there counts; without QUIESCE in its
 *                 events the thread simply stops, at its next safe point. Does not interrupt a
 *                 system call. A thread that was killed does not stop.
 *     INTERRUPT   as REPORT, but needs no QUIESCE. The OS ends a system call that waits.
 *     REPORT      report_quiesce is called before the thread stops or returns to user mode the
 *                 next time. If it is stopped: once it goes on.
 *     SINGLESTEP, BLOCKSTEP
 *                 If it is stopped: once it goes on, it steps, unless a callback that is made
 *                 before returns something else. If it runs, they act as REPORT.
 *     RESUME      0 also if it was not stopped.
 *     DETACH      0: no callback is running, but the caller's own, and none will be made.
 *                 -RS_EINPROGRESS: a callback is running; once it has returned the engine is
 *                 detached. rs_utrace_barrier() waits for that. -RS_EALREADY: report_death may be
 *                 running or over, or is about to come; the engine stays attached until it returns
 *                 DETACH there, or until the thread is reaped. -RS_ESRCH: reaping has begun, so
 *                 report_reap may be running or over.
 * Any of them:
 *     -RS_EINVAL  no action; REPORT, SINGLESTEP or BLOCKSTEP while QUIESCE is not in its events
 *     -RS_ENOSYS  the OS cannot do this kind of step
 *     -RS_ESRCH   the engine is not attached any more, or (but DETACH) the thread has died
 * SIGKILL always ends a stop, so a callback may come although the thread was stopped: then this
 * fails with -RS_ESRCH or -RS_EALREADY, or the thread is on its way there.
 */
int rs_utrace_control(struct rs_utrace_engine *engine, enum rs_utrace_action action);

/*
 * Waits until no callback of the engine is running. It does not wait for one that begins later. May
 * also be called once the engine was detached.
 *     0                none is running, or the one that was has returned
 *     -RS_ESRCH        the engine is detached, and its last callback is over
 *     -RS_EINPROGRESS  the caller is the callback itself
 *     -RS_ERESTARTSYS  the hook `wait` gave up: call again
 */
int rs_utrace_barrier(struct rs_utrace_engine *engine);

/*
 * Between these two a thread that the engine has stopped may be examined: its registers and memory
 * are at rest. If SIGKILL has set it going meanwhile, finish says so, and what was read is
 * worthless. In the engine's own callback both return 0.
 *     -RS_EINVAL  prepare: the engine does not want STOP
 *     -RS_EAGAIN  prepare: the thread has not stopped yet, or runs again; finish: it ran meanwhile
 *     -RS_ESRCH   the engine is not attached any more, or the thread has died
 */
struct rs_utrace_examiner {
	uint64_t runs; /* private */
};
int rs_utrace_prepare_examine(struct rs_utrace_engine *engine, struct rs_utrace_examiner *examiner);
int rs_utrace_finish_examine(struct rs_utrace_engine *engine,
			     const struct rs_utrace_examiner *examiner);

#ifdef __cplusplus
}
#endif

#endif
