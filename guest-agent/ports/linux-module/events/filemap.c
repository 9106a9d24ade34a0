/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/filemap.h>
#include "../kernel_stages.h"
