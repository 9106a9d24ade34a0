/* SPDX-License-Identifier: MIT */
/*
 * Chooses sizes for regions in a piece of memory that cannot grow: a device's BAR, or a file that
 * somebody else has made. It may be as small as 1 MiB. Tables become smaller together with the
 * memory, and the rings take what is left. Any thread.
 */
#ifndef RS_HV_REGION_FIT_H
#define RS_HV_REGION_FIT_H

#include "region/layout.h"

#define RS_FIT_USERS_DEFAULT UINT32_MAX
#define RS_FIT_MIN_BYTES (1ull << 20) /* of a memory that is used at all */

struct rs_fit_wish {
	uint64_t size;       /* bytes of the memory, a multiple of RS_REGION_ALIGN */
	uint32_t vcpus;      /* 1..RS_MAX_CPUS */
	uint64_t ring_bytes; /* of a vCPU; 0: what fits, up to 1 MiB */
	uint64_t ring_max;   /* what that may become while it runs; 0: it stays as it is */
	uint32_t users;      /* regions for processes; RS_FIT_USERS_DEFAULT: what fits, up to 4 */
};

struct rs_fit {
	/* Sizes are set, and the number of vCPUs. The caller fills in the rest. */
	struct rs_region_config main, user;
	uint32_t users; /* how many of `user` */
};

/*
 * -ENOSPC: it does not fit. The message says how much memory would be enough. -EINVAL: a number is
 * impossible.
 */
int rs_region_fit(const struct rs_fit_wish *wish, struct rs_fit *out, struct rs_error *err);

#endif
