/* SPDX-License-Identifier: MIT */
/* A kernel without power management has no such tracepoints, and not all that the header reads. */
#ifdef CONFIG_PM
#define RS_KERNEL_HEADER <trace/events/rpm.h>
#include "../kernel_stages.h"
#endif
