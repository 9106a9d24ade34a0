/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <asm/trace/irq_vectors.h>
#include "../kernel_stages.h"
