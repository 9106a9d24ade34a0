/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/percpu.h>
#include "../kernel_stages.h"
