/* SPDX-License-Identifier: MIT */
/*
 * What ktrace knows of the kernel's processes: an entry for each of them while any is traced, and
 * none at all else. Nothing of a task_struct is changed. Ids are those of the first pid namespace.
 *
 * Threads: fill, clear, wanted and the caller's functions are those of one task. The others run in
 * probes. Entries stay where they are until the end of an RCU read section.
 */
#ifndef RS_KTRACE_TABLE_H
#define RS_KTRACE_TABLE_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <ringside/ktrace.h>

#define RS_KTRACE_NOTED 8 /* threads of a process */

struct task_struct;

struct rs_ktrace_entry {
	struct hlist_node node;
	struct list_head all;
	struct rcu_head rcu;
	u64 born; /* another process may get the same id */
	struct rs_ktrace_proc proc;
	/* Thread ids, 0: free. Of their calls there is something to do when they return. */
	u32 noted[RS_KTRACE_NOTED];
};

/* The process `tgid`, or NULL. In an RCU read section. */
struct rs_ktrace_entry *rs_ktrace_entry_of(u32 tgid);

/* Makes entries of all processes that have none. Fork and exit are watched already. 0 or -ENOMEM.
 */
int rs_ktrace_table_fill(void);
/* Forgets all of them. Nothing is watched any more. */
void rs_ktrace_table_clear(void);
/* All facilities of all processes. */
u32 rs_ktrace_table_wanted(void);
/* Grows when a process that was traced has ended. */
u32 rs_ktrace_table_ends(void);

/* A task was made, and has not run yet. False: its process is not traced, for want of memory. */
bool rs_ktrace_table_fork(u32 parent, struct task_struct *child);
/* The running task ends. */
void rs_ktrace_table_exit(void);

/* Notes that the running thread's path was not read, or that it returns from a signal's handler. */
void rs_ktrace_note(struct rs_ktrace_entry *entry, u32 pid);
/* Whether that was noted. It is not any more. */
bool rs_ktrace_was_noted(struct rs_ktrace_entry *entry, u32 pid);

/* For rs_ktrace_serve(). Its functions are called in one RCU read section. */
extern const struct rs_ktrace_caller rs_ktrace_linux_caller;

#endif
