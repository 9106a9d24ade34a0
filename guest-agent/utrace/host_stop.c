/* SPDX-License-Identifier: MIT */
/* Engines of the host, in the task that serves: their threads stop, go on, step, are let go. */
#include "host-private.h"

/* The OS's `wait` lets others run for so often before a thread that is about to stop has. */
#define TRIES 200

/* A callback that has left word returns soon, and then the thread stops, unless it was killed. */
void rs_utrace_wait_for_stop(struct rs_utrace_host_engine *e)
{
	for (int i = 0; i < TRIES && rs_utrace_stopped_at(&e->engine) == -RS_EAGAIN; i++)
		if (!e->host->os->wait())
			return;
}

/* A stop that no callback of the engine has told. `known` is its value, if it was told before. */
static void tell_stop(struct rs_utrace_host_engine *e, uint32_t at, int64_t known)
{
	rs_store(&e->stays, 1);
	rs_utrace_leave_word(e, RS_NEWS_STOPPED, at,
			     at == RS_UTRACE_EVENT_SYSCALL_ENTRY ? rs_utrace_call_number(e)
								 : known);
}

static int32_t stop(struct rs_utrace_host_engine *e, bool interrupt)
{
	int err, at = rs_utrace_stopped_at(&e->engine);

	if (at >= 0) { /* for us already */
		tell_stop(e, (uint32_t)at,
			  rs_load(&e->event) == (uint32_t)at ? rs_load(&e->value) : 0);
		return 0;
	}
	rs_store_release(&e->stop, 1);
	err = rs_utrace_control(&e->engine, RS_UTRACE_STOP);
	/* It has stopped: for us, just now, or for another engine, and now for us, too. */
	if (!err && !rs_load(&e->stays)) {
		rs_store(&e->stop, 0);
		at = rs_utrace_stopped_at(&e->engine);
		tell_stop(e, at < 0 ? RS_UTRACE_EVENT_QUIESCE : (uint32_t)at, 0);
	}
	if (err != -RS_EINPROGRESS)
		return err;
	/* RS_UTRACE_INTERRUPT would take back a stop that a callback has just begun. */
	if (interrupt)
		e->host->os->kick(e->engine.thread, true);
	return 0;
}

/*
 * Whether a step is under way. Its signal would kill a thread that nobody steps any more. So the
 * step goes on, and the thread does `after` at its end. One that has stopped meanwhile goes on.
 * Sequentially consistent, with on_signal(): one of both sees what the other has stored.
 */
static bool let_step_end(struct rs_utrace_host_engine *e, enum rs_utrace_action after)
{
	uint32_t step;

	__atomic_store_n(&e->after, (uint32_t)after, __ATOMIC_SEQ_CST);
	step = __atomic_load_n(&e->step, __ATOMIC_SEQ_CST);
	return step && !rs_utrace_control(&e->engine, (enum rs_utrace_action)step);
}

/* What was not told yet is over; but not that the thread is gone. Returns it. */
static uint32_t take_word_back(struct rs_utrace_host_engine *e)
{
	uint32_t word = rs_load(&e->news);

	while (word && word != RS_NEWS_GONE &&
	       !__atomic_compare_exchange_n(&e->news, &word, 0, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
	return word == RS_NEWS_GONE ? 0 : word;
}

static int32_t step(struct rs_utrace_host_engine *e, enum rs_utrace_action how)
{
	rs_store(&e->after, 0);
	rs_store(&e->step, how);
	return rs_utrace_control(&e->engine, how);
}

/* Job control has suspended it: it is about to stop, but may not be for days. */
static bool is_suspended(const struct rs_utrace_host_engine *e)
{
	return rs_load(&e->event) == RS_UTRACE_EVENT_JCTL &&
	       rs_load(&e->value) == RS_UTRACE_JCTL_STOPPED;
}

/* From a stop on. One that is only asked for is taken back. */
static int32_t go_on(struct rs_utrace_host_engine *e, enum rs_utrace_action how)
{
	uint32_t nothing = 0, word;
	int32_t err;

	rs_utrace_barrier(&e->engine);
	rs_store(&e->stop, 0);
	if (!rs_load(&e->stays)) {
		if (how == RS_UTRACE_RESUME)
			__atomic_store_n(&e->after, (uint32_t)how, __ATOMIC_SEQ_CST);
		err = rs_utrace_stopped_at(&e->engine);
		return err == -RS_ESRCH ? err : how == RS_UTRACE_RESUME ? 0 : -RS_EAGAIN;
	}
	if (!is_suspended(e))
		rs_utrace_wait_for_stop(e);
	word = take_word_back(e);
	rs_store(&e->stays, 0);
	if (how == RS_UTRACE_RESUME)
		return let_step_end(e, how) ? 0 : rs_utrace_control(&e->engine, how);
	err = step(e, how);
	if (!err)
		return 0;
	rs_store(&e->step, 0);
	rs_store(&e->stays, 1);
	__atomic_compare_exchange_n(&e->news, &nothing, word, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	return err;
}

/* No callback that begins from here on makes the thread stay. One that is running may. */
void rs_utrace_host_detach(struct rs_utrace_host_engine *e)
{
	rs_store(&e->events, 0);
	rs_store(&e->flags, 0);
	rs_store(&e->stop, 0);
	__atomic_store_n(&e->after, RS_UTRACE_DETACH, __ATOMIC_SEQ_CST);
	rs_utrace_barrier(&e->engine);
	rs_store(&e->stays, 0);
	if (!let_step_end(e, RS_UTRACE_DETACH))
		rs_utrace_control(&e->engine, RS_UTRACE_DETACH);
}

int32_t rs_utrace_host_control(struct rs_utrace_host_engine *e, uint64_t how)
{
	switch (how) {
	case RS_UTRACE_STOP:
	case RS_UTRACE_INTERRUPT:
		return stop(e, how == RS_UTRACE_INTERRUPT);
	case RS_UTRACE_RESUME:
	case RS_UTRACE_SINGLESTEP:
	case RS_UTRACE_BLOCKSTEP:
		return go_on(e, (enum rs_utrace_action)how);
	case RS_UTRACE_DETACH:
		rs_utrace_host_detach(e);
		return 0;
	default:
		return -RS_EINVAL;
	}
}
