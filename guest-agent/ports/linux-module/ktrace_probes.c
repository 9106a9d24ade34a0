/* SPDX-License-Identifier: MIT */
#define pr_fmt(fmt) "ringside: " fmt
#include "ktrace_probes.h"

#include "hook.h"
#include "ktrace_records.h"
#include "ktrace_table.h"

#include <linux/binfmts.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/signal.h>
#include <linux/tracepoint.h>
#include <asm/syscall.h>
#include <ringside/ktrace.h>

/*
 * The running task's process, if one of the facilities is traced of it. Tracepoints have disabled
 * preemption, which is an RCU read section, but those of system calls will not in newer kernels.
 */
static struct rs_ktrace_entry *enter(u32 facilities)
{
	struct rs_ktrace_entry *entry;

	preempt_disable_notrace();
	entry = rs_ktrace_entry_of(current->tgid);
	if (entry && rs_load(&entry->proc.facilities) & facilities)
		return entry;
	preempt_enable_notrace();
	return NULL;
}

static void leave(void)
{
	preempt_enable_notrace();
}

#define ON_ENTER (RS_KTRFAC_SYSCALL | RS_KTRFAC_NAMEI | RS_KTRFAC_STRUCT)
#define ON_EXIT (RS_KTRFAC_SYSRET | RS_KTRFAC_NAMEI | RS_KTRFAC_GENIO | RS_KTRFAC_STRUCT)
#define ON_EXEC (RS_KTRFAC_NAMEI | RS_KTRFAC_EXECARGS | RS_KTRFAC_EXECENV)

static void on_enter(void *data, struct pt_regs *regs, long call)
{
	struct rs_ktrace_entry *entry = enter(ON_ENTER);

	if (!entry)
		return;
	rs_ktrace_call(entry, regs, call);
	leave();
}

static void on_exit(void *data, struct pt_regs *regs, long result)
{
	struct rs_ktrace_entry *entry = enter(ON_EXIT);

	if (!entry)
		return;
	rs_ktrace_return(entry, regs, syscall_get_nr(current, regs), result);
	leave();
}

static void on_signal(void *data, int number, struct kernel_siginfo *info,
		      struct k_sigaction *action)
{
	struct rs_ktrace_entry *entry = enter(RS_KTRFAC_PSIG);

	if (!entry)
		return;
	rs_ktrace_signal(entry, number, info, action);
	leave();
}

static void on_exec(void *data, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	struct rs_ktrace_entry *entry = enter(ON_EXEC);

	if (!entry)
		return;
	rs_ktrace_program(entry, old_pid, bprm->filename);
	leave();
}

static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	if (!rs_ktrace_table_fork(parent->tgid, child))
		pr_warn_ratelimited("no memory to trace process %d\n", child->tgid);
}

/* What else is passed differs from kernel to kernel. */
static void on_end(void *data, struct task_struct *task)
{
	rs_ktrace_table_exit();
}

enum { ENTER, EXIT, SIGNAL, EXEC, FORK, END, HOOKS };

#define WATCHING FORK /* from here on: whose processes come and go */

static struct rs_hook hooks[HOOKS] = {
	[ENTER] = {"sys_enter", on_enter},        [EXIT] = {"sys_exit", on_exit},
	[SIGNAL] = {"signal_deliver", on_signal}, [EXEC] = {"sched_process_exec", on_exec},
	[FORK] = {"sched_process_fork", on_fork}, [END] = {"sched_process_exit", on_end},
};

static u32 traced; /* facilities of any process */
static u32 ends;   /* as it was when we looked */
static bool watching;

/* ---- which of them are registered ---- */

void rs_ktrace_probes_find(void)
{
	rs_hooks_find(hooks, HOOKS);
}

int rs_ktrace_probes_begin(void)
{
	int err;

	rs_hook_set(&hooks[FORK], true);
	rs_hook_set(&hooks[END], true);
	watching = true;
	err = rs_ktrace_table_fill();
	ends = rs_ktrace_table_ends() - 1; /* look again */
	return err;
}

static void forget_all(void)
{
	if (rs_hooks_stop(hooks, HOOKS))
		tracepoint_synchronize_unregister();
	rs_ktrace_table_clear();
	traced = 0;
	watching = false;
}

static void choose(u32 wanted)
{
	rs_hook_set(&hooks[ENTER], wanted & ON_ENTER);
	rs_hook_set(&hooks[EXIT], wanted & ON_EXIT);
	rs_hook_set(&hooks[SIGNAL], wanted & RS_KTRFAC_PSIG);
	rs_hook_set(&hooks[EXEC], wanted & ON_EXEC);
}

void rs_ktrace_probes_follow(void)
{
	u32 now = rs_ktrace_table_ends();

	if (!watching)
		return;
	if (now != ends) {
		ends = now;
		traced = rs_ktrace_table_wanted();
	}
	if (traced & RS_KTRFAC_POINTS)
		choose(traced & rs_ktrace_events_on());
	else
		forget_all();
}

void rs_ktrace_probes_stop(void)
{
	if (rs_hooks_stop(hooks, WATCHING))
		tracepoint_synchronize_unregister();
}

void rs_ktrace_probes_free(void)
{
	forget_all();
}
