/* SPDX-License-Identifier: MIT */
/*
 * One record, or more, for what happens to the running thread of a process that is traced. User
 * memory is read as it is: pages that are not there are not fetched.
 *
 * Called with preemption disabled, in the context of the task.
 */
#ifndef RS_KTRACE_RECORDS_H
#define RS_KTRACE_RECORDS_H

#include <linux/types.h>

struct k_sigaction;
struct kernel_siginfo;
struct pt_regs;
struct rs_event;
struct rs_ktrace_entry;

/* The system call begins, or returns with a value or an error. */
void rs_ktrace_call(struct rs_ktrace_entry *entry, struct pt_regs *regs, long call);
void rs_ktrace_return(struct rs_ktrace_entry *entry, struct pt_regs *regs, long call, long result);
/* A signal is delivered. `info` may be one of the kernel's small numbers. */
void rs_ktrace_signal(struct rs_ktrace_entry *entry, int number, const struct kernel_siginfo *info,
		      const struct k_sigaction *action);
/* The process runs another program now. `old_pid`: the thread's id until now. */
void rs_ktrace_program(struct rs_ktrace_entry *entry, u32 old_pid, const char *path);

/* The facilities whose events are on: RS_KTRFAC_*. */
u32 rs_ktrace_events_on(void);
/* Makes those events the end of a provider's list. */
void rs_ktrace_events_link(struct rs_event **link);

#endif
