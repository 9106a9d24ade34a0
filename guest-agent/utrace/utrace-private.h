/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share. The lock of a thread guards it and the engines in its list. It
 * is never held while a callback or a hook is called, so it is held for some instructions only, and
 * for a walk along the engines concerned.
 */
#ifndef RS_UTRACE_PRIVATE_H
#define RS_UTRACE_PRIVATE_H

#include "core.h"

#include <ringside/utrace_os.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

/* Of a thread: alive, in report_death callbacks, through with them. */
enum rs_utrace_life { RS_UTRACE_LIVE, RS_UTRACE_DYING, RS_UTRACE_DEAD };

static inline void rs_utrace_lock(struct rs_utrace_thread *thread)
{
	while (__atomic_exchange_n(&thread->lock, 1, __ATOMIC_ACQUIRE))
		rs_core_relax();
}

static inline void rs_utrace_unlock(struct rs_utrace_thread *thread)
{
	rs_store_release(&thread->lock, 0);
}

/* All of the following are called with the lock of the engine's thread. */

/* Whether calls on the engine still reach the thread. */
static inline bool rs_utrace_in_force(const struct rs_utrace_engine *engine)
{
	return engine->attached && !engine->detached;
}

/* Whether `me` is inside of a callback of the engine. */
static inline bool rs_utrace_calls_itself(const struct rs_utrace_engine *engine, const void *me)
{
	return engine->thread->reporting == engine && engine->thread->reporter == me;
}

/* control.c: whether `me` may look at the thread by way of the engine now: 0 or an error. */
int rs_utrace_examinable(const struct rs_utrace_engine *engine, const void *me);

void rs_utrace_set_wish(struct rs_utrace_engine *engine, uint32_t action);

/*
 * order.c: the engines of a thread that something concerns, in the order in which they attached, or
 * in reverse. `mask`: events, and the two below; 0: all engines. NULL: no (other) one. An engine
 * leads to the next one for as long as it is attached, whoever comes and goes meanwhile.
 */
#define RS_UTRACE_WISHES 0x10000000u /* it wants something but RESUME */
#define RS_UTRACE_DUE 0x20000000u    /* rs_utrace_engine.due */
struct rs_utrace_engine *rs_utrace_engine_first(const struct rs_utrace_thread *thread,
						uint32_t mask, bool reverse);
struct rs_utrace_engine *rs_utrace_engine_next(const struct rs_utrace_engine *engine, uint32_t mask,
					       bool reverse);
/* Any event of any engine. */
uint32_t rs_utrace_all_events(const struct rs_utrace_thread *thread);
/* To be called after a change of its events, `wish` or `due`. */
void rs_utrace_note(struct rs_utrace_engine *engine);
/* A new engine, whose number is the largest; one that goes. */
void rs_utrace_link(struct rs_utrace_thread *thread, struct rs_utrace_engine *engine);
void rs_utrace_take_out(struct rs_utrace_thread *thread, struct rs_utrace_engine *engine);

#define rs_utrace_each(engine, thread, mask)                                                       \
	for (struct rs_utrace_engine *engine = rs_utrace_engine_first(thread, mask, false);        \
	     engine; engine = rs_utrace_engine_next(engine, mask, false))

void rs_utrace_set_due(struct rs_utrace_engine *engine, bool due);
/* Takes the engine out of the list. The caller then owns the reference of the list, and puts it
 * without the lock: rs_utrace_drop(). */
void rs_utrace_unlink(struct rs_utrace_engine *engine);
void rs_utrace_drop(struct rs_utrace_engine *engine);

/* Works out thread->wanted again, after events have gone. */
void rs_utrace_recount(struct rs_utrace_thread *thread);

/* The thread is to go on. Who has the lock calls unblock without it if this returns true. */
bool rs_utrace_let_go(struct rs_utrace_thread *thread);

/* call.c: calls engines for `report`, or, if it is NULL, those with QUIESCE for no event. Lets go
 * of the lock meanwhile. `flags`: these, and RS_UTRACE_SYSCALL_RESUMED. */
#define RS_UTRACE_CALL_REVERSE 0x1u /* who was attached last is the first */
#define RS_UTRACE_CALL_DUE 0x2u     /* only engines that have asked for a report */
#define RS_UTRACE_CALL_SENDERS 0x4u /* only those that may send a signal of their own */
void rs_utrace_call_all(struct rs_utrace_thread *thread, struct rs_utrace_report *report,
			uint32_t flags);
/* call.c: report_reap, if the engine has its event. Lets go of the lock meanwhile. */
void rs_utrace_call_reap(struct rs_utrace_engine *engine);

#pragma GCC visibility pop

#endif
