/* SPDX-License-Identifier: MIT */
/* What a kernel has instead, and what its other names lack; see event_guard.h, too. */
#ifndef RS_KERNEL_STDINT_H
#define RS_KERNEL_STDINT_H

#include <linux/limits.h>
#include <linux/types.h>

typedef long intptr_t; /* once more, in newer kernels */

#define INT8_MAX S8_MAX
#define INT16_MAX S16_MAX
#define INT32_MAX S32_MAX
#define INT64_MAX S64_MAX
#define UINT8_MAX U8_MAX
#define UINT16_MAX U16_MAX
#define UINT32_MAX U32_MAX
#define UINT64_MAX U64_MAX
#ifndef UINTPTR_MAX
#define UINTPTR_MAX ULONG_MAX
#endif

/* Every event header comes here, so nobody can forget it. */
#include "event_guard.h"

#endif
