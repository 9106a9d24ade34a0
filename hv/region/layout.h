/* SPDX-License-Identifier: MIT */
/*
 * Lays out a region: the header and the size of each section. Called by whoever makes a target (the
 * machine factory, tests). What a region is, once it is there, is rs-trace-region.h's.
 */
#ifndef RS_HV_REGION_LAYOUT_H
#define RS_HV_REGION_LAYOUT_H

#include "base/error.h"
#include <rs-trace-region.h>
#include <stdbool.h>

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
	uint64_t origin_ns; /* CLOCK_MONOTONIC where trace times are 0; 0: now */
};

/* The smallest ring_bytes that are accepted for a page size. */
uint64_t rs_region_min_ring_bytes(uint32_t ring_page_size);

/*
 * Lays out a region in `fd` (taken over; its old content is discarded), or in a new memfd when
 * fd is -1. -EINVAL: a size or mode is impossible; the message says which and what would do.
 */
int rs_region_create(const struct rs_region_config *config, int fd, RsTraceRegion **out,
		     struct rs_error *err);

/* A read-only descriptor of the same memory, for observers; the caller closes it. */
int rs_region_reopen_readonly(const RsTraceRegion *region, int *fd, struct rs_error *err);

#endif
