/* SPDX-License-Identifier: MIT */
/*
 * Runs a filter program (ringside/filter.h) over an event that is about to be recorded.
 *
 * Called by emit, in any context (interrupt, NMI), with the entry assembled and nothing reserved yet.
 * No allocation, no lock, no floating point, no libc; time is linear in the number of instructions
 * and in the bytes of the strings that they look at.
 *
 * The host verifies each program before it publishes it. Nothing here relies on that: a program may
 * be replaced under our feet (the caller finds out by its sequence number), and in QEMU the guest
 * itself can write it. So each word is loaded once, each offset is bounded, jumps only go forward,
 * and what makes no sense accepts: a record too many is better than one lost.
 */
#ifndef RS_AGENT_FILTER_H
#define RS_AGENT_FILTER_H

#include "dyn.h"
#include <ringside/filter.h>

struct rs_filter_input {
	const void *entry;   /* the payload's fixed part */
	uint32_t entry_size; /* bytes of it */
	uint32_t dyn_count;
	const struct rs_dyn *dyn;
	const char *comm; /* RS_COMM_LEN bytes, NUL-padded; NULL: no name is known, taken as "" */
	uint32_t pid;
	uint32_t cpu;
};

/*
 * True: record the event. `size` is how many bytes may be read from `program` on, at least; a
 * program that claims to be larger is cut there. `program` is 8-byte aligned. The caller has checked
 * that it lies in the filter section, and checks `sequence` before and after (filter.h).
 */
bool rs_filter_run(const struct rs_filter_program *program, uint32_t size,
		   const struct rs_filter_input *input);

#endif
