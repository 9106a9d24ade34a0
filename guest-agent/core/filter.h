/* SPDX-License-Identifier: MIT */
/*
 * Runs a filter program (ringside/filter.h) over an event that is about to be recorded.
 *
 * judge.c calls it in any context (interrupt, NMI), once the entry is assembled and before anything
 * is reserved. No allocation, no lock, no floating point, no libc. The time is linear in the number
 * of instructions and in the bytes of the strings that they look at.
 *
 * The host verifies each program before it publishes it. Nothing here relies on that: the host may
 * replace a program while it runs (the caller sees it by the sequence number), and in QEMU the
 * guest can write to it. So each word is loaded once, each offset is bounded, and jumps only go
 * forward. An instruction that makes no sense accepts: a record too many is better than one lost.
 */
#ifndef RS_AGENT_FILTER_H
#define RS_AGENT_FILTER_H

#include "dyn.h"
#include <ringside/filter.h>

#pragma GCC visibility push(hidden) /* not for who links the agent */

struct rs_filter_input {
	const void *entry;   /* the payload's fixed part */
	uint32_t entry_size; /* bytes of it */
	uint32_t dyn_count;
	const struct rs_dyn *dyn;
	const char *comm; /* RS_COMM_LEN bytes, NUL-padded; NULL: not known, same as "" */
	uint32_t pid;
	uint32_t tgid; /* 0: not known */
	uint32_t cpu;
};

/*
 * True: record the event. At least `size` bytes may be read from `program`, and a program that
 * claims more is cut there. `program` is 8-byte aligned. The caller has checked that it lies in the
 * filter section, and checks `sequence` before and after (ringside/filter.h).
 */
bool rs_filter_run(const struct rs_filter_program *program, uint32_t size,
		   const struct rs_filter_input *input);

#pragma GCC visibility pop

#endif
