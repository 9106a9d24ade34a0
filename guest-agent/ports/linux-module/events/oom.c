/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/oom.h>
#include "../kernel_stages.h"
