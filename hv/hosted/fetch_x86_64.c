/* SPDX-License-Identifier: MIT */
/*
 * The kernel's copy is one store of a quadword, unless the CPU has fast strings for short copies
 * (ERMS before Linux 6.4, FSRM): then it is a string instruction, of which no vendor documents what
 * others fetch meanwhile.
 */
#include "hosted/private.h"
#include "target/fetch.h"

#include <cpuid.h>

#define FEATURES 7u
#define EBX_ERMS (1u << 9)
#define EDX_FSRM (1u << 4)

bool rs_hosted_word_is_whole(void)
{
	unsigned int a, b = 0, c, d = 0;

	return rs_fetch_is_whole() && (!__get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) ||
				       (!(b & EBX_ERMS) && !(d & EDX_FSRM)));
}
