/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/fib.h>
#include "../kernel_stages.h"
