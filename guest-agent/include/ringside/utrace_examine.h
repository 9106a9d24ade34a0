/* SPDX-License-Identifier: MIT */
/*
 * For who looks at threads from outside, such as a debugger or the host: finds threads by number,
 * and reads and changes what a stopped one has in user mode. The OS supplies how (utrace_os.h),
 * once for all who look. All but the numbers of registers is the same for every architecture.
 *
 * Threads: as utrace.h. Where an engine is asked for, the thread must be stopped and that engine
 * must want STOP, or the caller is inside of the engine's own callback. While one of these
 * functions runs, the thread stays where it is, even if it is killed or another engine lets it go:
 * it goes on afterwards. So each call is whole by itself. Who needs several calls to fit together
 * puts them between rs_utrace_prepare_examine() and rs_utrace_finish_examine().
 *
 * Errors of all functions that take an engine:
 *     -RS_EINVAL  the engine does not want STOP
 *     -RS_EAGAIN  the thread has not stopped yet, or runs again
 *     -RS_ESRCH   the engine is not attached any more, or the thread has died
 *     -RS_ENOSYS  the OS has no hook for it
 */
#ifndef RINGSIDE_UTRACE_EXAMINE_H
#define RINGSIDE_UTRACE_EXAMINE_H

#include <ringside/registers.h>
#include <ringside/utrace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rs_utrace_os;

/* Who a thread is. */
struct rs_utrace_identity {
	uint32_t id;            /* the one given to rs_utrace_thread_init(), 1 ... */
	uint32_t process;       /* its thread group; its own id if it has none */
	uint32_t parent;        /* of the process; 0: none */
	char comm[RS_COMM_LEN]; /* NUL-padded; 32 bytes need no NUL */
	bool dead;              /* it has died, and is still to be reaped */
};

/* A system call that a thread is about to make. */
#define RS_UTRACE_ARGS_MAX 6u
struct rs_utrace_syscall {
	uint64_t number;
	uint32_t count; /* of args, RS_UTRACE_ARGS_MAX at most */
	uint32_t reserved;
	uint64_t args[RS_UTRACE_ARGS_MAX];
};

/* How many bytes of memory one call reads or writes at most. */
#define RS_UTRACE_MEMORY_MAX 65536u

/*
 * The thread that has the number `id`, or the one with the smallest number above `after`: so, from
 * 0 on, all threads one after the other. Threads that come and go meanwhile may be left out, and
 * none comes twice. *thread has a reference for the caller, who puts it: rs_utrace_thread_put(). It
 * may have died, and is then still to be reaped.
 *     -RS_ESRCH   there is none
 *     -RS_ENOSYS  the OS has no hook for it
 */
int rs_utrace_find(const struct rs_utrace_os *os, uint32_t id, struct rs_utrace_thread **thread);
int rs_utrace_next(const struct rs_utrace_os *os, uint32_t after, struct rs_utrace_thread **thread);

/* Who the thread is, stopped or not. Needs a reference. -RS_ENOSYS: only `id` is known. */
int rs_utrace_identify(struct rs_utrace_thread *thread, struct rs_utrace_identity *identity);

/*
 * At which event the thread has stopped, RS_UTRACE_EVENT_*; in the engine's own callback the event
 * of that. QUIESCE: where it would return to user mode.
 */
int rs_utrace_stopped_at(struct rs_utrace_engine *engine);

/*
 * The user's registers, in the order of registers.h. Get has room for RS_REGISTERS_MAX, and returns
 * how many there are; the others are 0. Set changes those in `mask`, all or none.
 *     -RS_ENOENT  the thread has never been in user mode, and the OS has no registers for it yet
 *     -RS_EINVAL  set: there is no such register, or it may not have this value
 *     -RS_EPERM   set: the OS cannot change one of them (stack pointers may be such)
 */
int rs_utrace_get_registers(struct rs_utrace_engine *engine, uint64_t values[RS_REGISTERS_MAX]);
int rs_utrace_set_registers(struct rs_utrace_engine *engine, const uint64_t *values, uint64_t mask);

/*
 * Reads `size` bytes, RS_UTRACE_MEMORY_MAX at most, at an address of the thread's. Returns how many
 * there are before the first one that the thread could not read either, `size` or less.
 */
int rs_utrace_read_memory(struct rs_utrace_engine *engine, uint64_t address, void *to,
			  uint32_t size);
/* Likewise writes them; returns how many could be. */
int rs_utrace_write_memory(struct rs_utrace_engine *engine, uint64_t address, const void *from,
			   uint32_t size);

/*
 * The system call that the thread is about to make. Get can be had if it has stopped at
 * SYSCALL_ENTRY, or in report_syscall_entry or the report_quiesce before it. Set makes it another
 * call, `count` of whose arguments are given; the others stay.
 *     -RS_ENOENT  it is about to make none
 *     -RS_EINVAL  set: `count` is too large
 */
int rs_utrace_get_syscall(struct rs_utrace_engine *engine, struct rs_utrace_syscall *call);
int rs_utrace_set_syscall(struct rs_utrace_engine *engine, const struct rs_utrace_syscall *call);

/*
 * Of a thread that has stopped at a signal: what becomes of that, RS_UTRACE_SIGNAL_*, and of which
 * number it is; 0: it stays. Of one that has stopped at its exit: with which code. In its callback
 * an engine says so by what it returns.
 *     -RS_ENOENT  it has stopped elsewhere
 *     -RS_EINVAL  nothing like that becomes of a signal, or there is no such number
 */
int rs_utrace_set_signal(struct rs_utrace_engine *engine, int32_t number, uint32_t fate);
int rs_utrace_set_exit(struct rs_utrace_engine *engine, int64_t code);

#ifdef __cplusplus
}
#endif

#endif
