/* SPDX-License-Identifier: MIT */
/*
 * What QEMU says about PCI: how much room there is behind a port, and whether the guest has given a
 * device a place. Thread: the domain's. QEMU's answer is not trusted.
 */
#ifndef RS_HV_LIBVIRT_PCI_H
#define RS_HV_LIBVIRT_PCI_H

#include "target/monitor.h"
#include <stdint.h>

/*
 * How many bytes of memory that can be fetched ahead may lie behind the bridge with this id in
 * QEMU, by the guest's choice; 0: none, so far. -ENODEV: there is no such bridge; others as
 * rs_monitor_call() has them.
 */
int rs_pci_room(struct rs_monitor *monitor, const char *bridge, uint64_t *bytes,
		struct rs_error *err);

/*
 * Whether the device with this id has its memory (BAR 2) in the guest's address space. -ENODEV:
 * there is no such device.
 */
int rs_pci_is_placed(struct rs_monitor *monitor, const char *device, bool *placed,
		     struct rs_error *err);

#endif
