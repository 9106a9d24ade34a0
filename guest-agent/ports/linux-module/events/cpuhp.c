/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/cpuhp.h>
#include "../kernel_stages.h"
