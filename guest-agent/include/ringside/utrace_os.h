/* SPDX-License-Identifier: MIT */
/*
 * What an OS does so that engines (utrace.h) can watch its threads. It embeds a struct
 * rs_utrace_thread in each, supplies hooks, and calls the functions below at its safe points.
 *
 * A safe point is a place where the thread holds no lock, may sleep, and has its user registers
 * saved. Unless said otherwise a function is called by the thread that it is about.
 *
 * Cost: each report is one load and one branch as long as no engine of the thread has the event,
 * and so is rs_utrace_resume() while nothing is asked of the thread. Death and reaping take a lock
 * once in a life.
 */
#ifndef RINGSIDE_UTRACE_OS_H
#define RINGSIDE_UTRACE_OS_H

#include <ringside/atomic.h>
#include <ringside/utrace_examine.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The hooks. None is called with a lock held. Those without a comment on NULL must be there. They
 * may be called while the struct of the thread is in use only; what they need of the thread must
 * live as long.
 */
struct rs_utrace_os {
	/*
	 * On `thread` itself: sleep until unblock(thread) is called. An unblock that was called
	 * before the sleep ends it at once; it may also end without one.
	 */
	void (*block)(struct rs_utrace_thread *thread);
	/* On any thread: see block. */
	void (*unblock)(struct rs_utrace_thread *thread);
	/*
	 * On any thread: `thread` is to call rs_utrace_resume() soon, also if it is in user mode on
	 * another CPU. `interrupt`: also ends the wait of a system call that it makes or is about
	 * to make, as a signal would. May come for the caller itself, and for a thread that has
	 * died meanwhile.
	 */
	void (*kick)(struct rs_utrace_thread *thread, bool interrupt);
	/*
	 * On `thread` itself, in rs_utrace_resume(): from now on it runs one instruction or one
	 * block in user mode at a time, and then gets a signal with `step`; or no more. NULL: there
	 * is no such thing.
	 */
	void (*single_step)(struct rs_utrace_thread *thread, bool on);
	void (*block_step)(struct rs_utrace_thread *thread, bool on);
	/* Anything that tells the running thread from all others, such as its address. */
	const void *(*current)(void);
	/*
	 * On who called rs_utrace_barrier(), again and again while it waits: lets others run, by a
	 * yield or a short sleep. False: the caller is to give up, since a signal waits for it.
	 */
	bool (*wait)(void);
	/* On any thread: the last reference to `thread` has gone. NULL: nobody needs to know. */
	void (*release)(struct rs_utrace_thread *thread);

	/*
	 * For those who look at threads from outside (utrace_examine.h, which has the shapes). Each
	 * may be NULL: then they are told -RS_ENOSYS. On any thread.
	 */
	/* The thread with the smallest id above `after` of those that are not reaped yet, with a
	 * reference (rs_utrace_thread_get()) for the caller. NULL: there is none. */
	struct rs_utrace_thread *(*next)(uint32_t after);
	/* `thread` may run. `identity` holds its id, twice, and zeroes. */
	void (*identify)(struct rs_utrace_thread *thread, struct rs_utrace_identity *identity);
	/*
	 * From here on `thread` is stopped, or the caller, and stays so meanwhile.
	 * Get: how many registers there are, into values[]; -RS_ENOENT: none yet. Set: all of the
	 * mask or none. -RS_EINVAL: no such register or value; -RS_EPERM: it cannot be changed.
	 * The OS must leave out of it what user mode may not set, as some flags.
	 */
	int (*get_registers)(struct rs_utrace_thread *thread, uint64_t *values);
	int (*set_registers)(struct rs_utrace_thread *thread, const uint64_t *values,
			     uint64_t mask);
	/* How many bytes from `address` on could be read, up to the first that the thread could
	 * not read in user mode. Any address may come. */
	uint32_t (*read_memory)(struct rs_utrace_thread *thread, uint64_t address, void *to,
				uint32_t size);
	/* How many bytes were written there, up to the first that it could not write in user mode.
	 * Its instructions may be among them. Any address may come. */
	uint32_t (*write_memory)(struct rs_utrace_thread *thread, uint64_t address,
				 const void *from, uint32_t size);
	/* Called only while it is about to make a system call. `call` is zeroed for get; its
	 * `count` is in bounds for set, which changes so many arguments. Set: 0, or an error. */
	void (*get_syscall)(struct rs_utrace_thread *thread, struct rs_utrace_syscall *call);
	int (*set_syscall)(struct rs_utrace_thread *thread, const struct rs_utrace_syscall *call);
};

