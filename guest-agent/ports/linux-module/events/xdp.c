/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/xdp.h>
#include "../kernel_stages.h"
