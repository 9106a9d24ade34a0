/* SPDX-License-Identifier: MIT */
/* How ktrace goes through the processes of the demo guest. They stay where they are meanwhile. */
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

	for (; task < tasks + MAX_TASKS; task++)
		if (task->state != TASK_UNUSED && !task->exited && !task->kernel)
			return &task->ktrace_proc;
	return NULL;
}

static struct rs_ktrace_proc *parent(const struct rs_ktrace_caller *caller,
				     const struct rs_ktrace_proc *proc)
{
	uint32_t pid = task_from(proc)->parent;
	struct task *task = pid ? task_of(pid) : NULL;

	return task ? &task->ktrace_proc : NULL;
}

static struct rs_ktrace_caller root(bool descend)
{
	return (struct rs_ktrace_caller){
		.root = true, .descend = descend, .next = next, .parent = parent};
}

int demo_ktrace_set(int32_t pid, uint32_t facilities, bool descend)
{
	const struct rs_ktrace_caller caller = root(descend);
	bool on = lock_irq(&sched_lock);
	int result = rs_ktrace_set(&caller, pid, facilities);

	unlock_irq(&sched_lock, on);
	return result;
}

int demo_ktrace_clear(int32_t pid, uint32_t facilities, bool descend)
{
	const struct rs_ktrace_caller caller = root(descend);
	bool on = lock_irq(&sched_lock);
	int result = rs_ktrace_clear(&caller, pid, facilities);

	unlock_irq(&sched_lock, on);
	return result;
}

int demo_ktrace_clear_all(void)
{
	const struct rs_ktrace_caller caller = root(false);
	bool on = lock_irq(&sched_lock);
	int result = rs_ktrace_clearall(&caller);

	unlock_irq(&sched_lock, on);
	return result;
}

void demo_ktrace_option(void)
{
	uint32_t facilities = (uint32_t)rs_option_u64("ktrace", 0);

	if (facilities && demo_ktrace_set(1, facilities | RS_KTRFAC_INHERIT, false) != 1)
		rs_panic("ktrace: 0x%x are not facilities", facilities);
}
