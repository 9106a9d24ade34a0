/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/syscalls.h>
#include "../kernel_stages.h"
