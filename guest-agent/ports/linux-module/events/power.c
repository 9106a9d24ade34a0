/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/power.h>
#include "../kernel_stages.h"
