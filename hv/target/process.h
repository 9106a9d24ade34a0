/* SPDX-License-Identifier: MIT */
/*
 * Facts of a process on this machine. Its start time tells it from a later one with the same id.
 * Its first thread may end before its others: it stays as a zombie, which has no memory. Any
 * thread.
 */
#ifndef RS_HV_TARGET_PROCESS_H
#define RS_HV_TARGET_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* When it was started, in clock ticks after boot (/proc/PID/stat); 0: there is no such process. */
uint64_t rs_process_start_time(pid_t pid);

/* Whether the thread has ended, though its parent may not have taken note of it. */
bool rs_process_task_ended(pid_t tid);

/* The thread that traces it; 0: none, or there is no such thread. */
pid_t rs_process_tracer(pid_t tid);

/*
 * What the thread does ('R' runs or is ready to, 'S' sleeps, 'T' is stopped; see proc(5)), and how
 * long it has run, in ns. False: there is no such thread.
 */
bool rs_process_task_activity(pid_t tid, char *state, uint64_t *ran_ns);

/* A thread of the process that lives: the first one (pid) if it does. 0: the process has ended. */
pid_t rs_process_living_task(pid_t pid);

#endif
