/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/rpm.h>
#include "../kernel_stages.h"
