/* SPDX-License-Identifier: MIT */
/*
 * A fault that a user asks for, as text: "KIND key=value …" (docs/faults.md). Here the text becomes
 * a struct, and whatever is wrong with it is told with its place. session/faults.h carries it out.
 *
 * Trust: the text is hostile. Any thread.
 */
#ifndef RS_HV_SESSION_FAULT_H
#define RS_HV_SESSION_FAULT_H

#include "base/error.h"
#include "filter/filter.h"

#include <ringside/region.h>

#define RS_FAULT_TEXT_MAX 512u /* bytes */
#define RS_FAULT_NAME_MAX 128u /* of a symbol, a command, a system call */
#define RS_FAULT_NS_MAX (600ull * 1000000000ull)

enum rs_fault_kind {
	RS_FAULT_PAUSE,
	RS_FAULT_FAIL_FUNCTION,
	RS_FAULT_FAIL_SYSCALL,
	RS_FAULT_FLIP,
	RS_FAULT_NMI,
	RS_FAULT_REBOOT,
	RS_FAULT_KILL,
};

/* A place in a guest's memory. */
struct rs_fault_place {
	char symbol[RS_FAULT_NAME_MAX + 1]; /* empty: `at` is the address */
	uint64_t at;                        /* else bytes behind the symbol */
	bool physical;
};

struct rs_fault {
	enum rs_fault_kind kind;
	uint64_t for_ns; /* of a pause and FAIL_FUNCTION; 0: not given */

	/* PAUSE */
	bool some_cpus; /* those of `cpus`; else all */
	uint64_t cpus[RS_MAX_CPUS / 64];

	struct rs_fault_place place; /* FAIL_FUNCTION, FLIP */
	int64_t value;               /* FAIL_FUNCTION: what it returns */
	uint64_t mask;               /* FLIP: the bits of a little-endian word */

	/* FAIL_SYSCALL */
	char syscall[RS_FAULT_NAME_MAX + 1]; /* empty: `number` */
	uint64_t number;
	int error;                        /* positive */
	uint32_t pid;                     /* 0: any */
	char comm[RS_FAULT_NAME_MAX + 1]; /* a glob; empty: any */
	uint64_t count;                   /* calls that fail; 0: all */
};

/*
 * 0, -EINVAL, or -ENOTSUP for what no machine of ours can do. `why` (not NULL) is then the mistake
 * and its place in `text`.
 */
int rs_fault_parse(const char *text, struct rs_fault *out, struct rs_filter_error *why);
/* Makes the message of a failed call out of that, with the text and a caret; returns -why->code. */
int rs_fault_blame(const char *text, const struct rs_filter_error *why, struct rs_error *err);
/* A time with its unit, such as "1.5ms", up to RS_FAULT_NS_MAX. False: this is none. */
bool rs_fault_parse_time(const char *text, uint64_t *ns);
/* Whether it lasts: one that ends has two records. */
bool rs_fault_lasts(const struct rs_fault *fault);

static inline bool rs_fault_has_cpu(const struct rs_fault *fault, uint32_t cpu)
{
	return fault->cpus[cpu / 64] >> cpu % 64 & 1;
}

#endif
