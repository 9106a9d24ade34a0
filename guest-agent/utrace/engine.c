/* SPDX-License-Identifier: MIT */
/* An engine: attached, found, told which events it wants, and given up. */
#include "events.h"
#include "utrace-private.h"

#define ATTACH_FLAGS                                                                               \
	(RS_UTRACE_ATTACH_MATCH_OPS | RS_UTRACE_ATTACH_MATCH_DATA | RS_UTRACE_ATTACH_CREATE |      \
	 RS_UTRACE_ATTACH_EXCLUSIVE)
#define DEATH_EVENTS (RS_UTRACE_EVENT(DEATH) | RS_UTRACE_EVENT(QUIESCE))

void rs_utrace_engine_get(struct rs_utrace_engine *engine)
{
	__atomic_fetch_add(&engine->refs, 1, __ATOMIC_RELAXED);
}

void rs_utrace_engine_put(struct rs_utrace_engine *engine)
{
	/* Once the count is 0, the memory may be attached again. */
	struct rs_utrace_thread *thread = engine->thread;
	const struct rs_utrace_ops *ops = engine->ops;

	if (__atomic_fetch_sub(&engine->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	if (ops->release)
		ops->release(engine);
	rs_utrace_thread_put(thread);
}

/* Two references: the list's and the caller's. */
static bool claim(struct rs_utrace_engine *memory)
{
	uint32_t none = 0;

	return __atomic_compare_exchange_n(&memory->refs, &none, 2, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static struct rs_utrace_engine *find(const struct rs_utrace_thread *thread, uint32_t flags,
				     const struct rs_utrace_ops *ops, const void *data)
{
	rs_utrace_each (e, thread, 0) {
		if (e->detached || (flags & RS_UTRACE_ATTACH_MATCH_OPS && e->ops != ops) ||
		    (flags & RS_UTRACE_ATTACH_MATCH_DATA && e->data != data))
			continue;
		return e;
	}
	return NULL;
}

static void append(struct rs_utrace_thread *thread, struct rs_utrace_engine *engine)
{
	engine->number = ++thread->numbers;
	engine->wish = RS_UTRACE_RESUME;
	engine->events = 0;
	engine->detached = engine->asked = engine->due = false;
	rs_utrace_link(thread, engine);
}

static int attach_new(struct rs_utrace_thread *thread, uint32_t flags,
		      const struct rs_utrace_ops *ops, void *data, struct rs_utrace_engine *engine)
{
	uint64_t number;
	int err = 0;

	if (!claim(engine))
		return -RS_EBUSY;
	rs_utrace_lock(thread);
	if (thread->reaping)
		err = -RS_ESRCH;
	else if (flags & RS_UTRACE_ATTACH_EXCLUSIVE && find(thread, flags, ops, data))
		err = -RS_EEXIST;
	if (err) {
		rs_utrace_unlock(thread);
		rs_store_release(&engine->refs, 0);
		return err;
	}
	rs_utrace_thread_get(thread);
	engine->ops = ops;
	engine->data = data;
	engine->thread = thread;
	append(thread, engine);
	number = engine->number;
	rs_utrace_unlock(thread);
	trace_utrace_attach(thread->id, number);
	return 0;
}

int rs_utrace_attach(struct rs_utrace_thread *thread, uint32_t flags,
		     const struct rs_utrace_ops *ops, void *data, struct rs_utrace_engine *memory,
		     struct rs_utrace_engine **engine)
{
	bool create = flags & RS_UTRACE_ATTACH_CREATE;
	struct rs_utrace_engine *found;
	int err = 0;

	if (flags & ~ATTACH_FLAGS || (create && (!ops || !memory)) ||
	    (!create && flags & RS_UTRACE_ATTACH_EXCLUSIVE))
		return -RS_EINVAL;
	if (create) {
		err = attach_new(thread, flags, ops, data, memory);
		if (!err)
			*engine = memory;
		return err;
	}
	rs_utrace_lock(thread);
	found = find(thread, flags, ops, data);
	if (thread->reaping)
		err = -RS_ESRCH;
	else if (!found)
		err = -RS_ENOENT;
	else
		rs_utrace_engine_get(found);
	rs_utrace_unlock(thread);
	if (!err)
		*engine = found;
	return err;
}

/* Whether the callbacks of all these events are there. */
static bool has_callbacks(const struct rs_utrace_ops *ops, uint32_t events)
{
	const uint32_t there = (ops->report_quiesce ? RS_UTRACE_EVENT(QUIESCE) : 0) |
			       (ops->report_reap ? RS_UTRACE_EVENT(REAP) : 0) |
			       (ops->report_clone ? RS_UTRACE_EVENT(CLONE) : 0) |
			       (ops->report_exec ? RS_UTRACE_EVENT(EXEC) : 0) |
			       (ops->report_exit ? RS_UTRACE_EVENT(EXIT) : 0) |
			       (ops->report_death ? RS_UTRACE_EVENT(DEATH) : 0) |
			       (ops->report_syscall_entry ? RS_UTRACE_EVENT(SYSCALL_ENTRY) : 0) |
			       (ops->report_syscall_exit ? RS_UTRACE_EVENT(SYSCALL_EXIT) : 0) |
			       (ops->report_signal ? RS_UTRACE_EVENT_SIGNAL_ALL : 0) |
			       (ops->report_jctl ? RS_UTRACE_EVENT(JCTL) : 0);

	return !(events & ~there);
}

int rs_utrace_set_events(struct rs_utrace_engine *engine, uint32_t events)
{
	struct rs_utrace_thread *thread = engine->thread;
	const void *me = thread->os->current();
	uint32_t old;
	int err = 0;

	if (!has_callbacks(engine->ops, events))
		return -RS_EINVAL;
	rs_utrace_lock(thread);
	old = engine->events;
	if (!rs_utrace_in_force(engine)) {
		err = -RS_ESRCH;
	} else if ((thread->life != RS_UTRACE_LIVE && (old ^ events) & DEATH_EVENTS) ||
		   (thread->reaping && (old ^ events) & RS_UTRACE_EVENT(REAP))) {
		err = -RS_EALREADY;
	} else {
		engine->events = events;
		rs_utrace_note(engine);
		rs_utrace_recount(thread);
		if (thread->reporting == engine && thread->reporter != me &&
		    old & ~events & thread->reporting_event)
			err = -RS_EINPROGRESS;
	}
	rs_utrace_unlock(thread);
	return err;
}
