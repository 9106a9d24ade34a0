/* SPDX-License-Identifier: MIT */
/*
 * Every tracepoint of the kernel by its name, as event tracepoint:NAME, with its arguments as they
 * are: those that have no event otherwise.
 *
 * kernel_events.c calls all of these. Thread: as there.
 */
#ifndef RS_KERNEL_RAW_H
#define RS_KERNEL_RAW_H

#include <linux/types.h>

struct rs_btf;

/* `is_known`: whether there is an event of this tracepoint. 0 or -errno. */
int rs_kernel_raw_find(const struct rs_btf *btf, bool (*is_known)(const char *name));
int rs_kernel_raw_register(void);
void rs_kernel_raw_unregister(void);
/* Registers and unregisters probes. How many events are on. */
u32 rs_kernel_raw_follow(void);
/* True: a probe was taken down, and may still run. */
bool rs_kernel_raw_stop(void);
void rs_kernel_raw_free(void);

#endif
