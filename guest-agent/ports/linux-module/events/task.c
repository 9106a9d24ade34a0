/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/task.h>
#include "../kernel_stages.h"
