/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/thp.h>
#include "../kernel_stages.h"
