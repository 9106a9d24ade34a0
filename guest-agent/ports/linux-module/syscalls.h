/* SPDX-License-Identifier: MIT */
/* The system calls of x86-64: their names, and what their arguments are. */
#ifndef RS_KERNEL_SYSCALLS_H
#define RS_KERNEL_SYSCALLS_H

#include <linux/types.h>
#include <ringside/event.h>

#define RS_CALL_ARGS 6

/* Of the kernel that the module is compiled for, by their numbers: "sys_read". */
extern const struct rs_symbol_info rs_call_names[];
extern const u32 rs_call_name_count;

/* "unsigned int fd, char *buf, size_t count", or "". NULL: not known. */
const char *rs_call_prototype(long call);

/* How many arguments the call has; RS_CALL_ARGS if it is not known. Anywhere. */
u32 rs_call_args(long call);
/* Once, before that. */
void rs_calls_count(void);

#endif
