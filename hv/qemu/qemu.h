/* SPDX-License-Identifier: MIT */
/*
 * A target that is a QEMU process, started by us or left behind by a session that died.
 *
 * The region is an ivshmem-plain BAR (1af4:1110, BAR 2, PCI address 00:02.0). Guest RAM is a file
 * that we map, so reads are cheap. Text is written through the gdb stub, because stores to the file
 * would not update TCG's translation cache. Hypercalls come by mailbox, which the session polls.
 *
 * A pause is a connection to the gdb stub. A VM that somebody else had paused stays paused
 * afterwards. The guest's TSC stands still meanwhile (ops->clock_stops).
 *
 * The process has its own Unix session and outlives us when we are killed. rs_qemu_attach then
 * finds it by DIR/NAME.qemu. stop() ends it. destroy() without stop() leaves a started guest
 * running.
 *
 * Exit: port 0xf4 is isa-debug-exit. A value v (0..127) written there ends QEMU with `code` v.
 *
 * Thread: the session's. Trust: the guest may have taken over QEMU, so all that QEMU says is
 * bounded and checked.
 */
#ifndef RS_HV_QEMU_QEMU_H
#define RS_HV_QEMU_QEMU_H

#include "target/target.h"
#include <glib.h>

enum rs_qemu_accel { RS_QEMU_TCG, RS_QEMU_KVM };

#define RS_QEMU_EXIT_PORT 0xf4u

struct rs_qemu_config {
	const char *binary; /* NULL: qemu-system-x86_64 */
	const char *kernel; /* PVH ELF64 or bzImage */
	const char *initrd; /* NULL: none */
	const char *append; /* kernel command line; NULL: none */
	uint64_t memory;    /* bytes, multiple of 1 MiB */
	uint32_t vcpus;
	enum rs_qemu_accel accel;
	int region_fd;        /* the region's file; stays the caller's */
	uint64_t region_size; /* bytes, a power of two (it becomes a PCI BAR) */
	int serial_fd;    /* where the serial console goes: a file, pipe or terminal; -1: nowhere */
	const char *name; /* the session's: names the files below */
	const char *run_dir;      /* NAME.qmp, NAME.gdb, NAME.qemu are made here */
	const char *const *extra; /* more arguments for QEMU, NULL-terminated; NULL: none */
	GMainContext *context;    /* NULL: the thread's default */
};

/*
 * Starts QEMU with the guest stopped before its first instruction; start() lets it go. Errors,
 * besides those of the system: -ENOENT no QEMU or no such kernel; -EINVAL the configuration;
 * -ECHILD QEMU ended at once, and the message is its own.
 */
int rs_qemu_create(const struct rs_qemu_config *config, struct rs_target **out,
		   struct rs_error *err);

/*
 * Connects to the QEMU that DIR/NAME.qemu names. -ENOENT no such file; -ESRCH the process is gone,
 * or its id was reused; -EBADMSG the file is invalid. If the dead session had paused the guest, the
 * next resume() or start() lets it run on.
 */
int rs_qemu_attach(const char *run_dir, const char *name, GMainContext *context,
		   struct rs_target **out, struct rs_error *err);

/* A path by which the region's file can be opened again, valid while the process lives. */
const char *rs_qemu_region_path(const struct rs_target *target);
const char *rs_qemu_qmp_path(const struct rs_target *target);
const char *rs_qemu_gdb_path(const struct rs_target *target);

#endif
