/* SPDX-License-Identifier: MIT */
/*
 * The region as the host holds it: laid out by a session (rs_region_create), or opened by an
 * observer that was handed its descriptor (rs_region_open). Layout: <ringside/region.h>.
 *
 * Trust: everything at or above guest_offset is hostile and changes at any time. The host-written part is
 * hostile too for an observer, and in QEMU the guest can write all of it; so whoever uses a region goes by
 * `header`, a private copy that was checked once, and never reads the shared one again.
 *
 * Threads: a region is immutable after creation; the memory behind it is shared with the guest.
 */
#ifndef RS_HV_RING_REGION_H
#define RS_HV_RING_REGION_H

#include "base/error.h"
#include <ringside/control.h>
#include <ringside/descriptor.h>
#include <ringside/region.h>
#include <ringside/ring.h>
#include <sys/types.h>

struct rs_region {
	struct rs_region_header header; /* private, checked copy */
	uint8_t *map;                   /* `size` bytes */
	size_t size;
	int fd;        /* owned */
	bool writable; /* false: mapped read-only, for observers */
};

struct rs_region_config {
	uint32_t vcpus;          /* rings, 1..RS_MAX_CPUS */
	uint64_t ring_bytes;     /* per vCPU, pages included; rounded up to a power of two */
	uint32_t ring_page_size; /* 0: RS_RING_PAGE_MIN */
	uint32_t ring_mode;      /* RS_MODE_* */
	uint32_t event_capacity; /* 0: 4096 */
	bool power_of_two;       /* round the whole up, as a PCI BAR wants it */
	uint32_t hcall_channel;  /* RS_CHANNEL_* */
	uint64_t hcall_addr;
	uint32_t doorbell_channel;
	uint64_t doorbell_addr;
};

/* The smallest ring_bytes that are accepted for a page size. */
uint64_t rs_region_min_ring_bytes(uint32_t ring_page_size);

/*
 * Lays out a region in `fd` (taken over; its old content is discarded), or in a new memfd when
 * fd is -1. -EINVAL: a size or mode is impossible; the message says which and what would do.
 */
int rs_region_create(const struct rs_region_config *config, int fd, struct rs_region **out,
		     struct rs_error *err);

/* Opens a laid-out region from `fd` (taken over on success). -EPROTO: no region, another ABI version, or a
 * header that contradicts itself. */
int rs_region_open(int fd, bool writable, struct rs_region **out, struct rs_error *err);

/* Checks a header against the size of what it heads; used by rs_region_open and the fuzzers. */
int rs_region_check_header(const struct rs_region_header *header, uint64_t size,
			   struct rs_error *err);

void rs_region_destroy(struct rs_region *region);

/* A section's memory and size in bytes; NULL and 0 when the region has none. */
void *rs_region_section(const struct rs_region *region, uint32_t section, size_t *size);

/* A read-only descriptor of the same memory, for observers; the caller closes it. */
int rs_region_reopen_readonly(const struct rs_region *region, int *fd, struct rs_error *err);

/*
 * A private copy of what the guest says of itself, with both strings terminated and every count
 * cut to what the region can hold. -EAGAIN: no agent has said anything yet. -EPROTO: an agent of another ABI.
 */
int rs_region_guest_info(const struct rs_region *region, struct rs_guest_info *out,
			 struct rs_error *err);

/* A private copy of `bytes` of guest memory in a section, from `offset`; cut at its end. Returns the count. */
size_t rs_region_copy(const struct rs_region *region, uint32_t section, size_t offset, void *out,
		      size_t bytes);

#endif
