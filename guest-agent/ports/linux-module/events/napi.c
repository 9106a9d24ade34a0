/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/napi.h>
#include "../kernel_stages.h"
