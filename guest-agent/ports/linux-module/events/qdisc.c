/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/qdisc.h>
#include "../kernel_stages.h"
