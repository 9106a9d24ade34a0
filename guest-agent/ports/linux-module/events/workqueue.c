/* SPDX-License-Identifier: MIT */
/* Its fields lie in structures that only kernel/workqueue.c knows. */
#define RS_SKIP_workqueue_queue_work 1
#define RS_KERNEL_HEADER <trace/events/workqueue.h>
#include "../kernel_stages.h"
