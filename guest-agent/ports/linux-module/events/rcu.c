/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/rcu.h>
#include "../kernel_stages.h"