/* The OS embeds it in its thread, and reads none of it. `lock` guards all but the first word. */
struct rs_utrace_thread {
	uint32_t wanted; /* events of all engines, and RS_UTRACE_PENDING; read without the lock */
	uint32_t lock;
	uint32_t refs; /* atomic */
	uint32_t id;   /* constant */
	const struct rs_utrace_os *os;
	struct rs_utrace_engine *engines; /* the root of their tree; NULL: none */
	uint64_t numbers;                 /* of the engine attached last */
	uint64_t calls;                   /* callbacks that have begun */
	uint64_t runs;                    /* how often it went on after a stop */
	struct rs_utrace_report *report;  /* what is reported, until it may go on; NULL: nothing */
	struct rs_utrace_engine *reporting; /* whose callback runs */
	const void *reporter;               /* who runs it */
	uint32_t reporting_event;           /* the callback's, a mask */
	uint32_t stops;                     /* engines that want STOP */
	uint32_t missed;                    /* events inside of callbacks */
	uint32_t at;                        /* the event at which it is or has stopped */
	uint32_t holds;                     /* who look at it: until then it stays stopped */
	uint8_t life;                       /* private enum of utrace-private.h */
	bool reaping;                       /* has begun */
	bool stopped;
	bool killed;
	bool due;     /* perhaps one of its engines is */
	bool inside;  /* engines are being called */
	uint8_t step; /* which step is on, an action; RESUME: none */
};
#define RS_UTRACE_PENDING 0x80000000u

/*
 * A new thread, which does not run yet; `id` names it in traces. It has two references: one goes
 * with its death, the other is the OS's, to be put after rs_utrace_reap() and when nobody in the OS
 * can find the thread any more. -RS_EINVAL: a hook is missing.
 */
int rs_utrace_thread_init(struct rs_utrace_thread *thread, const struct rs_utrace_os *os,
			  uint32_t id);

/* More references, on any thread: as long as there is one, engines may be attached. */
void rs_utrace_thread_get(struct rs_utrace_thread *thread);
void rs_utrace_thread_put(struct rs_utrace_thread *thread);

/* How many events were left out since they came inside of callbacks. Any thread. */
uint32_t rs_utrace_missed(struct rs_utrace_thread *thread);

/* What is reported. The inline functions below fill it. */
struct rs_utrace_report {
	uint32_t number;                 /* RS_UTRACE_EVENT_* */
	void *regs;                      /* SYSCALL_*, EXEC, SIGNAL* */
	struct rs_utrace_signal *signal; /* SIGNAL* */
	struct rs_utrace_thread *child;  /* CLONE */
	const char *path;                /* EXEC */
	uint64_t value;                  /* CLONE: flags; EXIT: the code */
	int64_t *code;                   /* EXIT */
	int32_t what;                    /* DEATH: signal; JCTL: type */
	bool flag;                       /* DEATH: group_dead; JCTL: notify */
	uint32_t result;                 /* RS_UTRACE_SYSCALL_*, RS_UTRACE_SIGNAL_* */
};
/* All fields but the number are zero. C and C++ have no initialiser in common that says so. */
static inline struct rs_utrace_report rs_utrace_report_of(uint32_t number)
{
	struct rs_utrace_report report;

	__builtin_memset(&report, 0, sizeof(report));
	report.number = number;
	return report;
}

/* Private: the slow paths. Each returns report->result. */
uint32_t rs_utrace_report_slow(struct rs_utrace_thread *thread, struct rs_utrace_report *report);
uint32_t rs_utrace_report_syscall_slow(struct rs_utrace_thread *thread, void *regs);
void rs_utrace_resume_slow(struct rs_utrace_thread *thread);
bool rs_utrace_take_signal_slow(struct rs_utrace_thread *thread, void *regs,
				struct rs_utrace_signal *signal, uint32_t *action);

static inline bool rs_utrace_wanted(const struct rs_utrace_thread *thread, uint32_t mask)
{
	return rs_unlikely(rs_load(&thread->wanted) & mask);
}

/*
 * Last, before the thread returns to user mode: after a system call, a fault, an interrupt, a
 * signal, and before the first instruction of a new thread. Here it stops and steps. It need not be
 * called on the way into the kernel. If interrupts are off, it must be called again once they were
 * on: a kick may have come. May sleep.
 */
static inline void rs_utrace_resume(struct rs_utrace_thread *thread)
{
	if (rs_utrace_wanted(thread, RS_UTRACE_PENDING))
		rs_utrace_resume_slow(thread);
}

/*
 * Before a system call. The thread may stop in it, so the OS reads number and arguments from the
 * registers afterwards. False: the call is not to be made; its result is what the registers say.
 */
static inline bool rs_utrace_report_syscall_entry(struct rs_utrace_thread *thread, void *regs)
{
	if (rs_utrace_wanted(thread, RS_UTRACE_EVENT(SYSCALL_ENTRY)))
		return rs_utrace_report_syscall_slow(thread, regs) != RS_UTRACE_SYSCALL_ABORT;
	return true;
}

