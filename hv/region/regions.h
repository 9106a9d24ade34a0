/* SPDX-License-Identifier: MIT */
/*
 * A piece of shared memory with a directory and the regions in it, as the host lays it out: see
 * <ringside/directory.h>. The machine factory and tests make it. A session follows who takes and
 * leaves its regions.
 *
 * Thread: one at a time. Trust: the guest writes the claims, and in QEMU it can write all of the
 * memory. The host keeps private copies of all that it laid out. It reads only the claims from the
 * shared memory.
 */
#ifndef RS_HV_REGION_REGIONS_H
#define RS_HV_REGION_REGIONS_H

#include "region/layout.h"
#include <ringside/directory.h>

struct rs_regions;

/* `count` equal regions. */
struct rs_regions_run {
	const struct rs_region_config *config; /* copied */
	uint32_t kind;                         /* RS_SOURCE_* */
	uint32_t count;
};

/*
 * Lays out `n` runs in `fd`, whose old content is discarded, or in a new memfd if fd is -1. Takes
 * `fd` over on success. Memory that nobody touches is not taken. `power_of_two`: rounds the whole
 * size up, as a PCI BAR needs it. If a configuration has RS_CONTROL_HELD, takes that lock.
 * -EINVAL: a configuration is impossible, or there are too many regions. Others: as the system
 * calls give them.
 */
int rs_regions_create(const struct rs_regions_run *runs, size_t n, bool power_of_two, int fd,
		      struct rs_regions **out, struct rs_error *err);

/*
 * The same in the first `size` bytes of a file whose size stays, since others have it mapped: a
 * device's memory. No agent may be at work there. -ENOSPC: the regions do not fit.
 */
int rs_regions_create_in(int fd, uint64_t size, const struct rs_regions_run *runs, size_t n,
			 struct rs_regions **out, struct rs_error *err);

/*
 * Takes the lock that keeps other sessions away from a memory that outlives them, and returns a
 * descriptor that holds it until it is closed. -EBUSY: another session has it. It is the byte of
 * RS_CONTROL_HELD. But such a memory does not have this flag: its agents live on without us, and
 * those in a guest could not see the lock.
 */
int rs_regions_lock(int fd, struct rs_error *err);
/* The lock is kept as long as `regions`. */
void rs_regions_keep_lock(struct rs_regions *regions, int lock);

/*
 * Asks the agents in all regions to leave them (RS_CONTROL_LEAVE), or takes that back. Their claims
 * say when they have: see rs_regions_owner().
 */
void rs_regions_ask_to_leave(const struct rs_regions *regions, bool on);

/*
 * Opens the memory that an earlier session laid out in `fd`. Takes `fd` over on success. -EPROTO:
 * there is no directory, or it contradicts itself.
 */
int rs_regions_open(int fd, struct rs_regions **out, struct rs_error *err);
/*
 * Regions that were mapped from it stay valid. The lock of RS_CONTROL_HELD is released. NULL is
 * accepted.
 */
void rs_regions_free(struct rs_regions *regions);

/* The memory's file descriptor, which `regions` keeps, and its size in bytes. */
int rs_regions_fd(const struct rs_regions *regions);
uint64_t rs_regions_size(const struct rs_regions *regions);

uint32_t rs_regions_count(const struct rs_regions *regions);
uint32_t rs_regions_kind(const struct rs_regions *regions, uint32_t index);

/* Maps region `index`, writable, as it was laid out. The caller frees it. */
int rs_regions_map(const struct rs_regions *regions, uint32_t index, RsTraceRegion **out,
		   struct rs_error *err);

/* Who has the region. False: nobody. RS_CLAIM_LEFT: its owner has left it. */
bool rs_regions_owner(const struct rs_regions *regions, uint32_t index, uint32_t *owner);
/*
 * The claim word with which `owner` has the region. It is valid until the region is laid out anew.
 */
uint64_t rs_regions_claim(const struct rs_regions *regions, uint32_t index, uint32_t owner);
/*
 * The claim word in the shared memory. A forked child writes its own claim there before it executes
 * a program, where it can call nothing here.
 */
uint64_t *rs_regions_claim_word(const struct rs_regions *regions, uint32_t index);
/* Agents that found no region to take, as they say. */
uint64_t rs_regions_turned_away(const struct rs_regions *regions);
/* Marks the region as left, if somebody has it. */
void rs_regions_leave(const struct rs_regions *regions, uint32_t index);

/*
 * Whether a process on this host still has the region mapped. An agent holds an open file
 * description lock on the region's first byte, and forked children share the lock. It is released
 * when the last of these processes has ended or unmapped the region. Always false for processes in
 * a guest: the host sees no locks of theirs.
 */
bool rs_regions_held(const struct rs_regions *regions, uint32_t index);
/*
 * Calls rs_regions_leave() if no process on this host has the region mapped, and returns whether it
 * did. No process can take the region in between.
 */
bool rs_regions_leave_unheld(const struct rs_regions *regions, uint32_t index);

/*
 * Lays a region that was left out anew: its bytes become zero, it gets another session id, and its
 * generation grows. So the next agent can take it. A reader that has it mapped finds the other
 * session id.
 */
int rs_regions_renew(struct rs_regions *regions, uint32_t index, struct rs_error *err);

/*
 * As rs_region_set_ring_mode(), of all regions, also of those that nobody has; and each that is
 * laid out anew has this mode. Others: as mmap() gives them; then some regions have it.
 */
int rs_regions_set_ring_mode(struct rs_regions *regions, uint32_t mode, struct rs_error *err);

/*
 * Makes a memory with one region, of kind KERNEL. The memory lives as long as the region, which the
 * caller frees.
 */
int rs_region_create(const struct rs_region_config *config, RsTraceRegion **out,
		     struct rs_error *err);

/*
 * The mode of the region's rings: RS_MODE_*. Its agent follows if it said RS_GUEST_RING_MODE.
 * Before RS_MODE_DROP, rs_ring_ctl.consumed of each ring is a position that was read.
 */
void rs_region_set_ring_mode(const RsTraceRegion *region, uint32_t mode);

/* A read-only file descriptor of the region's memory, for observers. The caller closes it. */
int rs_region_reopen_readonly(const RsTraceRegion *region, int *fd, struct rs_error *err);

#endif
