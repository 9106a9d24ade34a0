/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/sock.h>
#include "../kernel_stages.h"
