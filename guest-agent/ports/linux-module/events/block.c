/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/block.h>
#include "../kernel_stages.h"
