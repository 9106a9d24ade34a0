/* SPDX-License-Identifier: MIT */
/* The kernel's own function of this purpose is not exported. */
#define netdev_drivername rs_net_driver
#include <linux/netdevice.h>

const char *rs_net_driver(const struct net_device *dev)
{
	const struct device *parent = dev->dev.parent;

	return parent && parent->driver && parent->driver->name ? parent->driver->name : "";
}

#define RS_KERNEL_HEADER <trace/events/net.h>
#include "../kernel_stages.h"
