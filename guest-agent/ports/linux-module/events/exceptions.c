/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <asm/trace/exceptions.h>
#include "../kernel_stages.h"
