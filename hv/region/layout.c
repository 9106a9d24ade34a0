/* SPDX-License-Identifier: MIT */
#include "region/layout.h"

#include <errno.h>
#include <ringside/atomic.h>
#include <ringside/cmdline.h>
#include <ringside/filter.h>
#include <ringside/hypercall.h>
#include <string.h>
#include <sys/random.h>

#define DEFAULT_EVENTS 4096u
#define PROVIDERS 256u
#define EPOCHS 1024u
#define MIN_REQUESTS 16u /* request slots: a request keeps its slot until it is answered */
#define CMDLINE_BUCKETS 512u
#define FILTER_BYTES (1u << 20)
#define DESC_BYTES (2u << 20)

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

uint64_t rs_region_round_up(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

int rs_region_new_id(uint64_t *id, struct rs_error *err)
{
	if (getrandom(id, sizeof(*id), 0) == sizeof(*id))
		return 0;
	return rs_error_set(err, errno, "no random numbers: %s", g_strerror(errno));
}

uint64_t rs_region_min_ring_bytes(uint32_t ring_page_size)
{
	return (uint64_t)RS_RING_PAGES_MIN * ring_page_size;
}

/* Of a ring. Up to RS_RING_PAGES_MAX are possible. */
static uint32_t pages_of(uint64_t ring_bytes, uint32_t page_size)
{
	uint64_t pages = ring_bytes / page_size + (ring_bytes % page_size != 0);

	return (uint32_t)rs_region_round_up(MIN(pages, 2ull * RS_RING_PAGES_MAX));
}

int rs_region_check_ring_bytes(uint64_t bytes, uint32_t page_size, struct rs_error *err)
{
	if (bytes < rs_region_min_ring_bytes(page_size))
		return rs_error_set(
			err, EINVAL,
			"ring of %" G_GUINT64_FORMAT
			" bytes is too small: at least %u pages of %u bytes (%" G_GUINT64_FORMAT
			") are needed",
			bytes, RS_RING_PAGES_MIN, page_size, rs_region_min_ring_bytes(page_size));
	if (pages_of(bytes, page_size) > RS_RING_PAGES_MAX)
		return rs_error_set(err, EINVAL,
				    "ring of %" G_GUINT64_FORMAT
				    " bytes is too large: at most %u pages of %u bytes",
				    bytes, RS_RING_PAGES_MAX, page_size);
	return 0;
}

static int check_config(const struct rs_region_config *config, uint32_t page_size,
			struct rs_error *err)
{
	int ret;

	if (config->vcpus < 1 || config->vcpus > RS_MAX_CPUS)
		return rs_error_set(err, EINVAL, "%u vCPUs: 1 to %u can be traced", config->vcpus,
				    RS_MAX_CPUS);
	if (!power_of_two(page_size) || page_size < RS_RING_PAGE_MIN ||
	    page_size > RS_RING_PAGE_MAX)
		return rs_error_set(err, EINVAL,
				    "ring page size %u: must be a power of two from %u to %u",
				    page_size, RS_RING_PAGE_MIN, RS_RING_PAGE_MAX);
	ret = rs_region_check_ring_bytes(config->ring_bytes, page_size, err);
	if (!ret && config->ring_max)
		ret = rs_region_check_ring_bytes(config->ring_max, page_size, err);
	if (ret)
		return ret;
	if (config->ring_max && config->ring_max < config->ring_bytes)
		return rs_error_set(err, EINVAL, "the rings are larger than they may become");
	if (config->ring_mode != RS_MODE_OVERWRITE && config->ring_mode != RS_MODE_DROP)
		return rs_error_set(err, EINVAL, "ring mode %u is unknown", config->ring_mode);
	if (config->event_capacity > RS_MAX_EVENTS)
		return rs_error_set(err, EINVAL, "%u events: at most %u", config->event_capacity,
				    RS_MAX_EVENTS);
	return 0;
}

struct array {
	uint32_t stride, count;
};

/*
 * The place of fields and table as this version writes them. A header in memory may come from
 * another version.
 */
static void place_table(struct rs_region_header *h)
{
	h->header_size = offsetof(struct rs_region_header, section);
	h->section_offset = offsetof(struct rs_region_header, section);
	h->section_count = RS_SEC_COUNT;
	h->section_stride = sizeof(struct rs_section);
}

static void lay_out(const struct rs_region_config *config, uint32_t page_size,
		    struct rs_region_header *h)
{
	uint32_t pages = pages_of(config->ring_bytes, page_size);
	uint32_t room = config->ring_max ? pages_of(config->ring_max, page_size) : 0;
	uint32_t events = config->event_capacity ? config->event_capacity : DEFAULT_EVENTS;
	uint32_t cpus = config->vcpus;
	uint32_t slots = config->requests ? config->requests : MAX(cpus, MIN_REQUESTS);
	const struct array arrays[RS_SEC_COUNT] = {
		[RS_SEC_HEADER] = {sizeof(struct rs_region_header), 1},
		[RS_SEC_CONTROL] = {sizeof(struct rs_control), 1},
		[RS_SEC_EVENT_CTL] = {sizeof(uint32_t), events},
		[RS_SEC_FILTERS] = {1, config->filter_bytes ? config->filter_bytes : FILTER_BYTES},
		[RS_SEC_RING_CTL] = {sizeof(struct rs_ring_ctl), cpus},
		[RS_SEC_RESPONSE] = {sizeof(struct rs_hcall_response), slots},
		[RS_SEC_CLOCK] = {sizeof(struct rs_clock_epoch),
				  config->epochs ? config->epochs : EPOCHS},
		[RS_SEC_NATIVE] = {sizeof(uint32_t), events},
		[RS_SEC_GUEST_INFO] = {sizeof(struct rs_guest_info), 1},
		[RS_SEC_PROVIDERS] = {sizeof(struct rs_provider),
				      config->providers ? config->providers : PROVIDERS},
		[RS_SEC_EVENTS] = {1, config->desc_bytes ? config->desc_bytes : DESC_BYTES},
		[RS_SEC_CMDLINE] = {sizeof(struct rs_cmdline_bucket),
				    config->names ? config->names : CMDLINE_BUCKETS},
		[RS_SEC_REQUEST] = {sizeof(struct rs_hcall_request), slots},
		[RS_SEC_RING_STATE] = {sizeof(struct rs_ring_state), cpus},
		[RS_SEC_RINGS] = {page_size, cpus * (pages + 2 * room)},
	};
	uint64_t at = 0;

	memset(h, 0, sizeof(*h));
	h->magic = RS_REGION_MAGIC;
	h->abi_major = RS_ABI_MAJOR;
	h->abi_minor = RS_ABI_MINOR;
	place_table(h);
	h->ring_count = cpus;
	h->ring_page_size = page_size;
	h->ring_pages = pages;
	h->ring_room = room;
	h->ring_mode = config->ring_mode;
	h->event_capacity = events;
	h->hcall_channel = config->hcall_channel;
	h->hcall_addr = config->hcall_addr;
	h->doorbell_channel = config->doorbell_channel;
	h->doorbell_addr = config->doorbell_addr;
	h->origin_ns =
		config->origin_ns ? config->origin_ns : (uint64_t)g_get_monotonic_time() * 1000;

	for (int i = 0; i < RS_SEC_COUNT; i++) {
		uint64_t size = (uint64_t)arrays[i].stride * arrays[i].count;

		if (i == RS_SEC_FIRST_GUEST)
			h->guest_offset = at = RS_ALIGN_UP(at, (uint64_t)RS_REGION_ALIGN);
		if (i == RS_SEC_RINGS)
			at = RS_ALIGN_UP(at, (uint64_t)page_size);
		if (!size)
			continue;
		h->section[i] = (struct rs_section){
			.offset = at,
			.size = RS_ALIGN_UP(size, (uint64_t)RS_SECTION_ALIGN),
			.stride = arrays[i].stride,
			.count = arrays[i].count,
		};
		at += h->section[i].size;
	}
	h->region_size = RS_ALIGN_UP(at, (uint64_t)RS_REGION_ALIGN);
}

int rs_region_lay_out(const struct rs_region_config *config, struct rs_region_header *header,
		      struct rs_error *err)
{
	uint32_t page_size = config->ring_page_size ? config->ring_page_size : RS_RING_PAGE_MIN;
	int ret = check_config(config, page_size, err);

	if (ret)
		return ret;
	lay_out(config, page_size, header);
	return rs_region_new_id(&header->session_id, err);
}

void rs_region_write(uint8_t *map, const struct rs_region_header *header, uint32_t control_flags)
{
	size_t magic = sizeof(header->magic);
	struct rs_control *control = (void *)(map + header->section[RS_SEC_CONTROL].offset);
	struct rs_region_header ours = *header;

	place_table(&ours);
	memcpy(map + magic, (const uint8_t *)&ours + magic, sizeof(ours) - magic);
	rs_store(&control->flags, control_flags);
	/* The magic last; pairs with the agent's acquire load of it. */
	rs_store_release((uint64_t *)map, header->magic);
}
