/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/rseq.h>
#include "../kernel_stages.h"
