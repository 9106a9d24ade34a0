/* SPDX-License-Identifier: MIT */
/* The event clock of a hosted process is the TSC that we see ourselves. */
#include "hosted/private.h"

uint64_t rs_hosted_clock(void)
{
	return __builtin_ia32_rdtsc();
}
