/* SPDX-License-Identifier: MIT */
/*
 * An event for the begin of each system call, and one for its end: `syscalls:sys_enter_openat`,
 * with the call's arguments as fields. They hang on the tracepoints of all system calls, while one
 * of them is on.
 *
 * Threads are as those of kernel_events.h.
 */
#ifndef RS_SYSCALL_EVENTS_H
#define RS_SYSCALL_EVENTS_H

#include <linux/types.h>

/* 0 or -errno. */
int rs_syscall_events_find(void);
void rs_syscall_events_free(void);

/* As rs_agent_register(). While it has failed, there are no such events. */
int rs_syscall_events_register(void);
void rs_syscall_events_unregister(void);

/* Registers and unregisters probes, as the control words ask for it. How many events are on. */
u32 rs_syscall_events_follow(void);
/* Whether one was taken down, and may still run. */
bool rs_syscall_events_stop(void);

#endif
