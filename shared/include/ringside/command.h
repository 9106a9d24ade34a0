/* SPDX-License-Identifier: MIT */
/*
 * Commands: what the host asks of a guest, beside switching its events.
 *
 * A task of the guest offers itself by RS_HCALL_COMMAND. The answer, often late, is one command.
 * The task carries it out and says with its next RS_HCALL_COMMAND what came of it. So commands run
 * where the guest's OS may take locks and go through its threads, one after the other.
 *
 *	request   args[0]  the id of the command that was carried out; 0: none
 *	          args[1]  its result: 0 or more, or negative, of ringside/error.h
 *	          args[2..5], data: what it yields
 *	answer    values[0]  the id of a command; its upper half is the session's, the lower half
 *	                     is RS_CMD_NONE's or grows. 0 in the lower half: there is no command,
 *	                     ask again. At least one answer comes every RS_CMD_BEAT_MS
 *	          values[1]  its number, RS_CMD_*
 *	          values[2..5], data: its arguments
 *
 * A guest that hears nothing for RS_CMD_SILENCE_MS of its own running time takes the session for
 * dead, and so it does when it hears another session.
 */
#ifndef RINGSIDE_COMMAND_H
#define RINGSIDE_COMMAND_H

#include <ringside/engine.h>
#include <ringside/facility.h>
#include <ringside/hypercall.h>
#include <ringside/types.h>

#define RS_CMD_BEAT_MS 1000u
#define RS_CMD_SILENCE_MS 5000u
#define RS_CMD_ARGS 4u
#define RS_CMD_DATA RS_HCALL_DATA

#define RS_CMD_ID(session, count) ((uint64_t)(session) << 32 | (uint32_t)(count))
#define RS_CMD_SESSION(id) ((uint32_t)((id) >> 32))
#define RS_CMD_COUNT(id) ((uint32_t)(id))

/*
 * Which processes are traced, after ktrace(2). args: RS_KTROP_*; facilities, a mask as in
 * ringside/facility.h; a process id, or a negative one of a group, as a signed number; RS_KTROP_*
 * flags. Result: how many processes were changed.
 */
#define RS_CMD_KTRACE 1u
#define RS_KTROP_SET 0u
#define RS_KTROP_CLEAR 1u
#define RS_KTROP_CLEARALL 2u
#define RS_KTROP_DESCEND 1u /* flag: present descendants, too */

/*
 * Threads and engines, after utrace. A handle names an engine; no other of this boot ever has the
 * same. Events and actions are those of ringside/engine.h, and a mask has a bit for each event.
 * Results are those of the functions of ringside/utrace.h, and
 *     -RS_EBADF   no engine has this handle, or not any more
 *     -RS_EAGAIN  the engine has not stopped its thread, or not yet
 *     -RS_ENOSPC  the guest has no memory for another engine
 */
/*
 * Threads with an id above args[0], in order. Result: how many. values: bytes from one to the next.
 * data: struct rs_cmd_thread[].
 */
#define RS_CMD_THREADS 16u
/*
 * args: thread id, mask of events at which the thread is to stop, RS_ENGINE_* flags. values:
 * handle. data: struct rs_cmd_thread, of this thread. -RS_EINVAL: one of RS_UTRACE_EVENT_NO_STOPS,
 * or an unknown flag; -RS_EALREADY: the thread has died, and is still to be reaped
 */
#define RS_CMD_ENGINE_ATTACH 17u
/* args: handle, an action: all but REPORT */
#define RS_CMD_ENGINE_CONTROL 18u
/*
 * args: handle. Result: how many registers. values: the event at which the thread has stopped;
 * 1: it is about to make a system call, its number, how many arguments are known. data: uint64_t[],
 * the registers (ringside/registers.h), then those arguments.
 */
#define RS_CMD_ENGINE_REGISTERS 19u
/* args: handle, mask. data: uint64_t[RS_REGISTERS_MAX] */
#define RS_CMD_ENGINE_SET_REGISTERS 20u
/* args: handle, number, how many arguments are given. data: those, uint64_t[] */
#define RS_CMD_ENGINE_SET_SYSCALL 21u
/* args: handle, address, bytes. Result: bytes of data */
#define RS_CMD_ENGINE_MEMORY 22u
/* args: handle, address. data: what is to be written there. Result: bytes that were */
#define RS_CMD_ENGINE_SET_MEMORY 23u
/* args: handle, events and flags instead of those that it had, as for ATTACH */
#define RS_CMD_ENGINE_SET_EVENTS 24u
/*
 * Of a thread that has stopped at a signal: what becomes of it. args: handle, another number or 0,
 * RS_UTRACE_SIGNAL_*. -RS_ENOENT: it has stopped elsewhere
 */
#define RS_CMD_ENGINE_SET_SIGNAL 25u
/* Of one that has stopped at its exit. args: handle, the code, a signed number. Errors: likewise */
#define RS_CMD_ENGINE_SET_EXIT 26u

/*
 * Numbers of an OS's own: args, data, result, values and data are as it says. It adds a handler for
 * those that it has (ringside/serve.h).
 */
#define RS_CMD_OS_FIRST 0x40000000u
#define RS_CMD_OS_LAST 0x7fffffffu

/*
 * The engine is attached to each thread that its thread makes, too, before that runs: as another
 * engine with the same events and flags, which news tell.
 */
#define RS_ENGINE_FOLLOW 1u

struct rs_cmd_thread {
	uint32_t id;
	uint32_t process;
	uint32_t parent; /* of the process; 0: none */
	uint32_t state;  /* RS_THREAD_* */
	char comm[32];   /* NUL-padded */
};
RS_ASSERT_SIZE(struct rs_cmd_thread, 48);
#define RS_CMD_THREADS_MAX (RS_CMD_DATA / 48u)
#define RS_THREAD_ALIVE 0u
#define RS_THREAD_DEAD 1u /* it is still to be reaped */

/*
 * What an engine has to tell, by RS_HCALL_NEWS. args: RS_NEWS_*; its handle; then
 *     STOPPED   the number of the event; its value: of SYSCALL_ENTRY or a signal its number, of an
 *               exit the code, of a clone the child's id, else 0, also at SYSCALL_EXIT. At EXEC
 *               data is the path, RS_NEWS_DATA bytes at most, without NUL. After RS_UTRACE_STOP the
 *               value is 0 for all but SYSCALL_ENTRY if another engine had stopped the thread there
 *               before. A stopped thread tells it once for each stop.
 *     STEPPED   the same, and the thread has stopped since its step is over
 *     GONE      nothing has this handle any more
 *     ATTACHED  the handle of the engine that it follows; a new one, whose handle is told here for
 *               the first time. data: struct rs_cmd_thread. Nothing that befalls a thread after it
 *               has made this one is told before it.
 *     REFUSED   how many threads it could not follow so far, for want of memory
 *     LEFT      the guest has taken the session for dead, and let go of all engines up to this
 *               handle: they grow
 */
#define RS_NEWS_STOPPED 1u
#define RS_NEWS_GONE 2u
#define RS_NEWS_STEPPED 3u
#define RS_NEWS_ATTACHED 4u
#define RS_NEWS_REFUSED 5u
#define RS_NEWS_LEFT 6u
#define RS_NEWS_DATA 256u

#endif
