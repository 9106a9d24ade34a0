/* SPDX-License-Identifier: MIT */
/* It takes the name of the driver by a function that is not exported. */
#define RS_SKIP_net_dev_xmit_timeout 1
#define RS_KERNEL_HEADER <trace/events/net.h>
#include "../kernel_stages.h"
