/* SPDX-License-Identifier: MIT */
/*
 * The memory of a source that outlives sessions: the BAR of a device of a virtual machine, or any
 * file. Its size is given. Where a session has laid it out before, the next one takes it up, and
 * agents that are at work there notice nothing but a new host.
 *
 * Thread: main. Trust: all of the memory is hostile (region/regions.h).
 */
#ifndef RS_HV_MACHINE_MEMORY_H
#define RS_HV_MACHINE_MEMORY_H

#include "base/error.h"
#include "region/fit.h"
#include "region/regions.h"
#include <rs-trace-region.h>
#include <stdbool.h>

#define RS_MACHINE_MODE_DEFAULT UINT32_MAX

struct rs_machine_memory_wish {
	const char *path; /* for messages */
	uint64_t size;    /* bytes to use of it; 0: the file's */
	uint32_t cpus;    /* rings at least; 0: as many as there are, else as this host has CPUs */
	/* For the next four a value other than the default asks for a new layout if it differs. */
	uint64_t ring_bytes; /* 0: what fits */
	uint64_t ring_max;   /* what that may become while it runs; 0: it stays as it is */
	uint32_t ring_mode;  /* RS_MACHINE_MODE_DEFAULT: overwrite */
	uint32_t users;      /* RS_FIT_USERS_DEFAULT: what fits */
	uint64_t origin_ns;  /* of a new layout: as in struct rs_region_config */
	bool anew;           /* lay it out anew in any case */
	bool self_patch;     /* its agents patch themselves, also where a QEMU could do that */
};

/* Whatever is there, or what fits. */
#define RS_MACHINE_MEMORY_ANY                                                                      \
	{                                                                                          \
		.ring_mode = RS_MACHINE_MODE_DEFAULT, .users = RS_FIT_USERS_DEFAULT                \
	}

/* Who says that the file is such a memory, and so how far that is believed. */
enum rs_machine_word {
	RS_MACHINE_WORD_OURS, /* our user, or the system: any file */
	/*
	 * A QEMU, which its guest may have taken over, or libvirt's daemon, in whose place anybody
	 * may have made the file: no link, and our own.
	 */
	RS_MACHINE_WORD_GUEST,
};

/*
 * Opens a file that is to be such a memory. -ENOTSUP: it is no regular file, or its size cannot be
 * that of a memory; -ELOOP: it is a link; -EACCES: also if it is not our own. Others: as open().
 */
int rs_machine_open_memory(const char *path, enum rs_machine_word word, int *fd,
			   struct rs_error *err);

/*
 * The file of a QEMU that may have put another one in its place before it was opened. -ENOTSUP: it
 * does not belong to `user`, whose process that is. `path`: what it has to be, unless that was
 * removed while QEMU had it; NULL: unknown.
 */
int rs_machine_check_memory(int fd, uid_t user, const char *path, struct rs_error *err);

/*
 * Takes the regions in `fd` up, or lays them out. Takes `fd` over on success. `lines` (of char *)
 * gets what people are to know. *region is the kernel's, mapped.
 *
 * If agents are at work in a layout that does not fit the wish, they are asked to leave, and this
 * waits for some seconds. If one does not, the layout stays as it is, and a line says so; if
 * `anew`, that is -EBUSY. Other errors: -EBUSY another session has the memory; -EPROTO it holds
 * something else, or the regions of another version; -ENOSPC it is too small.
 */
int rs_machine_take_memory(int fd, const struct rs_machine_memory_wish *wish,
			   struct rs_regions **regions, RsTraceRegion **region, GPtrArray *lines,
			   struct rs_error *err);

#endif
