/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/ipi.h>
#include "../kernel_stages.h"
