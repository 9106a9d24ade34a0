/* SPDX-License-Identifier: MIT */
/* Calls engines, one after the other, without the lock. */
#include "events.h"
#include "utrace-private.h"

/* One round of callbacks. */
struct round {
	struct rs_utrace_report *report; /* NULL: no event */
	uint32_t flags;                  /* of rs_utrace_call_all() */
	uint32_t smallest;               /* of what the engines called so far want */
	bool interrupt;                  /* one of them wants INTERRUPT */
	struct rs_utrace_engine *gone;   /* detached meanwhile, to be dropped */
};

/* Returns what the callback of the event returned. */
static uint32_t call_event(struct rs_utrace_engine *engine, struct round *round)
{
	const struct rs_utrace_ops *ops = engine->ops;
	struct rs_utrace_report *r = round->report;
	uint32_t action = round->smallest;

	switch (r->number) {
	case RS_UTRACE_EVENT_CLONE:
		return ops->report_clone(action, engine, r->value, r->child);
	case RS_UTRACE_EVENT_EXEC:
		return ops->report_exec(action, engine, r->path, r->regs);
	case RS_UTRACE_EVENT_EXIT:
		return ops->report_exit(action, engine, (int64_t)r->value, r->code);
	case RS_UTRACE_EVENT_DEATH:
		action = ops->report_death(engine, r->flag, r->what);
		return action == RS_UTRACE_DETACH ? action : RS_UTRACE_RESUME;
	case RS_UTRACE_EVENT_SYSCALL_ENTRY:
		action |= r->result | (round->flags & RS_UTRACE_SYSCALL_RESUMED);
		action = ops->report_syscall_entry(action, engine, r->regs);
		r->result = action & RS_UTRACE_SYSCALL_ABORT;
		return action;
	case RS_UTRACE_EVENT_SYSCALL_EXIT:
		return ops->report_syscall_exit(action, engine, r->regs);
	case RS_UTRACE_EVENT_JCTL:
		return ops->report_jctl(action, engine, (enum rs_utrace_jctl)r->what, r->flag);
	default: /* a signal */
		action = ops->report_signal(action | r->result, engine, r->regs, r->signal);
		if (RS_UTRACE_SIGNAL_ACTION(action) <= RS_UTRACE_SIGNAL_CORE)
			r->result = RS_UTRACE_SIGNAL_ACTION(action);
		return action;
	}
}

/* What the return value means: no other number, and no step that cannot be. */
static uint32_t understood(const struct rs_utrace_os *os, uint32_t value)
{
	uint32_t action = RS_UTRACE_ACTION(value);

	if ((action == RS_UTRACE_SINGLESTEP && !os->single_step) ||
	    (action == RS_UTRACE_BLOCKSTEP && !os->block_step) || action >= RS_UTRACE_ACTIONS)
		return RS_UTRACE_RESUME;
	return action;
}

/* With the lock, before the callback of event `number`. Lets go of it. */
static void begin(struct rs_utrace_engine *engine, uint32_t number)
{
	struct rs_utrace_thread *thread = engine->thread;

	thread->reporting = engine;
	thread->reporting_event = 1u << number;
	thread->calls++;
	engine->asked = false;
	rs_utrace_set_due(engine, false);
	rs_utrace_unlock(thread);
}

/* After it. Takes the lock. */
static void end(struct rs_utrace_engine *engine, uint32_t number, uint32_t action)
{
	struct rs_utrace_thread *thread = engine->thread;

	trace_utrace_report(thread->id, engine->number, number, action);
	rs_utrace_lock(thread);
	thread->reporting = NULL;
	if (action == RS_UTRACE_DETACH)
		engine->detached = true;
	else if (!engine->asked && !engine->detached)
		rs_utrace_set_wish(engine, action);
}

