/* SPDX-License-Identifier: MIT */
/* The safe points of a thread: it calls its engines, stops, goes on, steps. */
#include "events.h"
#include "utrace-private.h"

/* Whether an engine has asked for a report, or its callback has. */
static bool report_wanted(const struct rs_utrace_thread *thread)
{
	rs_utrace_each (e, thread, RS_UTRACE_WISHES) {
		if (e->wish == RS_UTRACE_INTERRUPT || e->wish == RS_UTRACE_REPORT)
			return true;
	}
	return thread->due;
}

/* All that was asked for is about to be reported. */
static void take_wishes(struct rs_utrace_thread *thread)
{
	thread->due = false;
	rs_utrace_each (e, thread, RS_UTRACE_WISHES | RS_UTRACE_DUE) {
		rs_utrace_set_due(e, false);
		if (e->wish == RS_UTRACE_INTERRUPT || e->wish == RS_UTRACE_REPORT)
			rs_utrace_set_wish(e, RS_UTRACE_RESUME);
	}
}

static bool must_stop(const struct rs_utrace_thread *thread)
{
	return thread->stops && !thread->killed;
}

/* With the lock, which is free while the thread sleeps. Whoever lets it go on clears `stopped`.
 * Who looks at it holds it a little longer. */
static void stop(struct rs_utrace_thread *thread)
{
	uint32_t at = thread->at;

	thread->stopped = true;
	rs_utrace_unlock(thread);
	trace_utrace_stop(thread->id, at);
	rs_utrace_lock(thread);
	while (thread->stopped || thread->holds) {
		rs_utrace_unlock(thread);
		thread->os->block(thread);
		rs_utrace_lock(thread);
	}
}

/*
 * Engines that have asked for a report from outside get it before the thread stops. The others are
 * not asked again whether they want STOP. Returns whether it stopped.
 */
static bool stop_while_wanted(struct rs_utrace_thread *thread, uint32_t flags)
{
	bool stopped = false;

	while (must_stop(thread)) {
		if (thread->due) {
			thread->due = false;
			rs_utrace_call_all(thread, NULL, flags | RS_UTRACE_CALL_DUE);
		} else {
			stop(thread);
			stopped = true;
		}
	}
	return stopped;
}

/* With the lock. False: the thread is inside of a callback. */
static bool may_report(struct rs_utrace_thread *thread)
{
	if (!thread->inside)
		return true;
	thread->missed++;
	return false;
}

uint32_t rs_utrace_report_slow(struct rs_utrace_thread *thread, struct rs_utrace_report *report)
{
	bool stops = report->number == RS_UTRACE_EVENT_EXIT ||
		     1u << report->number & RS_UTRACE_EVENT_SIGNAL_ALL;

	rs_utrace_lock(thread);
	if (may_report(thread)) {
		thread->at = report->number;
		thread->report = report;
		rs_utrace_call_all(thread, report, 0);
		if (stops)
			stop_while_wanted(thread, 0);
		thread->report = NULL;
	}
	rs_utrace_unlock(thread);
	return report->result;
}

uint32_t rs_utrace_report_syscall_slow(struct rs_utrace_thread *thread, void *regs)
{
	struct rs_utrace_report report = {.number = RS_UTRACE_EVENT_SYSCALL_ENTRY, .regs = regs};
	uint32_t resumed = 0;

	rs_utrace_lock(thread);
	if (!may_report(thread)) {
		rs_utrace_unlock(thread);
		return RS_UTRACE_SYSCALL_RUN;
	}
	thread->at = RS_UTRACE_EVENT_SYSCALL_ENTRY;
	for (;;) {
		report.result = RS_UTRACE_SYSCALL_RUN;
		rs_utrace_call_all(thread, &report, RS_UTRACE_CALL_REVERSE | resumed);
		if (!thread->stops)
			break;
		stop_while_wanted(thread, RS_UTRACE_CALL_REVERSE);
		if (thread->killed) {
			report.result = RS_UTRACE_SYSCALL_ABORT;
			break;
		}
		if (!report_wanted(thread))
			break;
		take_wishes(thread);
		resumed = RS_UTRACE_SYSCALL_RESUMED;
	}
	rs_utrace_unlock(thread);
	return report.result;
}

bool rs_utrace_take_signal_slow(struct rs_utrace_thread *thread, void *regs,
				struct rs_utrace_signal *signal, uint32_t *action)
{
	struct rs_utrace_report report = {.number = RS_UTRACE_EVENT_SIGNAL,
					  .regs = regs,
					  .signal = signal,
					  .result = RS_UTRACE_SIGNAL_REPORT};
	bool killed;

	__builtin_memset(signal, 0, sizeof(*signal));
	rs_utrace_lock(thread);
	if (!thread->inside) {
		thread->at = RS_UTRACE_EVENT_SIGNAL;
		thread->report = &report;
		rs_utrace_call_all(thread, &report, RS_UTRACE_CALL_SENDERS);
		if (report.result != RS_UTRACE_SIGNAL_REPORT)
			stop_while_wanted(thread, 0);
		thread->report = NULL;
	}
	killed = thread->killed;
	rs_utrace_unlock(thread);
	*action = report.result;
	return !killed && signal->number && report.result != RS_UTRACE_SIGNAL_REPORT;
}

/* The smallest step that is wanted, each of them for once. Says what else is left to do. */
static uint32_t take_step(struct rs_utrace_thread *thread, bool *left)
{
	uint32_t step = RS_UTRACE_RESUME;

	*left = false;
	rs_utrace_each (e, thread, RS_UTRACE_WISHES) {
		if (e->wish == RS_UTRACE_SINGLESTEP || e->wish == RS_UTRACE_BLOCKSTEP) {
			step = e->wish < step ? e->wish : step;
			rs_utrace_set_wish(e, RS_UTRACE_RESUME);
		}
		*left |= e->wish != RS_UTRACE_RESUME;
	}
	return step;
}

static void switch_step(struct rs_utrace_thread *thread, uint32_t step, bool on)
{
	if (step == RS_UTRACE_SINGLESTEP)
		thread->os->single_step(thread, on);
	else if (step == RS_UTRACE_BLOCKSTEP)
		thread->os->block_step(thread, on);
}

void rs_utrace_resume_slow(struct rs_utrace_thread *thread)
{
	uint32_t step, old;
	bool fresh = true, left;

	rs_utrace_lock(thread);
	if (thread->inside) {
		rs_utrace_unlock(thread);
		return;
	}
	thread->at = RS_UTRACE_EVENT_QUIESCE;
	/* What these callbacks return is for the next time, unless the thread stops in between. */
	for (;;) {
		fresh |= stop_while_wanted(thread, 0);
		if (!thread->due && !(fresh && report_wanted(thread)))
			break;
		take_wishes(thread);
		rs_utrace_call_all(thread, NULL, 0);
		fresh = false;
	}
	step = take_step(thread, &left);
	old = thread->step;
	thread->step = (uint8_t)step;
	left |= step != RS_UTRACE_RESUME;
	rs_store(&thread->wanted,
		 (thread->wanted & ~RS_UTRACE_PENDING) | (left ? RS_UTRACE_PENDING : 0));
	rs_utrace_unlock(thread);
	if (old != step) {
		switch_step(thread, old, false);
		switch_step(thread, step, true);
	}
}
