/* SPDX-License-Identifier: MIT */
#include <linux/ip.h>
#include <trace/events/sock.h> /* names of families and states */
#define RS_KERNEL_HEADER <trace/events/udp.h>
#include "../kernel_stages.h"
