/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/page_pool.h>
#include "../kernel_stages.h"
