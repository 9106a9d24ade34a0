/* SPDX-License-Identifier: MIT */
/* Checks a region header before the agent relies on any of it. */
#include "core.h"

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* Sections that the agent uses; `optional` ones may be missing. */
static const struct {
	uint8_t number;
	uint8_t optional;
	uint32_t stride; /* at least */
} wanted[] = {
	{RS_SEC_CONTROL, 0, sizeof(struct rs_control)},
	{RS_SEC_EVENT_CTL, 0, sizeof(uint32_t)},
	{RS_SEC_FILTERS, 1, 1},
	{RS_SEC_RING_CTL, 0, sizeof(struct rs_ring_ctl)},
	{RS_SEC_RESPONSE, 1, sizeof(struct rs_hcall_response)},
	{RS_SEC_GUEST_INFO, 0, sizeof(struct rs_guest_info)},
	{RS_SEC_PROVIDERS, 0, sizeof(struct rs_provider)},
	{RS_SEC_EVENTS, 0, 1},
	{RS_SEC_CMDLINE, 1, sizeof(struct rs_cmdline_bucket)},
	{RS_SEC_REQUEST, 1, sizeof(struct rs_hcall_request)},
	{RS_SEC_RING_STATE, 0, sizeof(struct rs_ring_state)},
	{RS_SEC_RINGS, 0, 1},
};
#define WANTED (sizeof(wanted) / sizeof(wanted[0]))

static bool apart(const struct rs_section *a, const struct rs_section *b)
{
	return a->offset + a->size <= b->offset || b->offset + b->size <= a->offset;
}

/* Within the region and within its half of it, with room for all its elements. */
static bool section_fits(const struct rs_region_header *header, uint32_t number)
{
	const struct rs_section *section = &header->section[number];

	if (section->offset % RS_SECTION_ALIGN || section->stride % 8 > 4 || !section->stride ||
	    section->offset < sizeof(*header) || section->offset > header->region_size ||
	    section->size > header->region_size - section->offset ||
	    (uint64_t)section->count * section->stride > section->size)
		return false;
	if (number < RS_SEC_FIRST_GUEST)
		return section->offset + section->size <= header->guest_offset;
	return section->offset >= header->guest_offset;
}

static int check_sections(const struct rs_region_header *header)
{
	for (uint32_t i = 0; i < WANTED; i++) {
		const struct rs_section *section = &header->section[wanted[i].number];

		if (!section->size) {
			if (!wanted[i].optional)
				return RS_AGENT_NO_ROOM;
			continue;
		}
		if (section->stride < wanted[i].stride || !section_fits(header, wanted[i].number))
			return RS_AGENT_BAD_LAYOUT;
		for (uint32_t k = 0; k < i; k++) {
			const struct rs_section *other = &header->section[wanted[k].number];

			if (other->size && !apart(section, other))
				return RS_AGENT_BAD_LAYOUT;
		}
	}
	return 0;
}

static bool has(const struct rs_region_header *header, uint32_t section, uint64_t count)
{
	return header->section[section].count >= count;
}

static int check_counts(const struct rs_region_header *header)
{
	uint64_t rings = header->ring_count;
	uint32_t names = header->section[RS_SEC_CMDLINE].count;

	if (names && !power_of_two(names))
		return RS_AGENT_BAD_LAYOUT;
	if (!has(header, RS_SEC_CONTROL, 1) || !has(header, RS_SEC_GUEST_INFO, 1) ||
	    !has(header, RS_SEC_EVENT_CTL, header->event_capacity) ||
	    header->section[RS_SEC_EVENT_CTL].stride != sizeof(uint32_t) ||
	    header->event_capacity <= RS_FIRST_EVENT_ID || !has(header, RS_SEC_RING_CTL, rings) ||
	    !has(header, RS_SEC_RING_STATE, rings) ||
	    header->section[RS_SEC_RINGS].size <
		    rings * header->ring_pages * header->ring_page_size)
		return RS_AGENT_NO_ROOM;
	if (header->hcall_channel != RS_CHANNEL_NONE &&
	    (!has(header, RS_SEC_REQUEST, 1) ||
	     !has(header, RS_SEC_RESPONSE, header->section[RS_SEC_REQUEST].count)))
		return RS_AGENT_NO_ROOM;
	return 0;
}

int rs_region_check(const struct rs_region_header *header, uint64_t mapped)
{
	uint64_t rings = header->ring_count;
	int err;

	if (header->magic != RS_REGION_MAGIC)
		return RS_AGENT_NO_REGION;
	if (header->abi_major != RS_ABI_MAJOR || header->features & RS_FEATURES_REQUIRED)
		return RS_AGENT_BAD_ABI;
	if (header->header_size < sizeof(*header) || header->region_size > mapped ||
	    header->section_stride != sizeof(struct rs_section) ||
	    header->section_count < RS_SEC_COUNT || header->guest_offset % RS_SECTION_ALIGN ||
	    header->guest_offset > header->region_size)
		return RS_AGENT_BAD_LAYOUT;
	if (!rings || rings > RS_MAX_CPUS || !power_of_two(header->ring_pages) ||
	    header->ring_pages < RS_RING_PAGES_MIN || header->ring_pages > RS_RING_PAGES_MAX ||
	    !power_of_two(header->ring_page_size) || header->ring_page_size < RS_RING_PAGE_MIN ||
	    header->ring_page_size > RS_RING_PAGE_MAX || header->ring_mode > RS_MODE_DROP ||
	    header->event_capacity > RS_MAX_EVENTS)
		return RS_AGENT_BAD_LAYOUT;
	err = check_sections(header);
	return err ? err : check_counts(header);
}
