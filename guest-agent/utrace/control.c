/* SPDX-License-Identifier: MIT */
/* What an engine asks of its thread from outside of callbacks: stop, go on, let go, wait, look. */
#include "events.h"
#include "utrace-private.h"

/* What is to be done once the lock is free. */
struct after {
	bool wake, kick, drop;
};

static bool is_step(uint32_t action)
{
	return action == RS_UTRACE_SINGLESTEP || action == RS_UTRACE_BLOCKSTEP;
}

static int check(const struct rs_utrace_engine *engine, uint32_t action)
{
	const struct rs_utrace_thread *thread = engine->thread;

	if (!rs_utrace_in_force(engine))
		return -RS_ESRCH;
	if (action == RS_UTRACE_DETACH) {
		if (thread->reaping)
			return -RS_ESRCH;
		return thread->life == RS_UTRACE_LIVE ? 0 : -RS_EALREADY;
	}
	if (thread->life != RS_UTRACE_LIVE)
		return -RS_ESRCH;
	if ((action == RS_UTRACE_REPORT || is_step(action)) &&
	    !(engine->events & RS_UTRACE_EVENT(QUIESCE)))
		return -RS_EINVAL;
	if ((action == RS_UTRACE_SINGLESTEP && !thread->os->single_step) ||
	    (action == RS_UTRACE_BLOCKSTEP && !thread->os->block_step))
		return -RS_ENOSYS;
	return 0;
}

static int detach(struct rs_utrace_engine *engine, const void *me, struct after *after)
{
	if (engine->thread->reporting != engine) {
		rs_utrace_unlink(engine);
		after->drop = true;
		return 0;
	}
	/* Its caller unlinks it after the callback. */
	rs_utrace_set_wish(engine, RS_UTRACE_RESUME);
	engine->detached = true;
	return rs_utrace_calls_itself(engine, me) ? 0 : -RS_EINPROGRESS;
}

static int want(struct rs_utrace_engine *engine, uint32_t action, const void *me,
		struct after *after)
{
	struct rs_utrace_thread *thread = engine->thread;

	rs_utrace_set_wish(engine, action);
	engine->asked = true;
	if (action == RS_UTRACE_RESUME || (thread->stopped && action == RS_UTRACE_STOP))
		return 0;
	/*
	 * A stopped thread steps without a report. The engine's own callback needs none either:
	 * what it asks is as if it had returned it. Else it could ask for reports without end.
	 */
	if (!rs_utrace_calls_itself(engine, me)) {
		if (!(thread->stopped && is_step(action))) {
			thread->due = true;
			rs_utrace_set_due(engine, true);
		}
		after->kick = !thread->stopped || action == RS_UTRACE_INTERRUPT;
	}
	return action == RS_UTRACE_STOP ? -RS_EINPROGRESS : 0;
}

int rs_utrace_control(struct rs_utrace_engine *engine, enum rs_utrace_action action)
{
	struct rs_utrace_thread *thread = engine->thread;
	const void *me = thread->os->current();
	struct after after = {0};
	int err;

	if ((uint32_t)action >= RS_UTRACE_ACTIONS)
		return -RS_EINVAL;
	rs_utrace_lock(thread);
	err = check(engine, action);
	if (!err) {
		err = action == RS_UTRACE_DETACH ? detach(engine, me, &after)
						 : want(engine, action, me, &after);
		if (!thread->stops)
			after.wake = rs_utrace_let_go(thread);
	}
	rs_utrace_unlock(thread);

	/* The caller's reference keeps the thread's struct. */
	if (after.kick)
		thread->os->kick(thread, action == RS_UTRACE_INTERRUPT);
	if (after.wake) {
		trace_utrace_resume(thread->id, engine->number, action);
		thread->os->unblock(thread);
	}
	if (after.drop)
		rs_utrace_drop(engine);
	return err;
}

int rs_utrace_barrier(struct rs_utrace_engine *engine)
{
	struct rs_utrace_thread *thread = engine->thread;
	const void *me = thread->os->current();
	bool waited = false;
	uint64_t call = 0;

	for (;;) {
		bool running, attached, itself;

		rs_utrace_lock(thread);
		running = thread->reporting == engine;
		attached = engine->attached;
		itself = rs_utrace_calls_itself(engine, me);
		/* One that began later is not waited for. */
		if (waited && thread->calls != call)
			running = false;
		call = thread->calls;
		rs_utrace_unlock(thread);
		if (itself)
			return -RS_EINPROGRESS;
		if (!running)
			return attached || waited ? 0 : -RS_ESRCH;
		if (!thread->os->wait())
			return -RS_ERESTARTSYS;
		waited = true;
	}
}

int rs_utrace_examinable(const struct rs_utrace_engine *engine, const void *me)
{
	const struct rs_utrace_thread *thread = engine->thread;

	if (!rs_utrace_in_force(engine) || thread->life != RS_UTRACE_LIVE)
		return -RS_ESRCH;
	if (rs_utrace_calls_itself(engine, me))
		return 0;
	if (engine->wish != RS_UTRACE_STOP)
		return -RS_EINVAL;
	return thread->stopped ? 0 : -RS_EAGAIN;
}

int rs_utrace_prepare_examine(struct rs_utrace_engine *engine, struct rs_utrace_examiner *examiner)
{
	struct rs_utrace_thread *thread = engine->thread;
	const void *me = thread->os->current();
	int err;

	rs_utrace_lock(thread);
	err = rs_utrace_examinable(engine, me);
	examiner->runs = thread->runs;
	rs_utrace_unlock(thread);
	return err;
}

int rs_utrace_finish_examine(struct rs_utrace_engine *engine,
			     const struct rs_utrace_examiner *examiner)
{
	struct rs_utrace_thread *thread = engine->thread;
	const void *me = thread->os->current();
	int err = 0;

	rs_utrace_lock(thread);
	if (!rs_utrace_in_force(engine) || thread->life != RS_UTRACE_LIVE)
		err = -RS_ESRCH;
	else if (rs_utrace_calls_itself(engine, me))
		err = 0;
	else if (!thread->stopped || thread->runs != examiner->runs)
		err = -RS_EAGAIN;
	rs_utrace_unlock(thread);
	return err;
}
