/* SPDX-License-Identifier: MIT */
/* Signals: posted to a process, and delivered when it is about to return to user mode. */
#include "demo.h"
#include "events.h"

bool signal_waits(const struct task *task)
{
	return rs_load(&task->pending) & ~task->blocked;
}

static void post(struct task *task, int number)
{
	if (number == SIGCONT)
		task->pending &= ~SIGNAL(SIGSTOP);
	if (number == SIGSTOP)
		task->pending &= ~SIGNAL(SIGCONT);
	rs_store(&task->pending, task->pending | SIGNAL(number));
	if (task->blocked & SIGNAL(number))
		return;
	if (task->state == TASK_STOPPED && (number == SIGCONT || number == SIGKILL))
		sched_wake(task, 0);
	sched_wake_interruptible(task);
	sched_poke(task);
}

int64_t signal_post(uint32_t pid, int number, int32_t code, uint64_t address)
{
	struct task *task;
	bool on;

	if (number <= 0 || number >= SIGNALS)
		return -RS_EINVAL;
	on = lock_irq(&sched_lock);
	task = pid ? task_of(pid) : NULL;
	if (!task || task->exited || task->kernel) {
		unlock_irq(&sched_lock, on);
		return -RS_ESRCH;
	}
	task->info[number] =
		(struct rs_ktr_siginfo){.code = code, .pid = rs_pid(), .addr = address};
	rs_utrace_thread_get(&task->utrace);
	post(task, number);
	unlock_irq(&sched_lock, on);
	if (number == SIGKILL)
		rs_utrace_kill(&task->utrace);
	rs_utrace_thread_put(&task->utrace);
	return 0;
}

/* ---- delivery ---- */

/* SIGKILL first, then the lowest number. 0: none. */
static int take(struct task *task, struct rs_ktr_siginfo *info)
{
	bool on = lock_irq(&sched_lock);
	uint32_t waiting = task->pending & ~task->blocked;
	int number = waiting & SIGNAL(SIGKILL) ? SIGKILL : __builtin_ffs((int)waiting);

	rs_store(&task->pending, task->pending & ~(waiting ? SIGNAL(number) : 0));
	*info = task->info[number];
	unlock_irq(&sched_lock, on);
	return number;
}

static uint32_t action_of(const struct task *task, int number)
{
	if (number != SIGSTOP && task->handlers[number])
		return RS_UTRACE_SIGNAL_DELIVER;
	switch (number) {
	case SIGSTOP:
		return RS_UTRACE_SIGNAL_STOP;
	case SIGCHLD:
	case SIGCONT:
		return RS_UTRACE_SIGNAL_IGN;
	case SIGTRAP:
	case SIGSEGV:
		return RS_UTRACE_SIGNAL_CORE;
	default:
		return RS_UTRACE_SIGNAL_TERM;
	}
}

/* The program's function, on its stack, as if it had called it where it is. */
static void run_handler(struct task *task, int number)
{
	struct rs_frame *frame = task->frame;
	uint32_t blocked = task->blocked;

	task->blocked |= SIGNAL(number);
	task->frame = NULL;
	task->handlers[number](number);
	task->frame = frame;
	task->blocked = blocked;
}

/* Job control. SIGCONT or SIGKILL ends it, also if it came first. */
static void stop(struct task *task)
{
	bool on;

	rs_utrace_report_jctl(&task->utrace, RS_UTRACE_JCTL_STOPPED, true);
	on = lock_irq(&sched_lock);
	while (!(task->pending & (SIGNAL(SIGCONT) | SIGNAL(SIGKILL)))) {
		task->state = TASK_STOPPED;
		sched_leave("stop");
		lock_irq(&sched_lock);
	}
	unlock_irq(&sched_lock, on);
	rs_utrace_report_jctl(&task->utrace, RS_UTRACE_JCTL_CONTINUED, true);
}

static void do_action(struct task *task, int number, uint32_t action)
{
	switch (action) {
	case RS_UTRACE_SIGNAL_DELIVER:
		run_handler(task, number);
		break;
	case RS_UTRACE_SIGNAL_STOP:
		stop(task);
		break;
	case RS_UTRACE_SIGNAL_TERM:
	case RS_UTRACE_SIGNAL_CORE:
		task_exit(128 + number, number);
	}
}

static void trace_signal(struct task *task, int number, uint32_t action,
			 const struct rs_ktr_siginfo *info)
{
	uint64_t handler = RS_KTR_SIG_DFL;

	if (!RS_KTRPOINT(&task->ktrace, RS_KTRFAC_PSIG))
		return;
	if (action == RS_UTRACE_SIGNAL_DELIVER)
		handler = (uint64_t)(uintptr_t)task->handlers[number];
	else if (action == RS_UTRACE_SIGNAL_IGN)
		handler = RS_KTR_SIG_IGN;
	rs_ktrpsig(&task->ktrace, number, handler, task->blocked, info->code, info);
}

/* An engine may deliver what the program has no function for. */
static void finish(struct task *task, int number, uint32_t action, struct rs_ktr_siginfo *info)
{
	if (action == RS_UTRACE_SIGNAL_DELIVER && !task->handlers[number])
		action = action_of(task, number);
	trace_signal(task, number, action, info);
	do_action(task, number, action);
}

/* Engines have a say, unless the signal is SIGKILL. */
static void deliver(struct task *task, int number, struct rs_ktr_siginfo *info)
{
	struct rs_utrace_signal signal = {.number = number,
					  .code = info->code,
					  .info = info,
					  .step = number == SIGTRAP && info->code == TRAP_STEP};
	uint32_t action = action_of(task, number);

	if (number != SIGKILL)
		action = rs_utrace_report_signal(&task->utrace, task->frame, &signal, action);
	if (signal.number > 0 && signal.number < SIGNALS)
		finish(task, signal.number, action, info);
}

/* One that an engine sends, if there is one. No other engine is asked about it. */
static void deliver_from_engine(struct task *task)
{
	struct rs_ktr_siginfo info = {0};
	struct rs_utrace_signal signal;
	uint32_t action;

	if (!rs_utrace_take_signal(&task->utrace, task->frame, &signal, &action) ||
	    signal.number <= 0 || signal.number >= SIGNALS)
		return;
	info.code = signal.code;
	finish(task, signal.number, action, &info);
}

void signal_deliver(struct task *task)
{
	struct rs_ktr_siginfo info;
	int number;

	while ((number = take(task, &info)))
		deliver(task, number, &info);
	deliver_from_engine(task);
}
