/* SPDX-License-Identifier: MIT */
#include "task_names.h"

#include "core.h"
#include "hook.h"

#include <linux/binfmts.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/tracepoint.h>
#include <ringside/agent.h>

static void note(const struct task_struct *task, const char *comm)
{
	rs_agent_cmdline(task->pid, task->tgid, comm);
}

static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	note(child, child->comm);
}

static void on_exec(void *data, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	note(task, task->comm);
}

/* Before the task has the name. */
static void on_rename(void *data, struct task_struct *task, const char *comm)
{
	note(task, comm);
}

static struct rs_hook hooks[] = {
	{"sched_process_fork", on_fork},
	{"sched_process_exec", on_exec},
	{"task_rename", on_rename},
};

static bool noting;

/* Which of all tasks are noted first: processes, then other threads, then the kernel's own. */
static u32 turn_of(struct task_struct *task)
{
	if (task->flags & PF_KTHREAD)
		return 2;
	return thread_group_leader(task) ? 0 : 1;
}

/* The table also has room for those that come later, or that fire events. */
static void note_all(void)
{
	struct task_struct *process, *task;
	u32 room = rs_core.names.count * RS_CMDLINE_WAYS / 2;

	for (u32 turn = 0; turn < 3; turn++) {
		rcu_read_lock();
		for_each_process_thread(process, task)
		{
			if (room && turn_of(task) == turn) {
				note(task, task->comm);
				room--;
			}
		}
		rcu_read_unlock();
	}
}

void rs_task_names_find(void)
{
	rs_hooks_find(hooks, ARRAY_SIZE(hooks));
}

void rs_task_names_follow(bool wanted)
{
	if (!wanted) {
		rs_task_names_stop();
		return;
	}
	if (noting)
		return;
	noting = true;
	for (u32 i = 0; i < ARRAY_SIZE(hooks); i++)
		rs_hook_set(&hooks[i], true);
	note_all();
}

void rs_task_names_stop(void)
{
	if (rs_hooks_stop(hooks, ARRAY_SIZE(hooks)))
		tracepoint_synchronize_unregister();
	noting = false;
}
