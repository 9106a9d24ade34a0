/* SPDX-License-Identifier: MIT */
/*
 * Native filters: the host compiles a filter to machine code, writes it into a pool of text that
 * the agent has set aside (rs_provider.text_pool), and names it in RS_SEC_NATIVE. A program of
 * filter.h stands behind each, and means the same. Since ABI 1.4. The reasons are in
 * docs/adr/0036-native-filters.md.
 *
 * The pool begins with entries, from its start upwards, in the part that RS_NATIVE_ENTRY_BYTES
 * says. Code lies behind that part. The rest is RS_NATIVE_UNUSED. Nothing that was written changes,
 * as long as the image lives, since a vCPU may be in it. So the host only appends, with the means
 * by which it patches text.
 *
 * RS_SEC_NATIVE is uint32_t[event_capacity]. Word `id`: 0, or 1 + the number of the entry that
 * judges the event's records. One store (release) publishes it. The agent looks at the word after
 * it has loaded a control word (acquire) that names a filter. It uses an entry only if that lies in
 * the part of entries and has the id and the size of what it is about to record. In the code lie
 * bytes that a filter's author chose, and no entry may be made of those. So whoever can write to
 * the region cannot make it run anything but a filter of this event. Else it runs the program.
 *
 * Before a control word names another program, or none, the host stores 0 in the native word, and
 * it names code only for the program that the control word names. So at each moment a filter in
 * force is the old one or the new one, as a program or as code.
 */
#ifndef RINGSIDE_NATIVE_H
#define RINGSIDE_NATIVE_H

#include <ringside/types.h>

#define RS_NATIVE_UNUSED 0xccu          /* each byte of a pool that holds nothing yet */
#define RS_NATIVE_ALIGN 16u             /* of code in the pool */
#define RS_NATIVE_POOL_MAX (128u << 10) /* bytes; of a larger pool the rest is never used */
/* Bytes at the start of a pool of so many, RS_NATIVE_POOL_MAX at most, that are for entries. */
#define RS_NATIVE_ENTRY_BYTES(size) ((size) / 4u & ~15u)

/* rs_native_entry.kind */
#define RS_NATIVE_FIELDS 0u /* code(entry) */
#define RS_NATIVE_INPUT 1u  /* code(entry, input) */

/*
 * The code is a function of the guest's C ABI that returns 1 if the event is to be recorded, else
 * 0. It changes no memory, no stack and no register that a callee must keep.
 */
struct rs_native_entry {     /* H, in the guest's text */
	uint32_t code;       /* from the pool's start, multiple of RS_NATIVE_ALIGN */
	uint16_t event;      /* id */
	uint16_t entry_size; /* of the event, | RS_NATIVE_* << 15 */
	uint32_t dyn_count;  /* dynamic fields that the input must have at least */
	uint32_t reserved;
};
RS_ASSERT_SIZE(struct rs_native_entry, 16);
#define RS_NATIVE_KIND_SHIFT 15u /* in entry_size */

/*
 * What code of the kind INPUT reads. A 64-bit agent's own struct begins so: pointers of the guest,
 * and numbers. No side stores it anywhere else than on the stack of its vCPU.
 */
#define RS_NATIVE_IN_DYN 16u  /* pointer to the dynamic fields: 16 bytes each, … */
#define RS_NATIVE_IN_COMM 24u /* pointer to the task's name, RS_COMM_LEN bytes; 0: not known */
#define RS_NATIVE_IN_PID 32u
#define RS_NATIVE_IN_TGID 36u
#define RS_NATIVE_IN_CPU 40u
#define RS_NATIVE_DYN_STRIDE 16u
#define RS_NATIVE_DYN_DATA 0u /* … a pointer, 0: nothing is there, … */
#define RS_NATIVE_DYN_SIZE 8u /* … and uint32_t, bytes */

#endif
