/* SPDX-License-Identifier: MIT */
/* These take a task's group by a function that is not exported. */
#define RS_SKIP_sched_move_numa 1
#define RS_SKIP_sched_numa_pair_template 1
#define RS_KERNEL_HEADER <trace/events/sched.h>
#include "../kernel_stages.h"
