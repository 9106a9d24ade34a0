/* SPDX-License-Identifier: MIT */
#include <linux/tick.h>
#define RS_KERNEL_HEADER <trace/events/timer.h>
#include "../kernel_stages.h"
