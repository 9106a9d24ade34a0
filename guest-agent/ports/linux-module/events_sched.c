/* SPDX-License-Identifier: MIT */
/* Probes of the scheduler's tracepoints. */
#include "kernel_event.h"

#include <linux/binfmts.h>
#include <linux/sched.h>
#include <trace/events/sched.h>

#define RS_CREATE_TRACE_POINTS
#include "events_sched.h"

/* As ftrace shows it: 0 runs, a bit of TASK_* sleeps, TASK_REPORT_MAX was preempted. */
static long reported_state(bool preempt, unsigned int state, const struct task_struct *task)
{
	unsigned int index;

	if (preempt)
		return TASK_REPORT_MAX;
	index = __task_state_index(state, task->exit_state);
	return index ? 1 << (index - 1) : 0;
}

RS_KERNEL_EVENT(sched, sched_switch,
		(void *data, bool preempt, struct task_struct *prev, struct task_struct *next,
		 unsigned int prev_state),
		(prev->comm, prev->pid, prev->prio, reported_state(preempt, prev_state, prev),
		 next->comm, next->pid, next->prio))

RS_KERNEL_EVENT(sched, sched_process_exec,
		(void *data, struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm),
		(bprm->filename, p->pid, old_pid))

RS_KERNEL_EVENT(sched, sched_process_exit, (void *data, struct task_struct *p),
		(p->comm, p->pid, p->prio))
