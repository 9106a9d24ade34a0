/* SPDX-License-Identifier: MIT */
/*
 * A piece of shared memory with a directory and the regions in it, as the host lays it out: see
 * <ringside/directory.h>. Made by the machine factory and by tests; a session follows who takes and
 * leaves its regions.
 *
 * Thread: one. Trust: claims are guest-written, and in QEMU all of it is. What was laid out is kept
 * in private copies; of the shared memory only the claims are read.
 */
#ifndef RS_HV_REGION_REGIONS_H
#define RS_HV_REGION_REGIONS_H

#include "region/layout.h"
#include <ringside/directory.h>

struct rs_regions;

/* `count` regions alike. */
struct rs_regions_run {
	const struct rs_region_config *config; /* copied */
	uint32_t kind;                         /* RS_SOURCE_* */
	uint32_t count;
};

/*
 * Lays out `n` runs in `fd` (taken over on success; its old content is discarded), or in a new
 * memfd when fd is -1. Memory that nobody touches is not taken. `power_of_two`: rounds the whole
 * up, as a PCI BAR wants it. -EINVAL: a configuration is impossible, or there are too many regions.
 */
int rs_regions_create(const struct rs_regions_run *runs, size_t n, bool power_of_two, int fd,
		      struct rs_regions **out, struct rs_error *err);

/*
 * What an earlier session has laid out in `fd`, which is taken over on success. -EPROTO: it is
 * none, or contradicts itself.
 */
int rs_regions_open(int fd, struct rs_regions **out, struct rs_error *err);
/* Regions that were mapped out of it stay. NULL is accepted. */
void rs_regions_free(struct rs_regions *regions);

/* The memory's descriptor, which stays ours, and its size in bytes. */
int rs_regions_fd(const struct rs_regions *regions);
uint64_t rs_regions_size(const struct rs_regions *regions);

uint32_t rs_regions_count(const struct rs_regions *regions);
uint32_t rs_regions_kind(const struct rs_regions *regions, uint32_t index);

/* Maps one, writable, as it was laid out; the caller frees it. */
int rs_regions_map(const struct rs_regions *regions, uint32_t index, RsTraceRegion **out,
		   struct rs_error *err);

/* Who has it. False: nobody. RS_CLAIM_LEFT: it has been left. */
bool rs_regions_owner(const struct rs_regions *regions, uint32_t index, uint32_t *owner);
/* The claim of `owner`, as it stands until the region is given anew. */
uint64_t rs_regions_claim(const struct rs_regions *regions, uint32_t index, uint32_t owner);
/* Where the claim lies, for who learns in no position to call us to whom it is given. */
uint64_t *rs_regions_claim_word(const struct rs_regions *regions, uint32_t index);
/* Says that its owner is gone, unless somebody has said it. */
void rs_regions_leave(const struct rs_regions *regions, uint32_t index);

/*
 * Whether a process of this machine has it mapped, or a child that it forked: agents hold an open
 * file description lock on the region's first byte. It goes with the last of them, however they
 * end. False as well for memory that no process of this machine has open, such as a guest's.
 */
bool rs_regions_held(const struct rs_regions *regions, uint32_t index);
/* rs_regions_leave() if nobody holds it, and whether that is so. Nobody comes in between. */
bool rs_regions_leave_unheld(const struct rs_regions *regions, uint32_t index);

/*
 * Gives a region that was left to the next one: its bytes read as zero, it is laid out anew with
 * another session id, and its generation grows. Who has it mapped finds that session id.
 */
int rs_regions_renew(struct rs_regions *regions, uint32_t index, struct rs_error *err);

/* A memory with one region, of kind KERNEL; the memory lives as long as the region. */
int rs_region_create(const struct rs_region_config *config, RsTraceRegion **out,
		     struct rs_error *err);

/* A read-only descriptor of the same memory, for observers; the caller closes it. */
int rs_region_reopen_readonly(const RsTraceRegion *region, int *fd, struct rs_error *err);

#endif
