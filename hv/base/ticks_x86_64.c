/* SPDX-License-Identifier: MIT */
#include "base/ticks.h"

uint64_t rs_ticks(void)
{
	return __builtin_ia32_rdtsc();
}
