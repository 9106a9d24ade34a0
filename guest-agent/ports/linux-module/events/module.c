/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/module.h>
#include "../kernel_stages.h"
