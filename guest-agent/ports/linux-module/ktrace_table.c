/* SPDX-License-Identifier: MIT */
#include "ktrace_table.h"

#include <linux/hashtable.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#define BITS 11

static DEFINE_HASHTABLE(table, BITS);
static LIST_HEAD(all);                /* in the order in which they came */
static DEFINE_RAW_SPINLOCK(changing); /* whoever adds or removes */
static u32 ends;

struct rs_ktrace_entry *rs_ktrace_entry_of(u32 tgid)
{
	struct rs_ktrace_entry *entry;

	hash_for_each_possible_rcu(table, entry, node,
				   tgid) if (entry->proc.pid == tgid) return entry;
	return NULL;
}

/* ---- entries come and go ---- */

/* The entry of a process that has none yet. The lock is held. */
static void add(struct rs_ktrace_entry *entry, const struct task_struct *task)
{
	entry->born = task->start_time;
	entry->proc.pid = task->tgid;
	hash_add_rcu(table, &entry->node, task->tgid);
	list_add_tail_rcu(&entry->all, &all);
}

/* The lock is held. */
static void drop(struct rs_ktrace_entry *entry)
{
	if (rs_load(&entry->proc.facilities))
		rs_store(&ends, ends + 1);
	rs_ktrace_exit(&entry->proc);
	hash_del_rcu(&entry->node);
	list_del_rcu(&entry->all);
	kfree_rcu(entry, rcu);
}

/* Of the process, also if another one had its id. NULL: there is no memory. The lock is held. */
static struct rs_ktrace_entry *entry_for(const struct task_struct *task)
{
	struct rs_ktrace_entry *entry = rs_ktrace_entry_of(task->tgid);

	if (entry && entry->born == task->start_time)
		return entry;
	if (entry)
		drop(entry);
	entry = kzalloc(sizeof(*entry), GFP_NOWAIT | __GFP_NOWARN);
	if (entry)
		add(entry, task);
	return entry;
}

static bool is_over(const struct task_struct *task)
{
	return !atomic_read(&task->signal->live);
}

static void remove(u32 tgid)
{
	struct rs_ktrace_entry *entry;
	unsigned long flags;

	raw_spin_lock_irqsave(&changing, flags);
	entry = rs_ktrace_entry_of(tgid);
	if (entry)
		drop(entry);
	raw_spin_unlock_irqrestore(&changing, flags);
}

static bool fill_one(const struct task_struct *task)
{
	unsigned long flags;
	bool done;

	if (task->flags & PF_KTHREAD || is_over(task))
		return true;
	raw_spin_lock_irqsave(&changing, flags);
	done = entry_for(task);
	raw_spin_unlock_irqrestore(&changing, flags);
	/* It may have gone before we were there. */
	if (is_over(task))
		remove(task->tgid);
	return done;
}

int rs_ktrace_table_fill(void)
{
	const struct task_struct *task;
	int err = 0;

	rcu_read_lock();
	for_each_process(task) if (!err && !fill_one(task)) err = -ENOMEM;
	rcu_read_unlock();
	return err;
}

void rs_ktrace_table_clear(void)
{
	struct rs_ktrace_entry *entry, *next;
	unsigned long flags;

	raw_spin_lock_irqsave(&changing, flags);
	list_for_each_entry_safe(entry, next, &all, all) drop(entry);
	raw_spin_unlock_irqrestore(&changing, flags);
}

u32 rs_ktrace_table_wanted(void)
{
	const struct rs_ktrace_entry *entry;
	u32 wanted = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(entry, &all, all) wanted |= rs_load(&entry->proc.facilities);
	rcu_read_unlock();
	return wanted;
}

u32 rs_ktrace_table_ends(void)
{
	return rs_load(&ends);
}

bool rs_ktrace_table_fork(u32 parent, struct task_struct *child)
{
	const struct rs_ktrace_entry *maker;
	struct rs_ktrace_entry *entry;
	unsigned long flags;
	bool lost;

	/* A thread of a process that is known. */
	if (!thread_group_leader(child) || child->flags & PF_KTHREAD)
		return true;
	raw_spin_lock_irqsave(&changing, flags);
	maker = rs_ktrace_entry_of(parent);
	entry = entry_for(child);
	lost = !entry && maker && rs_load(&maker->proc.facilities) & RS_KTRFAC_INHERIT;
	/* A command may have found the child already. */
	if (entry && maker && !rs_load(&entry->proc.facilities))
		rs_ktrace_fork(&maker->proc, &entry->proc);
	raw_spin_unlock_irqrestore(&changing, flags);
	return !lost;
}

void rs_ktrace_table_exit(void)
{
	struct rs_ktrace_entry *entry;

	if (is_over(current)) {
		remove(current->tgid);
		return;
	}
	rcu_read_lock();
	entry = rs_ktrace_entry_of(current->tgid);
	if (entry)
		rs_ktrace_was_noted(entry, current->pid);
	rcu_read_unlock();
}

/* ---- calls of whose return something is to be known ---- */

/* Turns one `from` into `to`. */
static bool trade(struct rs_ktrace_entry *entry, u32 from, u32 to)
{
	for (u32 i = 0; i < RS_KTRACE_NOTED; i++)
		if (READ_ONCE(entry->noted[i]) == from &&
		    cmpxchg(&entry->noted[i], from, to) == from)
			return true;
	return false;
}

void rs_ktrace_note(struct rs_ktrace_entry *entry, u32 pid)
{
	trade(entry, 0, pid);
}

bool rs_ktrace_was_noted(struct rs_ktrace_entry *entry, u32 pid)
{
	return trade(entry, pid, 0);
}

/* ---- what commands ask ---- */

static struct rs_ktrace_entry *entry_from(const struct rs_ktrace_proc *proc)
{
	return container_of((void *)proc, struct rs_ktrace_entry, proc);
}

static struct task_struct *task_of(const struct rs_ktrace_proc *proc)
{
	return pid_task(find_pid_ns(proc->pid, &init_pid_ns), PIDTYPE_TGID);
}

static struct rs_ktrace_proc *next(const struct rs_ktrace_caller *caller,
				   struct rs_ktrace_proc *last)
{
	struct list_head *at = last ? &entry_from(last)->all : &all;
	struct rs_ktrace_entry *entry;
	struct task_struct *task;

	at = rcu_dereference(list_next_rcu(at));
	if (at == &all)
		return NULL;
	entry = list_entry(at, struct rs_ktrace_entry, all);
	task = task_of(&entry->proc);
	entry->proc.pgid = task ? task_pgrp_nr_ns(task, &init_pid_ns) : 0;
	return &entry->proc;
}

static struct rs_ktrace_proc *parent(const struct rs_ktrace_caller *caller,
				     const struct rs_ktrace_proc *proc)
{
	const struct task_struct *task = task_of(proc);
	struct rs_ktrace_entry *entry =
		task ? rs_ktrace_entry_of(rcu_dereference(task->real_parent)->tgid) : NULL;

	return entry ? &entry->proc : NULL;
}

const struct rs_ktrace_caller rs_ktrace_linux_caller = {
	.root = true,
	.next = next,
	.parent = parent,
};
