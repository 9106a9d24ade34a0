/* SPDX-License-Identifier: MIT */
/*
 * Where the bytes of one dynamic field (string or array) lie in the traced program. An event's emit
 * function makes it on its stack. The filter and the ring writer read it before trace_*() returns.
 * Trusted: it is the guest's own memory.
 */
#ifndef RINGSIDE_DYN_H
#define RINGSIDE_DYN_H

#include <stdint.h>

struct rs_dyn {
	const void *data;
	uint32_t size; /* bytes; a string's NUL is one of them */
};

#endif
