/* SPDX-License-Identifier: MIT */
/*
 * Makes what one source of a session consists of: a region, and the target through which it is
 * patched; and the memory that the region lies in. No other place knows all kinds of target. Main
 * thread.
 */
#ifndef RS_HV_MACHINE_MACHINE_H
#define RS_HV_MACHINE_MACHINE_H

#include "base/error.h"
#include "region/regions.h"
#include "target/target.h"
#include <rs-trace-region.h>
#include <stdbool.h>

struct rs_machine {
	struct rs_target *target; /* not started */
	RsTraceRegion *region;    /* the kernel's or the program's */
	/* Others are there for processes in it, or for those that the program starts. */
	struct rs_regions *regions;
	bool same_host; /* those processes run on this host: see rs_regions_held() */
};

#define RS_MACHINE_USERS_DEFAULT UINT32_MAX

struct rs_machine_config {
	const char *name;
	const char *run_dir;         /* for the sockets of a QEMU guest */
	const char *kernel;          /* kernel or, with `hosted`, unused */
	char **hosted;               /* a program and its arguments; NULL: a machine */
	const char *accel;           /* "auto", "kvm" or "tcg" */
	const char *initrd, *append; /* may be NULL */
	const char *serial;          /* a file, "-" (standard error) or "none" */
	uint32_t cpus;               /* 0: 2 for a machine, all for a program */
	uint64_t memory;             /* bytes; 0: a default */
	uint64_t ring_bytes;         /* per vCPU */
	uint32_t ring_mode;
	/* Regions for processes. RS_MACHINE_USERS_DEFAULT: 4 in a machine, else 16. */
	uint32_t users;
	uint64_t origin_ns; /* as rs_region_config's */
};

/* Errors: as the target's and rs_region_create's. */
int rs_machine_create(const struct rs_machine_config *config, struct rs_machine *out,
		      struct rs_error *err);

/* A QEMU guest whose session died. Errors: as rs_qemu_attach's; -EPROTO: its region is invalid. */
int rs_machine_attach(const char *run_dir, const char *name, struct rs_machine *out,
		      struct rs_error *err);

/* Destroys it all; for a machine that no session has taken over. */
void rs_machine_clear(struct rs_machine *machine);

/* Whether we can write its text; of a program that is known once it has started. */
bool rs_machine_can_patch(const struct rs_target *target);

/* How a QEMU guest is reached again, owned by the target; all NULL for others. */
struct rs_machine_place {
	const char *qmp, *gdb, *region;
};
struct rs_machine_place rs_machine_place(const struct rs_target *target);

#endif
