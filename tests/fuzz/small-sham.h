/* SPDX-License-Identifier: MIT */
/*
 * A sham guest (unit/session/sham.h) for a target that needs one for each input. Its region has
 * room for little, and lies in memory of our own that is cleared and used again: to make, map and
 * unmap a file of the usual size takes longer than most inputs.
 */
#ifndef RS_TESTS_FUZZ_SMALL_SHAM_H
#define RS_TESTS_FUZZ_SMALL_SHAM_H

#include "../unit/session/sham.h"
#include "region/layout.h"

#include <ringside/record.h>
#include <stdlib.h>

#define RS_SMALL_SLOTS 4u     /* of requests */
#define RS_SMALL_PROVIDERS 8u /* slots */
#define RS_SMALL_ALIGN 64u    /* nobody checks the header, which is ours */
#define RS_SMALL_BYTES (256u << 10)

struct rs_small_memory {
	_Alignas(4096) uint8_t bytes[RS_SMALL_BYTES];
	size_t used; /* by the last guest in it, but for its rings */
	bool rings;  /* they are used, too */
};

/* As rs_region_lay_out() does it, but with tables of a few elements. */
static inline void rs_small_lay_out(struct rs_region_header *h)
{
	static const struct {
		uint32_t section, count;
	} few[] = {{RS_SEC_RESPONSE, RS_SMALL_SLOTS},
		   {RS_SEC_REQUEST, RS_SMALL_SLOTS},
		   {RS_SEC_PROVIDERS, RS_SMALL_PROVIDERS},
		   {RS_SEC_CLOCK, 64},
		   {RS_SEC_CMDLINE, 16},
		   {RS_SEC_EVENTS, 16384},
		   {RS_SEC_FILTERS, 8192}};
	uint64_t at = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(few); i++)
		h->section[few[i].section].count = few[i].count;
	for (uint32_t i = 0; i < RS_SEC_COUNT; i++) {
		struct rs_section *s = &h->section[i];

		if (i == RS_SEC_FIRST_GUEST)
			h->guest_offset = at;
		s->offset = s->size ? at : 0;
		s->size = RS_ALIGN_UP((uint64_t)s->stride * s->count, (uint64_t)RS_SMALL_ALIGN);
		at += s->size;
	}
	h->region_size = at;
}

/* To be freed with sham_free(), and before the memory is used again. */
static inline struct sham *rs_small_sham(struct rs_small_memory *memory, uint32_t cpus,
					 uint32_t hcall_channel)
{
	struct rs_region_config config = {.vcpus = cpus,
					  .ring_bytes = RS_RING_PAGES_MIN * RS_RING_PAGE_MIN,
					  .event_capacity = 96,
					  .hcall_channel = hcall_channel,
					  .origin_ns = 1};
	RsTraceRegion *region = g_new0(RsTraceRegion, 1);

	if (rs_region_lay_out(&config, &region->header, NULL))
		abort();
	rs_small_lay_out(&region->header);
	if (region->header.region_size > sizeof(memory->bytes))
		abort();
	region->header.session_id = 1;
	memset(memory->bytes, 0, memory->rings ? sizeof(memory->bytes) : memory->used);
	memory->used = region->header.section[RS_SEC_RINGS].offset;
	memory->rings = false;
	rs_region_write(memory->bytes, &region->header, 0);
	/* Whoever frees a region unmaps `size` bytes: none. */
	region->map = memory->bytes;
	region->fd = -1;
	region->writable = true;
	return sham_on(region, true);
}

#endif
