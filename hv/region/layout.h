/* SPDX-License-Identifier: MIT */
/*
 * Lays out one region: its header, and the place and size of each section. rs-trace-region.h
 * describes a region that exists. regions.h describes the memory that holds it.
 *
 * Any thread. The configuration is trusted.
 */
#ifndef RS_HV_REGION_LAYOUT_H
#define RS_HV_REGION_LAYOUT_H

#include "base/error.h"
#include <rs-trace-region.h>
#include <stdbool.h>

struct rs_region_config {
	uint32_t vcpus;          /* rings, 1..RS_MAX_CPUS */
	uint64_t ring_bytes;     /* per vCPU, pages included; rounded up to a power of two */
	uint64_t ring_max;       /* what ring_bytes may become, likewise; 0: it stays as it is */
	uint32_t ring_page_size; /* 0: RS_RING_PAGE_MIN */
	uint32_t ring_mode;      /* RS_MODE_* */
	uint32_t event_capacity; /* 0: 4096 */
	uint32_t filter_bytes;   /* bytes for filters; 0: 1 MiB */
	uint32_t desc_bytes;     /* bytes for descriptors of events; 0: 2 MiB */
	uint32_t providers;      /* 0: 256 */
	uint32_t names;          /* buckets of names of tasks, a power of two; 0: 512 */
	uint32_t epochs;         /* of the clock that are kept; 0: 1024 */
	uint32_t requests;       /* slots; 0: one for each vCPU, and 16 at least */
	uint32_t control_flags;  /* RS_CONTROL_*, set from the start */
	uint32_t hcall_channel;  /* RS_CHANNEL_* */
	uint64_t hcall_addr;
	uint32_t doorbell_channel;
	uint64_t doorbell_addr;
	uint64_t origin_ns; /* CLOCK_MONOTONIC where trace times are 0; 0: now */
};

/* The smallest ring_bytes that is accepted for a page size in bytes. */
uint64_t rs_region_min_ring_bytes(uint32_t ring_page_size);
/* -EINVAL: a ring of so many bytes cannot be had. */
int rs_region_check_ring_bytes(uint64_t bytes, uint32_t ring_page_size, struct rs_error *err);

/*
 * Fills in `header`, with a new session id. -EINVAL: a size or mode is impossible. The message says
 * which one, and what is possible.
 */
int rs_region_lay_out(const struct rs_region_config *config, struct rs_region_header *header,
		      struct rs_error *err);

/* Writes a region with that header to `map`, where all bytes are zero. Writes the magic last. */
void rs_region_write(uint8_t *map, const struct rs_region_header *header, uint32_t control_flags);

/* The next power of two; `n` itself if it is one. */
uint64_t rs_region_round_up(uint64_t n);
/* A random number for a new region or directory. -errno: the system has none. */
int rs_region_new_id(uint64_t *id, struct rs_error *err);

#endif
