/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/tlb.h>
#include "../kernel_stages.h"
