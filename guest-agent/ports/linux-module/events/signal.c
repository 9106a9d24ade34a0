/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/signal.h>
#include "../kernel_stages.h"
