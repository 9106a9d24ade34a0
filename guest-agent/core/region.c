/* SPDX-License-Identifier: MIT */
/* Checks a region header before the agent relies on any of it. */
#include "core.h"

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* Sections do not overlap, and each lies within its half of the region. */
static bool sections_fit(const struct rs_region_header *header)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < RS_SEC_COUNT; i++) {
		const struct rs_section *section = &header->section[i];

		if (!section->size)
			continue;
		if (section->offset % RS_PAGE_SIZE || section->offset < end ||
		    section->offset > header->region_size ||
		    section->size > header->region_size - section->offset)
			return false;
		end = section->offset + section->size;
		if (i < RS_SEC_GUEST_INFO ? end > header->guest_offset
					  : section->offset < header->guest_offset)
			return false;
	}
	return true;
}

static bool room_for(const struct rs_region_header *header, uint32_t section, uint64_t count,
		     uint64_t size)
{
	return header->section[section].size >= count * size;
}

int rs_region_check(const struct rs_region_header *header, uint64_t mapped)
{
	uint64_t rings = header->ring_count;

	if (header->magic != RS_REGION_MAGIC)
		return RS_AGENT_NO_REGION;
	if (header->abi_major != RS_ABI_MAJOR)
		return RS_AGENT_BAD_ABI;
	if (header->header_size < sizeof(*header) || header->region_size > mapped ||
	    header->guest_offset % RS_PAGE_SIZE || header->guest_offset > header->region_size)
		return RS_AGENT_BAD_LAYOUT;
	if (!rings || rings > RS_MAX_CPUS || !power_of_two(header->ring_pages) ||
	    header->ring_pages < RS_RING_PAGES_MIN || header->ring_pages > RS_RING_PAGES_MAX ||
	    !power_of_two(header->ring_page_size) || header->ring_page_size < RS_RING_PAGE_MIN ||
	    header->ring_page_size > RS_RING_PAGE_MAX || header->ring_mode > RS_MODE_DROP)
		return RS_AGENT_BAD_LAYOUT;
	if (header->event_capacity > RS_MAX_EVENTS ||
	    (header->cmdline_buckets && !power_of_two(header->cmdline_buckets)))
		return RS_AGENT_BAD_LAYOUT;
	if (!sections_fit(header))
		return RS_AGENT_BAD_LAYOUT;
	if (!room_for(header, RS_SEC_CONTROL, 1, sizeof(struct rs_control)) ||
	    !room_for(header, RS_SEC_EVENT_CTL, header->event_capacity, sizeof(uint32_t)) ||
	    header->event_capacity <= RS_FIRST_EVENT_ID ||
	    !room_for(header, RS_SEC_RING_CTL, rings, sizeof(struct rs_ring_ctl)) ||
	    !room_for(header, RS_SEC_GUEST_INFO, 1, sizeof(struct rs_guest_info)) ||
	    !room_for(header, RS_SEC_PROVIDERS, header->provider_capacity,
		      sizeof(struct rs_provider)) ||
	    !room_for(header, RS_SEC_CMDLINE, header->cmdline_buckets,
		      sizeof(struct rs_cmdline_bucket)) ||
	    !room_for(header, RS_SEC_RING_STATE, rings, sizeof(struct rs_ring_state)) ||
	    !room_for(header, RS_SEC_RINGS, rings * header->ring_pages, header->ring_page_size))
		return RS_AGENT_NO_ROOM;
	if (header->hcall_channel != RS_CHANNEL_NONE &&
	    (!room_for(header, RS_SEC_REQUEST, rings, sizeof(struct rs_hcall_request)) ||
	     !room_for(header, RS_SEC_RESPONSE, rings, sizeof(struct rs_hcall_response))))
		return RS_AGENT_NO_ROOM;
	return 0;
}
