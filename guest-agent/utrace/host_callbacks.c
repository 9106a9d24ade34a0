/* SPDX-License-Identifier: MIT */
/* Engines of the host, on their threads: callbacks stop the thread and leave word of it. */
#include "host-private.h"

static struct rs_utrace_host_engine *of(struct rs_utrace_engine *engine)
{
	return (void *)((char *)engine - offsetof(struct rs_utrace_host_engine, engine));
}

void rs_utrace_leave_word(struct rs_utrace_host_engine *e, uint32_t kind, uint32_t event,
			  int64_t value)
{
	uint32_t seen = rs_load(&e->news);

	/* Nothing follows a death. */
	if (seen == RS_NEWS_GONE)
		return;
	rs_store(&e->event, event);
	rs_store(&e->value, value);
	/* Release: pairs with the acquire of the task that serves. */
	while (seen != RS_NEWS_GONE &&
	       !__atomic_compare_exchange_n(&e->news, &seen, kind, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	rs_serve_wake(e->host->serve);
}

int64_t rs_utrace_call_number(struct rs_utrace_host_engine *e)
{
	struct rs_utrace_syscall call;

	return rs_utrace_get_syscall(&e->engine, &call) ? 0 : (int64_t)call.number;
}

/* ---- stops ---- */

/* It has stopped or is about to. What the host has left does not, even if it was to. */
static bool stays(const struct rs_utrace_host_engine *e)
{
	return rs_load(&e->stays) && rs_load(&e->after) != RS_UTRACE_DETACH;
}

static uint32_t stay(struct rs_utrace_host_engine *e, uint32_t kind, uint32_t event, int64_t value)
{
	/* It may be about to stop for something that came before: that is told. */
	if (!rs_load(&e->stays)) {
		rs_store(&e->stays, 1);
		rs_utrace_leave_word(e, kind, event, value);
	}
	return RS_UTRACE_STOP;
}

/* The same, if the host has asked for a stop, or has not let it go since one. Else it goes on. */
static uint32_t stay_if_asked(struct rs_utrace_host_engine *e, uint32_t event, int64_t value)
{
	const uint32_t step = rs_load(&e->step);

	if (stays(e) || __atomic_exchange_n(&e->stop, 0, __ATOMIC_ACQ_REL))
		return stay(e, RS_NEWS_STOPPED, event, value);
	return step ? step : RS_UTRACE_RESUME;
}

/* What the thread is to do at this event. If it stops, the host will hear of it. */
static uint32_t wish(struct rs_utrace_host_engine *e, uint32_t event, int64_t value)
{
	if (rs_load(&e->events) & 1u << event)
		return stay(e, RS_NEWS_STOPPED, event, value);
	return stay_if_asked(e, event, value);
}

static uint32_t on_quiesce(uint32_t action, struct rs_utrace_engine *engine, uint32_t event)
{
	struct rs_utrace_host_engine *e = of(engine);

	e->reported = event ? (uint32_t)__builtin_ctz(event) : RS_UTRACE_EVENT_QUIESCE;
	/* Somebody asks once more, and the host has not let it go. */
	if (stays(e))
		return RS_UTRACE_STOP;
	/* The event's own callback follows. */
	if (event & rs_utrace_host_events(rs_load(&e->events), rs_load(&e->flags)) &
	    ~RS_UTRACE_EVENT(QUIESCE))
		return RS_UTRACE_RESUME;
	return wish(e, e->reported, 0);
}

/*
 * The step's own signal is no signal of the program. The thread may be about to stop for something
 * that came before it: then that has ended the step, and was told. `stays` is read after `after`:
 * who lets it go clears the one before it sets the other.
 */
static uint32_t end_step(struct rs_utrace_host_engine *e, uint32_t event, int32_t number)
{
	const uint32_t after = __atomic_load_n(&e->after, __ATOMIC_SEQ_CST);

	if (!after || stays(e))
		return stay(e, RS_NEWS_STEPPED, event, number) | RS_UTRACE_SIGNAL_IGN;
	return after | RS_UTRACE_SIGNAL_IGN;
}

/* Another engine may have changed what becomes of it. The event is what the OS was to do. */
static uint32_t on_signal(uint32_t action, struct rs_utrace_engine *engine, void *regs,
			  struct rs_utrace_signal *signal)
{
	struct rs_utrace_host_engine *e = of(engine);

	if (!signal->step)
		return wish(e, e->reported, signal->number) | RS_UTRACE_SIGNAL_ACTION(action);
	if (__atomic_exchange_n(&e->step, 0, __ATOMIC_SEQ_CST))
		return end_step(e, e->reported, signal->number);
	/* Another engine has stepped, or we did so before. Nobody is to die of that. */
	return stay_if_asked(e, e->reported, signal->number) | RS_UTRACE_SIGNAL_IGN;
}

static uint32_t on_jctl(uint32_t action, struct rs_utrace_engine *engine, enum rs_utrace_jctl type,
			bool notify)
{
	return wish(of(engine), RS_UTRACE_EVENT_JCTL, type);
}

static uint32_t on_exec(uint32_t action, struct rs_utrace_engine *engine, const char *path,
			void *regs)
{
	struct rs_utrace_host_engine *e = of(engine);
	uint32_t size = 0;

	for (; path && size < sizeof(e->path) && path[size]; size++)
		e->path[size] = path[size];
	e->path_size = size;
	return wish(e, RS_UTRACE_EVENT_EXEC, 0);
}

static uint32_t on_syscall_entry(uint32_t action, struct rs_utrace_engine *engine, void *regs)
{
	const uint32_t verdict = action & RS_UTRACE_SYSCALL_ABORT;
	struct rs_utrace_host_engine *e = of(engine);

	/* The host has seen this call. Who has changed it meanwhile may be another engine. */
	if (action & RS_UTRACE_SYSCALL_RESUMED && !rs_load(&e->stop))
		return (rs_load(&e->step) ? rs_load(&e->step) : RS_UTRACE_RESUME) | verdict;
	return wish(e, RS_UTRACE_EVENT_SYSCALL_ENTRY, rs_utrace_call_number(e)) | verdict;
}

static uint32_t on_syscall_exit(uint32_t action, struct rs_utrace_engine *engine, void *regs)
{
	return wish(of(engine), RS_UTRACE_EVENT_SYSCALL_EXIT, 0);
}

static uint32_t on_exit(uint32_t action, struct rs_utrace_engine *engine, int64_t original,
			int64_t *code)
{
	return wish(of(engine), RS_UTRACE_EVENT_EXIT, *code);
}

static uint32_t on_death(struct rs_utrace_engine *engine, bool group_dead, int32_t signal)
{
	rs_utrace_leave_word(of(engine), RS_NEWS_GONE, RS_UTRACE_EVENT_DEATH, signal);
	return RS_UTRACE_DETACH;
}

static void on_release(struct rs_utrace_engine *engine)
{
	struct rs_utrace_host_engine *e = of(engine);

	rs_store(&e->handle, 0);
	/* Release: pairs with the acquire of who takes it next. */
	rs_store_release(&e->taken, 0);
}

/* ---- engines come ---- */

struct rs_utrace_host_engine *rs_utrace_take_engine(struct rs_utrace_host *host)
{
	for (uint32_t i = 0; i < host->count; i++) {
		struct rs_utrace_host_engine *e = &host->engines[i];
		uint32_t taken = 0;

		if (rs_load(&e->taken) ||
		    !__atomic_compare_exchange_n(&e->taken, &taken, 1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		e->host = host;
		return e;
	}
	return NULL;
}

/* What the task that serves may look at meanwhile is atomic, and stays zero until the end. */
static void make_new(struct rs_utrace_host_engine *e, uint32_t events, uint32_t flags)
{
	__builtin_memset(&e->engine, 0, sizeof(e->engine));
	e->parent = 0;
	rs_store(&e->events, events);
	rs_store(&e->flags, flags);
	rs_store(&e->refused, 0);
	e->told = 0;
	rs_store(&e->stop, 0);
	rs_store(&e->stays, 0);
	rs_store(&e->step, 0);
	rs_store(&e->after, 0);
	rs_store(&e->news, 0);
	e->path_size = 0;
	rs_store(&e->handle, (uint64_t)__atomic_add_fetch(&e->host->lives, 1, __ATOMIC_RELAXED)
					     << 32 |
				     (uint32_t)(e - e->host->engines + 1));
}

uint32_t rs_utrace_host_events(uint32_t events, uint32_t flags)
{
	return events | RS_UTRACE_EVENT(QUIESCE) | RS_UTRACE_EVENT(DEATH) |
	       RS_UTRACE_EVENT_SIGNAL_ALL | (flags & RS_ENGINE_FOLLOW ? RS_UTRACE_EVENT(CLONE) : 0);
}

int rs_utrace_attach_taken(struct rs_utrace_host_engine *e, struct rs_utrace_thread *thread,
			   uint32_t events, uint32_t flags)
{
	struct rs_utrace_engine *engine;
	int err;

	make_new(e, events, flags);
	err = rs_utrace_attach(thread, RS_UTRACE_ATTACH_CREATE, &rs_utrace_host_ops, e->host,
			       &e->engine, &engine);
	if (err) {
		on_release(&e->engine);
		return err;
	}
	err = rs_utrace_set_events(engine, rs_utrace_host_events(events, flags));
	if (!err)
		return 0;
	rs_utrace_control(engine, RS_UTRACE_DETACH);
	rs_utrace_engine_put(engine);
	return err;
}

/*
 * The child gets an engine like this one. If the session has gone meanwhile, nobody would let the
 * child go on. So either the task that serves finds the new engine when it looks for all, or we
 * find that it has looked: both are sequentially consistent.
 */
static void follow(struct rs_utrace_host_engine *e, struct rs_utrace_thread *child)
{
	struct rs_utrace_host_engine *new = rs_utrace_take_engine(e->host);

	if (new)
		new->session = e->session;
	if (!new || rs_utrace_attach_taken(new, child, rs_load(&e->events), rs_load(&e->flags))) {
		rs_store(&e->refused, rs_load(&e->refused) + 1);
		rs_serve_wake(e->host->serve);
		return;
	}
	new->parent = e->handle;
	__atomic_store_n(&new->born, 1, __ATOMIC_SEQ_CST);
	rs_serve_wake(e->host->serve);
	if (__atomic_load_n(&e->host->sessions, __ATOMIC_SEQ_CST) == new->session ||
	    !__atomic_exchange_n(&new->born, 0, __ATOMIC_SEQ_CST))
		return;
	rs_utrace_control(&new->engine, RS_UTRACE_DETACH);
	rs_utrace_engine_put(&new->engine);
}

static uint32_t on_clone(uint32_t action, struct rs_utrace_engine *engine, uint64_t flags,
			 struct rs_utrace_thread *child)
{
	struct rs_utrace_host_engine *e = of(engine);

	if (rs_load(&e->flags) & RS_ENGINE_FOLLOW)
		follow(e, child);
	return wish(e, RS_UTRACE_EVENT_CLONE, child->id);
}

const struct rs_utrace_ops rs_utrace_host_ops = {
	.report_quiesce = on_quiesce,
	.report_signal = on_signal,
	.report_clone = on_clone,
	.report_jctl = on_jctl,
	.report_exec = on_exec,
	.report_syscall_entry = on_syscall_entry,
	.report_syscall_exit = on_syscall_exit,
	.report_exit = on_exit,
	.report_death = on_death,
	.release = on_release,
};
