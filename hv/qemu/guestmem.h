/* SPDX-License-Identifier: MIT */
/*
 * Reads the memory of a guest whose QEMU is not ours: out of QEMU's process, where we may, at the
 * addresses that QEMU names. Else by its gdb stub while that is connected, else by its monitor.
 *
 * Only hv/qemu. Thread: the monitor's. Trust: QEMU may name any address of its own process, and
 * what is read is hostile, as a guest's memory always is. The caller has made sure that the process
 * is that QEMU.
 */
#ifndef RS_HV_QEMU_GUESTMEM_H
#define RS_HV_QEMU_GUESTMEM_H

#include "qemu/gdbstub.h"
#include "target/monitor.h"

struct rs_guestmem;

/*
 * `pid`: QEMU's process; 0: unknown. The monitor outlives it. *questions grows with each question
 * to the monitor.
 */
struct rs_guestmem *rs_guestmem_create(struct rs_monitor *monitor, pid_t pid, uint64_t *questions);
/* NULL is accepted. */
void rs_guestmem_destroy(struct rs_guestmem *mem);
/* Memory may have come, gone or moved: after a reset. */
void rs_guestmem_forget(struct rs_guestmem *mem);

/* Whether it is read out of the process, where a read costs about 1 us. */
bool rs_guestmem_is_direct(const struct rs_guestmem *mem);

/*
 * Copies guest-physical memory. `gdb` is the connected stub, in its physical mode; NULL: none. The
 * guest stands still while it is connected, so the monitor is not asked then where memory lies.
 * -EFAULT: some of it is not RAM. Others as rs_monitor_call() and rs_gdb_read().
 */
int rs_guestmem_read(struct rs_guestmem *mem, struct rs_gdb *gdb, uint64_t at, void *out,
		     size_t size, struct rs_error *err);

#endif
