/* SPDX-License-Identifier: MIT */
/*
 * Makes the parts of one source of a session: the memory with its regions, one mapped region, and
 * the target through which that source's text is patched. No other place knows all kinds of target.
 *
 * Thread: main. The caller owns a machine until a session takes its parts over.
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
	/*
	 * The memory. Its other regions are for processes in the guest, or for those that the
	 * program starts.
	 */
	struct rs_regions *regions;
	bool same_host;    /* these processes run on this host: see rs_regions_held() */
	bool self_patch;   /* its agent is asked to patch itself from the start */
	const char *label; /* what people call it; NULL: not known; the target's */
	const char *via;   /* how a later session reaches it (machine/reach.h); NULL: likewise */
	char program[32];  /* the file that runs there, if that is known; else empty */
};

#define RS_MACHINE_USERS_DEFAULT UINT32_MAX

struct rs_machine_config {
	const char *name;
	const char *run_dir; /* directory for the sockets of a QEMU guest */
	const char *kernel;  /* path of the kernel; unused with `hosted` */
	char **hosted;       /* a program and its arguments; NULL: run `kernel` */
	/*
	 * A domain of libvirt, or a template of one, in place of `kernel` and `hosted`
	 * (machine/run_domain.h); NULL: none. `uri`: of libvirt; NULL: as virsh has it.
	 */
	const char *domain, *uri;
	bool keep_crashed;           /* a template's: its memory is to be had after a panic */
	const char *accel;           /* "auto", "kvm" or "tcg" */
	const char *initrd, *append; /* may be NULL */
	const char *serial;          /* a file, "-" (standard error) or "none" */
	/* We write that file, and count what could not be written. It ends with this process. */
	bool counts_console;
	uint32_t cpus;       /* 0: 2 for a guest, all of the host's for a program */
	uint64_t memory;     /* bytes; 0: a default */
	uint64_t ring_bytes; /* per vCPU */
	uint64_t ring_max;   /* what that may become while it runs; 0: a default */
	uint32_t ring_mode;
	/* Regions for processes. RS_MACHINE_USERS_DEFAULT: 4 in a guest, 16 on this host. */
	uint32_t users;
	uint64_t origin_ns; /* as in struct rs_region_config */
};

/*
 * Errors: as rs_regions_create(), rs_machine_run_domain() and the target's own function give them.
 * -EINVAL: `accel` is
 * unknown or cannot run this kernel. -EIO, -ENOEXEC: the kernel cannot be read, or is none.
 */
int rs_machine_create(const struct rs_machine_config *config, struct rs_machine *out,
		      struct rs_error *err);

/*
 * Takes up a QEMU guest whose session died. Errors: as rs_qemu_attach() gives them. -EPROTO: its
 * regions are invalid.
 */
int rs_machine_attach(const char *run_dir, const char *name, struct rs_machine *out,
		      struct rs_error *err);

/* Destroys all parts of a machine that no session has taken over. */
void rs_machine_clear(struct rs_machine *machine);

/* Whether we can write the target's text. For a program this is known once it has started. */
bool rs_machine_can_patch(const struct rs_target *target);

/*
 * Paths by which a later session finds a QEMU guest again. The target owns them. Other targets: all
 * NULL.
 */
struct rs_machine_place {
	const char *qmp, *gdb, *region;
};
struct rs_machine_place rs_machine_place(const struct rs_target *target);

#endif
