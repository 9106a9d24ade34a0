/* SPDX-License-Identifier: MIT */
/*
 * Where a program in a Linux guest finds its region if the environment does not say: /dev/ringside,
 * else the device's memory on PCI. For place.c.
 */
#ifndef RS_HOSTED_DEVICE_H
#define RS_HOSTED_DEVICE_H

#include "place.h"

#pragma GCC visibility push(hidden) /* not for who links the agent */

/*
 * Has the kernel's module give this process a region, and maps it. Returns 0. 1: there is no
 * module, or it has no memory (yet). Else -RS_E*. If 1 or an error, place->why may be set.
 */
int rs_hosted_take_device(const char *path, struct rs_hosted_place *place);

/*
 * For root: opens the memory of the first ivshmem device in the folder that no driver has and that
 * holds a directory of regions, after it has enabled that device. Nothing of others is written.
 * -1: there is none.
 */
int rs_hosted_open_bar(const char *folder);
/* Whether there is an ivshmem device that no driver has. Anybody may ask. */
bool rs_hosted_has_bar(const char *folder);

#pragma GCC visibility pop

#endif
