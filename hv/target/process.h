/* SPDX-License-Identifier: MIT */
/* The start time tells a process from a later one with the same id. Any thread. */
#ifndef RS_HV_TARGET_PROCESS_H
#define RS_HV_TARGET_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/* When it was started, in clock ticks after boot (/proc/PID/stat); 0: there is no such process. */
uint64_t rs_process_start_time(pid_t pid);

#endif
