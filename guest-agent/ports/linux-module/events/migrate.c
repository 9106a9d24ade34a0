/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/migrate.h>
#include "../kernel_stages.h"
