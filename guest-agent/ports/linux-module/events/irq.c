/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/irq.h>
#include "../kernel_stages.h"
