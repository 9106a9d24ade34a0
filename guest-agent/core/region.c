/* SPDX-License-Identifier: MIT */
/* Checks a region header before the agent relies on any of it. */
#include "core.h"

#include <ringside/hypercall.h>

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

/* Sections that the agent uses; `optional` ones may be missing. */
static const struct {
	uint8_t number;
	uint8_t optional;
	uint32_t least; /* bytes of an element: see ringside/grow.h */
} wanted[] = {
	{RS_SEC_CONTROL, 0, RS_CONTROL_MIN_SIZE},
	{RS_SEC_EVENT_CTL, 0, sizeof(uint32_t)},
	{RS_SEC_FILTERS, 1, 1},
	{RS_SEC_RING_CTL, 0, RS_RING_CTL_MIN_SIZE},
	{RS_SEC_RESPONSE, 1, RS_HCALL_RESPONSE_MIN_SIZE},
	{RS_SEC_NATIVE, 1, sizeof(uint32_t)},
	{RS_SEC_GUEST_INFO, 0, RS_GUEST_INFO_MIN_SIZE},
	{RS_SEC_PROVIDERS, 0, RS_PROVIDER_MIN_SIZE},
	{RS_SEC_EVENTS, 0, 1},
	{RS_SEC_CMDLINE, 1, RS_CMDLINE_BUCKET_MIN_SIZE},
	{RS_SEC_REQUEST, 1, RS_HCALL_REQUEST_MIN_SIZE},
	{RS_SEC_RING_STATE, 0, RS_RING_STATE_MIN_SIZE},
	{RS_SEC_RINGS, 0, RS_RING_PAGE_MIN},
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

	if (section->offset % RS_SECTION_ALIGN || !section->offset ||
	    section->offset > header->region_size ||
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
				return -RS_ENOSPC;
			continue;
		}
		if (!rs_stride_fits(section->stride, wanted[i].least) ||
		    !section_fits(header, wanted[i].number))
			return -RS_EBADMSG;
		for (uint32_t k = 0; k < i; k++) {
			const struct rs_section *other = &header->section[wanted[k].number];

			if (other->size && !apart(section, other))
				return -RS_EBADMSG;
		}
	}
	return 0;
}

static bool has(const struct rs_region_header *header, uint32_t section, uint64_t count)
{
	return header->section[section].count >= count;
}

/*
 * Only what is there counts: a later host may lay out more rings or ids than this version knows of.
 */
static int check_counts(const struct rs_region_header *header)
{
	uint64_t rings = header->ring_count;
	uint32_t names = header->section[RS_SEC_CMDLINE].count;

	if (names && (!power_of_two(names) ||
		      header->section[RS_SEC_CMDLINE].stride % RS_CMDLINE_STRIDE_ALIGN))
		return -RS_EBADMSG;
	if (header->section[RS_SEC_RINGS].stride != header->ring_page_size)
		return -RS_EBADMSG;
	if (!has(header, RS_SEC_CONTROL, 1) || !has(header, RS_SEC_GUEST_INFO, 1) ||
	    !has(header, RS_SEC_EVENT_CTL, header->event_capacity) ||
	    header->event_capacity <= RS_FIRST_EVENT_ID || !has(header, RS_SEC_RING_CTL, rings) ||
	    !has(header, RS_SEC_RING_STATE, rings) ||
	    header->section[RS_SEC_RINGS].size < rs_region_rings_size(header))
		return -RS_ENOSPC;
	if (header->hcall_channel != RS_CHANNEL_NONE &&
	    (!has(header, RS_SEC_REQUEST, 1) ||
	     !has(header, RS_SEC_RESPONSE, header->section[RS_SEC_REQUEST].count)))
		return -RS_ENOSPC;
	return 0;
}

static int check(const struct rs_region_header *header, uint64_t mapped)
{
	int err;

	if (header->region_size > mapped || header->guest_offset % RS_REGION_ALIGN)
		return -RS_EBADMSG;
	/* A ring's word has no bits for more pages, nor for larger ones. */
	if (!header->ring_count || !power_of_two(header->ring_pages) ||
	    header->ring_pages < RS_RING_PAGES_MIN || header->ring_pages > RS_RING_PAGES_MAX ||
	    !power_of_two(header->ring_page_size) || header->ring_page_size < RS_RING_PAGE_MIN ||
	    header->ring_page_size > RS_RING_PAGE_MAX || !rs_region_room_fits(header) ||
	    header->ring_mode > RS_MODE_DROP)
		return -RS_EBADMSG;
	err = check_sections(header);
	return err ? err : check_counts(header);
}

int rs_region_take(struct rs_region_header *out, const void *region, uint64_t mapped)
{
	bool fields;

	if (!region || mapped < RS_REGION_HEADER_MIN_SIZE)
		return -RS_ENODEV;
	/* Acquire: pairs with the host's release of the magic, which is its first field. */
	if (rs_load_acquire((const uint64_t *)region) != RS_REGION_MAGIC)
		return -RS_ENODEV;
	fields = rs_region_take_header(out, region, mapped);
	if (out->magic != RS_REGION_MAGIC)
		return -RS_ENODEV;
	if (out->abi_major != RS_ABI_MAJOR || out->features & RS_FEATURES_REQUIRED)
		return -RS_EPROTO;
	if (!fields || !rs_region_take_table(out, region, mapped))
		return -RS_EBADMSG;
	return check(out, mapped);
}

int rs_agent_region_flags(const void *region, uint64_t size, uint32_t *flags)
{
	static struct rs_region_header header; /* too large for a kernel's stack */
	static uint32_t busy;
	const struct rs_control *control;
	int err;

	while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		rs_core_relax();
	err = rs_region_take(&header, region, size);
	control = (const struct rs_control *)((const uint8_t *)region +
					      header.section[RS_SEC_CONTROL].offset);
	rs_store_release(&busy, 0);
	if (!err)
		*flags = rs_load(&control->flags);
	return err;
}
