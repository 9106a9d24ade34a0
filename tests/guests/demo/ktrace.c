/* SPDX-License-Identifier: MIT */
/* How ktrace goes through the processes of the demo guest. Their memory is never given back. */
#include "demo.h"
#include "events.h"

static struct task *task_from(const struct rs_ktrace_proc *proc)
{
	return (struct task *)((uintptr_t)proc - offsetof(struct task, ktrace_proc));
}

static struct rs_ktrace_proc *next(const struct rs_ktrace_caller *caller,
				   struct rs_ktrace_proc *last)
{
	struct task *task = last ? task_from(last) + 1 : tasks;
	bool on = lock_irq(&sched_lock);

	while (task < tasks + MAX_TASKS &&
	       (task->state == TASK_UNUSED || task->exited || task->kernel))
		task++;
	unlock_irq(&sched_lock, on);
	return task < tasks + MAX_TASKS ? &task->ktrace_proc : NULL;
}

static struct rs_ktrace_proc *parent(const struct rs_ktrace_caller *caller,
				     const struct rs_ktrace_proc *proc)
{
	bool on = lock_irq(&sched_lock);
	uint32_t pid = task_from(proc)->parent;
	struct task *task = pid ? task_of(pid) : NULL;

	unlock_irq(&sched_lock, on);
	return task ? &task->ktrace_proc : NULL;
}

const struct rs_ktrace_caller demo_ktrace_caller = {.root = true, .next = next, .parent = parent};

void demo_ktrace_option(void)
{
	uint32_t facilities = (uint32_t)rs_option_u64("ktrace", 0);

	if (facilities &&
	    rs_ktrace_set(&demo_ktrace_caller, 1, facilities | RS_KTRFAC_INHERIT) != 1)
		rs_panic("ktrace: 0x%x are not facilities", facilities);
}
