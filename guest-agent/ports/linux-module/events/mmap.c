/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/mmap.h>
#include "../kernel_stages.h"
