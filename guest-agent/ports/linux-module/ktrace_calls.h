/* SPDX-License-Identifier: MIT */
/* What the arguments of x86-64's system calls are, as far as ktrace records what they point to. */
#ifndef RS_KTRACE_CALLS_H
#define RS_KTRACE_CALLS_H

#include <linux/types.h>

#include "syscalls.h"

/* Where a call's bytes of input or output are. Argument 0 is the descriptor. */
enum rs_call_io {
	RS_CALL_NO_IO,
	RS_CALL_BUFFER, /* argument 1 */
	RS_CALL_VECTOR, /* argument 1: parts, argument 2: how many */
	RS_CALL_MESSAGE /* argument 1: a message with parts */
};

/* A structure, at an address that is an argument. */
struct rs_call_struct {
	u16 call;
	u8 arg;
	u8 leaves;   /* the kernel has written it once the call returns */
	u8 size_arg; /* 0: `size` bytes; else the argument with their number, or its address */
	u16 size;    /* bytes; with size_arg: at most */
	const char *name;
};

/* Which of the arguments, 0 or 1, is a path: its number from 1 on; 0: there is no such path. */
u32 rs_call_path(long call, u32 which);
enum rs_call_io rs_call_io(long call, bool *writes);
/* NULL: the call has none. */
const struct rs_call_struct *rs_call_struct(long call);

#endif
