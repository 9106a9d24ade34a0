/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/cgroup.h>
#include "../kernel_stages.h"
