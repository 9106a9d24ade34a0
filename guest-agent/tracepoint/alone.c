/* SPDX-License-Identifier: MIT */
/* A region without a host. What the host would write is written here. */
#include "alone.h"

#include "core.h"

#define EVENTS 1024u /* ids */
#define PROVIDERS 64u
#define DESC_BYTES 131072u /* of descriptors */
#define NAMES 128u         /* buckets */

/* The region that was laid out last. */
static void *region;

struct array {
	uint32_t section, stride, count;
};

/*
 * The sections in their order. Those of the host come first. Returns the region's size. `header`
 * NULL: only that.
 */
static uint64_t lay_out(struct rs_region_header *header, uint32_t cpus, uint32_t pages)
{
	const struct array arrays[] = {
		{RS_SEC_HEADER, sizeof(struct rs_region_header), 1},
		{RS_SEC_CONTROL, sizeof(struct rs_control), 1},
		{RS_SEC_EVENT_CTL, sizeof(uint32_t), EVENTS},
		{RS_SEC_RING_CTL, sizeof(struct rs_ring_ctl), cpus},
		{RS_SEC_GUEST_INFO, sizeof(struct rs_guest_info), 1},
		{RS_SEC_PROVIDERS, sizeof(struct rs_provider), PROVIDERS},
		{RS_SEC_EVENTS, 1, DESC_BYTES},
		{RS_SEC_CMDLINE, sizeof(struct rs_cmdline_bucket), NAMES},
		{RS_SEC_RING_STATE, sizeof(struct rs_ring_state), cpus},
		{RS_SEC_RINGS, RS_RING_PAGE_MIN, cpus * pages},
	};
	uint64_t at = 0;

	for (uint32_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		uint64_t size = (uint64_t)arrays[i].stride * arrays[i].count;
		uint64_t start;

		if (arrays[i].section == RS_SEC_FIRST_GUEST)
			at = RS_ALIGN_UP(at, (uint64_t)RS_REGION_ALIGN);
		start = at;
		size = RS_ALIGN_UP(size, (uint64_t)RS_SECTION_ALIGN);
		at += size;
		if (!header)
			continue;
		if (arrays[i].section == RS_SEC_FIRST_GUEST)
			header->guest_offset = start;
		header->section[arrays[i].section] = (struct rs_section){
			.offset = start,
			.size = size,
			.stride = arrays[i].stride,
			.count = arrays[i].count,
		};
	}
	at = RS_ALIGN_UP(at, (uint64_t)RS_REGION_ALIGN);
	if (header)
		header->region_size = at;
	return at;
}

uint64_t rs_alone_size(uint32_t cpus, uint32_t pages)
{
	return lay_out(NULL, cpus, pages);
}

static void fill(struct rs_region_header *header, uint32_t cpus, uint32_t pages)
{
	struct rs_control *control;

	lay_out(header, cpus, pages);
	header->abi_major = RS_ABI_MAJOR;
	header->abi_minor = RS_ABI_MINOR;
	header->header_size = offsetof(struct rs_region_header, section);
	header->section_offset = offsetof(struct rs_region_header, section);
	header->section_count = RS_SEC_COUNT;
	header->section_stride = sizeof(struct rs_section);
	header->session_id = rs_core_time() | 1;
	header->ring_count = cpus;
	header->ring_pages = pages;
	header->ring_page_size = RS_RING_PAGE_MIN;
	header->ring_mode = RS_MODE_OVERWRITE;
	header->event_capacity = EVENTS;
	control = (void *)((uint8_t *)header + header->section[RS_SEC_CONTROL].offset);
	control->flags = RS_CONTROL_SELF_PATCH;
	/* Pairs with the agent's acquire load of it. */
	rs_store_release(&header->magic, RS_REGION_MAGIC);
}

int rs_alone_lay_out(void *memory, uint64_t size, uint32_t cpus)
{
	uint32_t pages = RS_RING_PAGES_MAX;

	if ((uintptr_t)memory % 64 || !cpus || cpus > RS_MAX_CPUS)
		return -RS_EINVAL;
	if (rs_agent_active() && rs_core.region == memory)
		return -RS_EBUSY;
	while (pages >= RS_RING_PAGES_MIN && rs_alone_size(cpus, pages) > size)
		pages /= 2;
	if (pages < RS_RING_PAGES_MIN)
		return -RS_ENOSPC;
	__builtin_memset(memory, 0, rs_alone_size(cpus, pages));
	fill(memory, cpus, pages);
	region = memory;
	return 0;
}

bool rs_alone(void)
{
	return rs_agent_active() && rs_core.region == region;
}

void rs_alone_enable(uint32_t id, bool on)
{
	struct rs_control *control = rs_core_section(RS_SEC_CONTROL);
	uint32_t *words = rs_core_section(RS_SEC_EVENT_CTL);

	if (id >= EVENTS)
		return;
	rs_store(&words[id], on ? RS_EVENT_ENABLED : 0);
	/* Release: pairs with the acquire of who applies it. */
	rs_shared_add32(&control->generation, 1);
	if (!rs_callback_runs())
		rs_agent_apply_control();
}
