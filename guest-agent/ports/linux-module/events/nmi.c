/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/nmi.h>
#include "../kernel_stages.h"
