/* SPDX-License-Identifier: MIT */
/*
 * A target that is a QEMU process, started by us or left behind by a session that died.
 *
 * The region is an ivshmem-plain BAR (1af4:1110, BAR 2, PCI address 00:02.0), guest RAM a file that we map, so
 * reads cost nothing; text is written through the gdb stub, because TCG's translation cache does not hear of
 * stores from outside. Hypercalls come by mailbox, which the session polls: nothing is delivered from here.
 *
 * A pause is a connection to the gdb stub. A VM that somebody else had paused stays paused afterwards.
 * The guest's TSC stands still meanwhile (ops->clock_stops).
 *
 * The process is in a session of its own and outlives us when we are killed; DIR/NAME.qemu then tells
 * rs_qemu_attach how to find it. stop() ends it; destroy() without stop() leaves a started guest running.
 *
 * Exit: port 0xf4 is isa-debug-exit, a value v written there ends QEMU with `code` v (0..127).
 *
 * Thread: the session's. Trust: the guest may have broken into QEMU; what QEMU says is bounded and judged.
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
 * Starts QEMU with the guest held before its first instruction; start() lets it go. Errors, besides
 * system ones: -ENOENT no QEMU or no such kernel; -EINVAL the configuration; -ECHILD QEMU ended at once, the
 * message is what it said.
 */
int rs_qemu_create(const struct rs_qemu_config *config, struct rs_target **out,
		   struct rs_error *err);

/*
 * Connects to the QEMU that DIR/NAME.qemu tells of. -ENOENT no such file; -ESRCH the process is gone or
 * is another one by now; -EBADMSG the file makes no sense. If the dead session had paused the guest,
 * the next resume() or start() lets it run on.
 */
int rs_qemu_attach(const char *run_dir, const char *name, GMainContext *context,
		   struct rs_target **out, struct rs_error *err);

/* A path under which the region's file can be opened again, valid while the process lives. */
const char *rs_qemu_region_path(const struct rs_target *target);
const char *rs_qemu_qmp_path(const struct rs_target *target);
const char *rs_qemu_gdb_path(const struct rs_target *target);

#endif
