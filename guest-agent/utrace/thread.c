/* SPDX-License-Identifier: MIT */
/* A thread and the list of its engines: from its beginning to its reaping. */
#include "events.h"
#include "utrace-private.h"

int rs_utrace_thread_init(struct rs_utrace_thread *thread, const struct rs_utrace_os *os,
			  uint32_t id)
{
	if (!os->block || !os->unblock || !os->kick || !os->current || !os->wait)
		return -RS_EINVAL;
	__builtin_memset(thread, 0, sizeof(*thread));
	thread->os = os;
	thread->id = id;
	thread->refs = 2; /* the OS's, and the thread's own until it has died */
	thread->step = RS_UTRACE_RESUME;
	return 0;
}

void rs_utrace_thread_get(struct rs_utrace_thread *thread)
{
	__atomic_fetch_add(&thread->refs, 1, __ATOMIC_RELAXED);
}

void rs_utrace_thread_put(struct rs_utrace_thread *thread)
{
	const struct rs_utrace_os *os = thread->os;

	if (__atomic_fetch_sub(&thread->refs, 1, __ATOMIC_ACQ_REL) == 1 && os->release)
		os->release(thread);
}

uint32_t rs_utrace_missed(struct rs_utrace_thread *thread)
{
	uint32_t missed;

	rs_utrace_lock(thread);
	missed = thread->missed;
	rs_utrace_unlock(thread);
	return missed;
}

void rs_utrace_recount(struct rs_utrace_thread *thread)
{
	rs_store(&thread->wanted,
		 (thread->wanted & RS_UTRACE_PENDING) | rs_utrace_all_events(thread));
}

void rs_utrace_set_wish(struct rs_utrace_engine *engine, uint32_t action)
{
	struct rs_utrace_thread *thread = engine->thread;

	thread->stops += (action == RS_UTRACE_STOP) - (uint32_t)(engine->wish == RS_UTRACE_STOP);
	if (engine->wish != action) {
		engine->wish = (uint8_t)action;
		rs_utrace_note(engine);
	}
	if (action < RS_UTRACE_RESUME)
		rs_store(&thread->wanted, thread->wanted | RS_UTRACE_PENDING);
}

void rs_utrace_set_due(struct rs_utrace_engine *engine, bool due)
{
	if (engine->due == due)
		return;
	engine->due = due;
	rs_utrace_note(engine);
}

void rs_utrace_unlink(struct rs_utrace_engine *engine)
{
	struct rs_utrace_thread *thread = engine->thread;

	rs_utrace_set_wish(engine, RS_UTRACE_RESUME);
	rs_utrace_take_out(thread, engine);
	if (engine->events)
		rs_utrace_recount(thread);
}

void rs_utrace_drop(struct rs_utrace_engine *engine)
{
	trace_utrace_detach(engine->thread->id, engine->number);
	rs_utrace_engine_put(engine);
}

bool rs_utrace_let_go(struct rs_utrace_thread *thread)
{
	if (!thread->stopped)
		return false;
	thread->stopped = false;
	thread->runs++;
	return true;
}

/* Detaches all engines, after their last callback. */
static void reap_all(struct rs_utrace_thread *thread)
{
	struct rs_utrace_engine *engine;

	while ((engine = rs_utrace_engine_first(thread, 0, false))) {
		rs_utrace_call_reap(engine);
		rs_utrace_unlink(engine);
		rs_utrace_unlock(thread);
		rs_utrace_drop(engine);
		rs_utrace_lock(thread);
	}
}

void rs_utrace_report_death(struct rs_utrace_thread *thread, bool group_dead, int32_t signal)
{
	struct rs_utrace_report report = {
		.number = RS_UTRACE_EVENT_DEATH, .flag = group_dead, .what = signal};

	rs_utrace_lock(thread);
	thread->life = RS_UTRACE_DYING;
	thread->at = RS_UTRACE_EVENT_DEATH;
	if (thread->engines)
		rs_utrace_call_all(thread, &report, 0);
	thread->life = RS_UTRACE_DEAD;
	if (thread->reaping)
		reap_all(thread);
	rs_utrace_unlock(thread);
	rs_utrace_thread_put(thread);
}

void rs_utrace_reap(struct rs_utrace_thread *thread)
{
	rs_utrace_lock(thread);
	thread->reaping = true;
	if (thread->life == RS_UTRACE_DEAD)
		reap_all(thread);
	rs_utrace_unlock(thread);
}

void rs_utrace_kill(struct rs_utrace_thread *thread)
{
	bool wake;

	rs_utrace_lock(thread);
	thread->killed = true;
	wake = rs_utrace_let_go(thread);
	rs_utrace_unlock(thread);
	if (wake) {
		trace_utrace_resume(thread->id, 0, RS_UTRACE_RESUME);
		thread->os->unblock(thread);
	}
}