/* After one, with its result in the registers; also if it was not to be made. */
static inline void rs_utrace_report_syscall_exit(struct rs_utrace_thread *thread, void *regs)
{
	if (rs_utrace_wanted(thread, RS_UTRACE_EVENT(SYSCALL_EXIT))) {
		struct rs_utrace_report report = rs_utrace_report_of(RS_UTRACE_EVENT_SYSCALL_EXIT);

		report.regs = regs;
		rs_utrace_report_slow(thread, &report);
	}
}

/* The thread has made `child`, which is initialised and does not run yet. `flags` are the OS's. */
static inline void rs_utrace_report_clone(struct rs_utrace_thread *thread, uint64_t flags,
					  struct rs_utrace_thread *child)
{
	if (rs_utrace_wanted(thread, RS_UTRACE_EVENT(CLONE))) {
		struct rs_utrace_report report = rs_utrace_report_of(RS_UTRACE_EVENT_CLONE);

		report.value = flags;
		report.child = child;
		rs_utrace_report_slow(thread, &report);
	}
}

/* The new program is there; `regs` are those with which it starts. */
static inline void rs_utrace_report_exec(struct rs_utrace_thread *thread, const char *path,
					 void *regs)
{
	if (rs_utrace_wanted(thread, RS_UTRACE_EVENT(EXEC))) {
		struct rs_utrace_report report = rs_utrace_report_of(RS_UTRACE_EVENT_EXEC);

		report.path = path;
		report.regs = regs;
		rs_utrace_report_slow(thread, &report);
	}
}

/*
 * A signal was taken from the queue. `action`, RS_UTRACE_SIGNAL_*, is what the OS would do with it.
 * Returns what it is to do, with the signal as it says then. The thread may stop in it. SIGKILL is
 * not reported.
 */
static inline uint32_t rs_utrace_report_signal(struct rs_utrace_thread *thread, void *regs,
					       struct rs_utrace_signal *signal, uint32_t action)
{
	if (rs_utrace_wanted(thread, RS_UTRACE_EVENT_SIGNAL_ALL)) {
		/* Both have the same order. */
		struct rs_utrace_report report =
			rs_utrace_report_of(RS_UTRACE_EVENT_SIGNAL + (action >> 4));

		report.regs = regs;
		report.signal = signal;
		report.result = action;
		return rs_utrace_report_slow(thread, &report);
	}
	return action;
}

/*
 * No signal waits, and the thread is about to return to user mode: once before each
 * rs_utrace_resume(). Engines that have asked for INTERRUPT may have a signal for it. True: the OS
 * is to do *action, RS_UTRACE_SIGNAL_*, with *signal, whose `info` may be NULL, without a report of
 * it. The thread may stop in it.
 */
static inline bool rs_utrace_take_signal(struct rs_utrace_thread *thread, void *regs,
					 struct rs_utrace_signal *signal, uint32_t *action)
{
	return rs_utrace_wanted(thread, RS_UTRACE_PENDING) &&
	       rs_utrace_take_signal_slow(thread, regs, signal, action);
}

/* Job control has stopped the thread, which is about to sleep, or it goes on after that. */
static inline void rs_utrace_report_jctl(struct rs_utrace_thread *thread, enum rs_utrace_jctl type,
					 bool notify)
{
	if (rs_utrace_wanted(thread, RS_UTRACE_EVENT(JCTL))) {
		struct rs_utrace_report report = rs_utrace_report_of(RS_UTRACE_EVENT_JCTL);

		report.what = type;
		report.flag = notify;
		rs_utrace_report_slow(thread, &report);
	}
}

/* The thread begins to exit. Returns the code with which it is to do so. It may stop in it. */
static inline int64_t rs_utrace_report_exit(struct rs_utrace_thread *thread, int64_t code)
{
	int64_t result = code;

	if (rs_utrace_wanted(thread, RS_UTRACE_EVENT(EXIT))) {
		struct rs_utrace_report report = rs_utrace_report_of(RS_UTRACE_EVENT_EXIT);

		report.value = (uint64_t)code;
		report.code = &result;
		rs_utrace_report_slow(thread, &report);
	}
	return result;
}

/*
 * The thread has died: it will never be in user mode again. Called once for each thread, also if it
 * never ran (then by whoever gives it up), before, after or while it is reaped. No other report
 * follows, and the caller must not use `thread` after it unless it has a reference of its own.
 */
void rs_utrace_report_death(struct rs_utrace_thread *thread, bool group_dead, int32_t signal);

/*
 * On any thread, once: the thread is reaped. From now on nobody can attach to it. The callbacks are
 * made here, or by the thread if it has not finished rs_utrace_report_death().
 */
void rs_utrace_reap(struct rs_utrace_thread *thread);

/*
 * On any thread: SIGKILL was sent to it, or something that kills as surely, such as an exec or exit
 * of another thread of its process. It goes on if it is stopped, and never stops again.
 */
void rs_utrace_kill(struct rs_utrace_thread *thread);

#ifdef __cplusplus
}
#endif

#endif
