/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/printk.h>
#include "../kernel_stages.h"
