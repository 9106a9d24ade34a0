/* SPDX-License-Identifier: MIT */
#define RS_KERNEL_HEADER <trace/events/alarmtimer.h>
#include "../kernel_stages.h"
