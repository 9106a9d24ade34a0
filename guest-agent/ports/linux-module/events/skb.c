/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/skb.h>
#include "../kernel_stages.h"
