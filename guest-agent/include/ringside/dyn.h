/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one dynamic field (string or array) while its event is on its way: where they lie in
 * the traced program. Made by the emit functions of event.h on the stack, read by the filter and by
 * the ring writer before trace_*() returns. Trusted: it is the guest's own memory.
 */
#ifndef RINGSIDE_DYN_H
#define RINGSIDE_DYN_H

#include <stdint.h>

struct rs_dyn {
	const void *data;
	uint32_t size; /* bytes; a string's NUL is one of them */
};

#endif
