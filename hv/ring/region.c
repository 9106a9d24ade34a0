/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "ring/region.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <ringside/atomic.h>
#include <ringside/cmdline.h>
#include <ringside/filter.h>
#include <ringside/hypercall.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_EVENTS 4096u
#define PROVIDERS 64u
#define CMDLINE_BUCKETS 512u
#define FILTER_BYTES (1u << 20)
#define DESCRIPTOR_BYTES (2u << 20)

static bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static uint64_t round_up_power_of_two(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

uint64_t rs_region_min_ring_bytes(uint32_t ring_page_size)
{
	return (uint64_t)RS_RING_PAGES_MIN * ring_page_size;
}

static int check_config(const struct rs_region_config *config, uint32_t page_size,
			struct rs_error *err)
{
	uint64_t pages;

	if (config->vcpus < 1 || config->vcpus > RS_MAX_CPUS)
		return rs_error_set(err, EINVAL, "%u vCPUs: 1 to %u can be traced", config->vcpus,
				    RS_MAX_CPUS);
	if (!power_of_two(page_size) || page_size < RS_RING_PAGE_MIN ||
	    page_size > RS_RING_PAGE_MAX)
		return rs_error_set(err, EINVAL,
				    "ring page size %u: must be a power of two from %u to %u",
				    page_size, RS_RING_PAGE_MIN, RS_RING_PAGE_MAX);
	if (config->ring_bytes < rs_region_min_ring_bytes(page_size))
		return rs_error_set(
			err, EINVAL,
			"ring of %" G_GUINT64_FORMAT
			" bytes is too small: at least %u pages of %u bytes (%" G_GUINT64_FORMAT
			") are needed",
			config->ring_bytes, RS_RING_PAGES_MIN, page_size,
			rs_region_min_ring_bytes(page_size));
	pages = (config->ring_bytes + page_size - 1) / page_size;
	if (pages > RS_RING_PAGES_MAX)
		return rs_error_set(err, EINVAL,
				    "ring of %" G_GUINT64_FORMAT
				    " bytes is too large: at most %u pages of %u bytes",
				    config->ring_bytes, RS_RING_PAGES_MAX, page_size);
	if (config->ring_mode != RS_MODE_OVERWRITE && config->ring_mode != RS_MODE_DROP)
		return rs_error_set(err, EINVAL, "ring mode %u is unknown", config->ring_mode);
	if (config->event_capacity > RS_MAX_EVENTS)
		return rs_error_set(err, EINVAL, "%u events: at most %u", config->event_capacity,
				    RS_MAX_EVENTS);
	return 0;
}

static void lay_out(const struct rs_region_config *config, uint32_t page_size,
		    struct rs_region_header *h)
{
	uint64_t sizes[RS_SEC_COUNT] = {0}, at = 0;

	memset(h, 0, sizeof(*h));
	h->magic = RS_REGION_MAGIC;
	h->abi_major = RS_ABI_MAJOR;
	h->abi_minor = RS_ABI_MINOR;
	h->header_size = sizeof(*h);
	h->ring_count = config->vcpus;
	h->ring_page_size = page_size;
	h->ring_pages =
		(uint32_t)round_up_power_of_two((config->ring_bytes + page_size - 1) / page_size);
	h->ring_mode = config->ring_mode;
	h->event_capacity = config->event_capacity ? config->event_capacity : DEFAULT_EVENTS;
	h->provider_capacity = PROVIDERS;
	h->cmdline_buckets = CMDLINE_BUCKETS;
	h->hcall_channel = config->hcall_channel;
	h->hcall_addr = config->hcall_addr;
	h->doorbell_channel = config->doorbell_channel;
	h->doorbell_addr = config->doorbell_addr;

	sizes[RS_SEC_HEADER] = sizeof(struct rs_region_header);
	sizes[RS_SEC_CONTROL] = sizeof(struct rs_control);
	sizes[RS_SEC_EVENT_CTL] = h->event_capacity * sizeof(uint32_t);
	sizes[RS_SEC_FILTERS] = FILTER_BYTES;
	sizes[RS_SEC_RING_CTL] = h->ring_count * sizeof(struct rs_ring_ctl);
	sizes[RS_SEC_RESPONSE] = h->ring_count * sizeof(struct rs_hcall_response);
	sizes[RS_SEC_GUEST_INFO] = sizeof(struct rs_guest_info);
	sizes[RS_SEC_PROVIDERS] = PROVIDERS * sizeof(struct rs_provider);
	sizes[RS_SEC_EVENTS] = DESCRIPTOR_BYTES;
	sizes[RS_SEC_CMDLINE] = CMDLINE_BUCKETS * sizeof(struct rs_cmdline_bucket);
	sizes[RS_SEC_REQUEST] = h->ring_count * sizeof(struct rs_hcall_request);
	sizes[RS_SEC_RING_STATE] = h->ring_count * sizeof(struct rs_ring_state);
	sizes[RS_SEC_RINGS] = (uint64_t)h->ring_count * h->ring_pages * page_size;

	for (int i = 0; i < RS_SEC_COUNT; i++) {
		if (i == RS_SEC_GUEST_INFO)
			h->guest_offset = at;
		if (!sizes[i])
			continue;
		h->section[i].offset = at;
		h->section[i].size = RS_ALIGN_UP(sizes[i], (uint64_t)RS_PAGE_SIZE);
		at += h->section[i].size;
	}
	h->region_size = config->power_of_two ? round_up_power_of_two(at) : at;
}

static int map_region(int fd, size_t size, bool writable, uint8_t **out, struct rs_error *err)
{
	void *map =
		mmap(NULL, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return rs_error_set(err, errno, "cannot map the trace region: %s",
				    g_strerror(errno));
	*out = map;
	return 0;
}

static int make_file(int fd, uint64_t size, int *out, struct rs_error *err)
{
	int made = fd;

	if (made < 0)
		made = memfd_create("ringside-region", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (made < 0)
		return rs_error_set(err, errno, "cannot create the trace region: %s",
				    g_strerror(errno));
	/* To nothing and up again: whatever an earlier session left there reads as zero. */
	if (ftruncate(made, 0) || ftruncate(made, (off_t)size)) {
		int code = errno;

		if (fd < 0)
			close(made);
		return rs_error_set(err, code,
				    "cannot make the trace region %" G_GUINT64_FORMAT
				    " bytes large: %s",
				    size, g_strerror(code));
	}
	/* Whoever else holds the descriptor cannot pull the memory from under our mapping. */
	if (fd < 0 && fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		int code = errno;

		close(made);
		return rs_error_set(err, code, "cannot seal the trace region: %s",
				    g_strerror(code));
	}
	*out = made;
	return 0;
}

int rs_region_create(const struct rs_region_config *config, int fd, struct rs_region **out,
		     struct rs_error *err)
{
	uint32_t page_size = config->ring_page_size ? config->ring_page_size : RS_RING_PAGE_MIN;
	struct rs_region_header h;
	struct rs_region *region;
	uint8_t *map = NULL;
	int made = -1, ret;

	ret = check_config(config, page_size, err);
	if (ret)
		return ret;
	lay_out(config, page_size, &h);
	if (getrandom(&h.session_id, sizeof(h.session_id), 0) != sizeof(h.session_id))
		return rs_error_set(err, errno, "no random numbers: %s", g_strerror(errno));
	ret = make_file(fd, h.region_size, &made, err);
	if (ret)
		return ret;
	ret = map_region(made, h.region_size, true, &map, err);
	if (ret) {
		if (fd < 0)
			close(made);
		return ret;
	}

	/* The magic last; pairs with the agent's acquire load of it. */
	memcpy(map + sizeof(h.magic), (uint8_t *)&h + sizeof(h.magic), sizeof(h) - sizeof(h.magic));
	rs_store_release((uint64_t *)map, h.magic);

	region = g_new0(struct rs_region, 1);
	*region = (struct rs_region){
		.header = h, .map = map, .size = h.region_size, .fd = made, .writable = true};
	*out = region;
	return 0;
}

static int check_geometry(const struct rs_region_header *h, struct rs_error *err)
{
	if (h->ring_count < 1 || h->ring_count > RS_MAX_CPUS)
		return rs_error_set(err, EPROTO, "region header: %u rings", h->ring_count);
	if (!power_of_two(h->ring_page_size) || h->ring_page_size < RS_RING_PAGE_MIN ||
	    h->ring_page_size > RS_RING_PAGE_MAX)
		return rs_error_set(err, EPROTO, "region header: ring page size %u",
				    h->ring_page_size);
	if (!power_of_two(h->ring_pages) || h->ring_pages < RS_RING_PAGES_MIN ||
	    h->ring_pages > RS_RING_PAGES_MAX)
		return rs_error_set(err, EPROTO, "region header: %u pages a ring", h->ring_pages);
	if (h->ring_mode > RS_MODE_DROP)
		return rs_error_set(err, EPROTO, "region header: ring mode %u", h->ring_mode);
	if (h->event_capacity > RS_MAX_EVENTS || h->provider_capacity > 65536)
		return rs_error_set(err, EPROTO, "region header: capacity out of range");
	if (!power_of_two(h->cmdline_buckets) || h->cmdline_buckets > 1u << 20)
		return rs_error_set(err, EPROTO, "region header: %u cmdline buckets",
				    h->cmdline_buckets);
	return 0;
}

static int check_sections(const struct rs_region_header *h, struct rs_error *err)
{
	const uint64_t need[RS_SEC_COUNT] = {
		[RS_SEC_HEADER] = sizeof(*h),
		[RS_SEC_CONTROL] = sizeof(struct rs_control),
		[RS_SEC_EVENT_CTL] = h->event_capacity * 4ull,
		[RS_SEC_RING_CTL] = h->ring_count * sizeof(struct rs_ring_ctl),
		[RS_SEC_RESPONSE] = h->ring_count * sizeof(struct rs_hcall_response),
		[RS_SEC_GUEST_INFO] = sizeof(struct rs_guest_info),
		[RS_SEC_PROVIDERS] = h->provider_capacity * sizeof(struct rs_provider),
		[RS_SEC_CMDLINE] = h->cmdline_buckets * sizeof(struct rs_cmdline_bucket),
		[RS_SEC_REQUEST] = h->ring_count * sizeof(struct rs_hcall_request),
		[RS_SEC_RING_STATE] = h->ring_count * sizeof(struct rs_ring_state),
		[RS_SEC_RINGS] = (uint64_t)h->ring_count * h->ring_pages * h->ring_page_size,
	};
	uint64_t end = 0;

	for (int i = 0; i < RS_SEC_COUNT; i++) {
		const struct rs_section *s = &h->section[i];
		bool guest = i >= RS_SEC_GUEST_INFO;

		if (s->size < need[i])
			return rs_error_set(err, EPROTO, "region header: section %d is too small",
					    i);
		if (!s->size)
			continue;
		if (s->offset % RS_PAGE_SIZE || s->size % RS_PAGE_SIZE || s->offset < end ||
		    s->size > h->region_size || s->offset > h->region_size - s->size)
			return rs_error_set(err, EPROTO, "region header: section %d lies badly", i);
		end = s->offset + s->size;
		if (guest ? s->offset < h->guest_offset : end > h->guest_offset)
			return rs_error_set(err, EPROTO,
					    "region header: section %d is on the wrong side", i);
	}
	return 0;
}

int rs_region_check_header(const struct rs_region_header *h, uint64_t size, struct rs_error *err)
{
	int ret;

	if (h->magic != RS_REGION_MAGIC)
		return rs_error_set(err, EPROTO, "no Ringside region: its magic is missing");
	if (h->abi_major != RS_ABI_MAJOR)
		return rs_error_set(err, EPROTO, "the region has ABI version %u.%u, this is %u.%u",
				    h->abi_major, h->abi_minor, RS_ABI_MAJOR, RS_ABI_MINOR);
	if (h->header_size < sizeof(*h) || h->region_size > size ||
	    h->guest_offset % RS_PAGE_SIZE || h->guest_offset > h->region_size)
		return rs_error_set(err, EPROTO, "region header: sizes contradict each other");
	ret = check_geometry(h, err);
	return ret ? ret : check_sections(h, err);
}

int rs_region_open(int fd, bool writable, struct rs_region **out, struct rs_error *err)
{
	struct rs_region *region;
	struct rs_region_header h;
	struct stat st;
	uint8_t *map = NULL;
	int ret;

	if (fstat(fd, &st))
		return rs_error_set(err, errno, "trace region: %s", g_strerror(errno));
	if (st.st_size < (off_t)sizeof(h))
		return rs_error_set(err, EPROTO, "no Ringside region: only %lld bytes",
				    (long long)st.st_size);
	ret = map_region(fd, (size_t)st.st_size, writable, &map, err);
	if (ret)
		return ret;
	/* The acquire pairs with the release in rs_region_create. */
	if (rs_load_acquire((uint64_t *)map) == RS_REGION_MAGIC)
		memcpy(&h, map, sizeof(h));
	else
		memset(&h, 0, sizeof(h));
	ret = rs_region_check_header(&h, (uint64_t)st.st_size, err);
	if (ret) {
		munmap(map, (size_t)st.st_size);
		return ret;
	}
	region = g_new0(struct rs_region, 1);
	*region = (struct rs_region){.header = h,
				     .map = map,
				     .size = (size_t)st.st_size,
				     .fd = fd,
				     .writable = writable};
	*out = region;
	return 0;
}

void rs_region_destroy(struct rs_region *region)
{
	if (!region)
		return;
	munmap(region->map, region->size);
	close(region->fd);
	g_free(region);
}

void *rs_region_section(const struct rs_region *region, uint32_t section, size_t *size)
{
	const struct rs_section *s = &region->header.section[section];

	if (size)
		*size = s->size;
	return s->size ? region->map + s->offset : NULL;
}

int rs_region_reopen_readonly(const struct rs_region *region, int *fd, struct rs_error *err)
{
	g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", region->fd);
	int made = open(path, O_RDONLY | O_CLOEXEC);

	if (made < 0)
		return rs_error_set(err, errno, "cannot open the region read-only: %s",
				    g_strerror(errno));
	*fd = made;
	return 0;
}

/*
 * The guest may be writing here: single relaxed loads, so that no word is torn and a look at one (a
 * sequence, say) is not moved by memcpy to where it pleases; what the whole is worth, the caller finds out.
 */
static void copy_shared(void *out, const uint8_t *from, size_t bytes)
{
	uint8_t *to = out;

	for (; bytes && (uintptr_t)from % sizeof(uint64_t); bytes--)
		*to++ = rs_load(from++);
	for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t)) {
		uint64_t word = rs_load((const uint64_t *)(const void *)from);

		memcpy(to, &word, sizeof(word));
		to += sizeof(word);
		from += sizeof(word);
	}
	while (bytes--)
		*to++ = rs_load(from++);
}

size_t rs_region_copy(const struct rs_region *region, uint32_t section, size_t offset, void *out,
		      size_t bytes)
{
	size_t size;
	const uint8_t *from = rs_region_section(region, section, &size);

	if (!from || offset >= size)
		return 0;
	bytes = MIN(bytes, size - offset);
	copy_shared(out, from + offset, bytes);
	return bytes;
}

int rs_region_guest_info(const struct rs_region *region, struct rs_guest_info *out,
			 struct rs_error *err)
{
	struct rs_guest_info *shared = rs_region_section(region, RS_SEC_GUEST_INFO, NULL);
	const struct rs_region_header *h = &region->header;
	struct rs_guest_info info;

	/* Pairs with the agent's release store of its magic. */
	if (rs_load_acquire(&shared->magic) != RS_GUEST_MAGIC)
		return rs_error_set(err, EAGAIN, "the guest's agent has not reported yet");
	copy_shared(&info, (const uint8_t *)shared, sizeof(info));
	if (info.abi_major != RS_ABI_MAJOR)
		return rs_error_set(err, EPROTO,
				    "the guest's agent has ABI version %u.%u, this host %u.%u",
				    info.abi_major, info.abi_minor, RS_ABI_MAJOR, RS_ABI_MINOR);
	if (info.session_id != h->session_id)
		return rs_error_set(err, EAGAIN, "the guest's agent belongs to another session");
	info.agent[sizeof(info.agent) - 1] = 0;
	info.name[sizeof(info.name) - 1] = 0;
	info.cpu_count = MIN(info.cpu_count, h->ring_count);
	info.provider_count = MIN(info.provider_count, h->provider_capacity);
	info.event_bytes = MIN(info.event_bytes, h->section[RS_SEC_EVENTS].size);
	info.event_count = MIN(info.event_count, h->event_capacity);
	*out = info;
	return 0;
}