static void call(struct rs_utrace_engine *engine, struct round *round)
{
	const struct rs_utrace_os *os = engine->thread->os;
	uint32_t event = round->report ? 1u << round->report->number : 0;

	if (round->flags & RS_UTRACE_CALL_DUE && !engine->due)
		return;
	if (round->flags & RS_UTRACE_CALL_SENDERS &&
	    (engine->wish != RS_UTRACE_INTERRUPT || !(engine->events & event)))
		return;
	if (engine->events & RS_UTRACE_EVENT(QUIESCE)) {
		uint32_t action;

		begin(engine, RS_UTRACE_EVENT_QUIESCE);
		action = engine->ops->report_quiesce(round->smallest, engine, event);
		end(engine, RS_UTRACE_EVENT_QUIESCE, understood(os, action));
	}
	if (!engine->detached && engine->events & event) {
		uint32_t action;

		begin(engine, round->report->number);
		action = call_event(engine, round);
		end(engine, round->report->number, understood(os, action));
	}
	if (engine->detached)
		return;
	if (engine->wish < round->smallest)
		round->smallest = engine->wish;
	round->interrupt |= engine->wish == RS_UTRACE_INTERRUPT;
}

/* Who is about to call engines. The hook is asked without the lock. */
static void know_reporter(struct rs_utrace_thread *thread)
{
	const void *me;

	rs_utrace_unlock(thread);
	me = thread->os->current();
	rs_utrace_lock(thread);
	thread->reporter = me;
}

static void drop_all(struct rs_utrace_engine *gone)
{
	while (gone) {
		struct rs_utrace_engine *next = gone->gone;

		gone->gone = NULL;
		rs_utrace_drop(gone);
		gone = next;
	}
}

/* Whom it concerns. Those who want something are asked for it, whether they are called or not. */
static uint32_t mask_of(const struct rs_utrace_report *report, uint32_t flags)
{
	if (flags & RS_UTRACE_CALL_DUE)
		return RS_UTRACE_DUE;
	if (flags & RS_UTRACE_CALL_SENDERS)
		return RS_UTRACE_WISHES;
	return RS_UTRACE_WISHES | RS_UTRACE_EVENT(QUIESCE) | (report ? 1u << report->number : 0);
}

/* Engines attached meanwhile have numbers above `last`, and stand behind all others. */
static struct rs_utrace_engine *next_of(const struct rs_utrace_engine *engine, uint64_t last,
					uint32_t mask, bool reverse)
{
	struct rs_utrace_engine *next = rs_utrace_engine_next(engine, mask, reverse);

	return next && next->number <= last ? next : NULL;
}

/*
 * While an engine is called it stays in the list, and so leads to the next one, whatever else
 * happens to the list.
 */
void rs_utrace_call_all(struct rs_utrace_thread *thread, struct rs_utrace_report *report,
			uint32_t flags)
{
	struct round round = {.report = report, .flags = flags, .smallest = RS_UTRACE_RESUME};
	bool reverse = flags & RS_UTRACE_CALL_REVERSE;
	uint32_t mask = mask_of(report, flags);
	struct rs_utrace_engine *engine, *next;
	uint64_t last;

	know_reporter(thread);
	last = thread->numbers;
	thread->inside = true;
	for (engine = rs_utrace_engine_first(thread, mask, reverse); engine; engine = next) {
		call(engine, &round);
		next = next_of(engine, last, mask, reverse);
		if (engine->detached) {
			rs_utrace_unlink(engine);
			engine->gone = round.gone;
			round.gone = engine;
		}
	}
	thread->inside = false;
	rs_utrace_unlock(thread);
	drop_all(round.gone);
	/* It may be about to wait. With no event it is about to leave. */
	if (round.interrupt && report && report->number != RS_UTRACE_EVENT_DEATH &&
	    !(flags & RS_UTRACE_CALL_SENDERS))
		thread->os->kick(thread, true);
	rs_utrace_lock(thread);
}

void rs_utrace_call_reap(struct rs_utrace_engine *engine)
{
	if (!(engine->events & RS_UTRACE_EVENT(REAP)))
		return;
	know_reporter(engine->thread);
	begin(engine, RS_UTRACE_EVENT_REAP);
	engine->ops->report_reap(engine);
	end(engine, RS_UTRACE_EVENT_REAP, RS_UTRACE_DETACH);
}
