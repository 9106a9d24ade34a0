/* SPDX-License-Identifier: MIT */
/*
 * A memory with a directory, as a guest in QEMU may have written all of it. Opening it either
 * fails, or gives regions that can be asked, mapped and laid out anew, and none of that changes
 * another one of them.
 */
#define _GNU_SOURCE
#include "seed.h"
#include "region/regions.h"

#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (4u << 20)

/* Where the fuzzer's bytes go. */
struct __attribute__((packed)) patch {
	guint8 where; /* 0: in the directory; else in region where % 4 */
	guint16 at;
	guint8 size; /* of value, 1..8 */
	guint64 value;
};

static struct rs_regions *create(void)
{
	static const struct rs_region_config config = {.vcpus = 1,
						       .ring_bytes = 16 << 10,
						       .event_capacity = 64,
						       .filter_bytes = 4096,
						       .desc_bytes = 4096,
						       .origin_ns = 1};
	static const struct rs_regions_run runs[] = {{&config, RS_SOURCE_KERNEL, 1},
						     {&config, RS_SOURCE_USER, 2}};
	struct rs_regions *regions;

	if (rs_regions_create(runs, 2, false, -1, &regions, NULL))
		abort();
	return regions;
}

static void rs_fuzz_seeds(void)
{
	static const struct patch patches[] = {
		{0, offsetof(struct rs_directory, entry_count), 4, 2},
		{0, 128 + 128, 8, 0x20000},
		{1, 8, 2, 9},
		{0, 128 + 16, 4, RS_SOURCE_NONE},
	};

	rs_fuzz_seed("patches", patches, sizeof(patches));
	rs_fuzz_seed("none", patches, 0);
}

static void apply(uint8_t *map, const uint64_t offsets[4], const struct patch *patch)
{
	uint64_t at = patch->at + offsets[patch->where % 4];

	memcpy(map + at, &patch->value, MIN(patch->size, 8));
}

static void check(struct rs_regions *regions, uint32_t index)
{
	RsTraceRegion *region, *other;
	uint64_t ids[RS_MAX_REGIONS];
	uint32_t owner;

	rs_regions_owner(regions, index, &owner);
	rs_regions_leave(regions, index);
	if (rs_regions_kind(regions, index) == RS_SOURCE_NONE)
		return;
	for (uint32_t i = 0; i < rs_regions_count(regions); i++) {
		ids[i] = 0;
		if (rs_regions_map(regions, i, &other, NULL))
			continue;
		ids[i] = ((const struct rs_region_header *)(void *)other->map)->session_id;
		rs_trace_region_free(other);
	}
	if (rs_regions_renew(regions, index, NULL))
		abort();
	for (uint32_t i = 0; i < rs_regions_count(regions); i++) {
		if (i == index || rs_regions_map(regions, i, &other, NULL))
			continue;
		if (((const struct rs_region_header *)(void *)other->map)->session_id != ids[i])
			abort();
		rs_trace_region_free(other);
	}
	if (rs_regions_map(regions, index, &region, NULL))
		abort();
	if (memcmp(&region->header, region->map, sizeof(region->header.magic)))
		abort();
	rs_trace_region_free(region);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_regions *made = create(), *regions;
	uint64_t offsets[4] = {0};
	int fd = dup(rs_regions_fd(made));
	uint8_t *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct patch patch;

	if (map == MAP_FAILED || rs_regions_size(made) > SIZE - 70000)
		abort();
	for (uint32_t i = 0; i < 3; i++) {
		RsTraceRegion *region;

		if (rs_regions_map(made, i, &region, NULL))
			abort();
		offsets[i + 1] = region->offset;
		rs_trace_region_free(region);
	}
	for (; size >= sizeof(patch); data += sizeof(patch), size -= sizeof(patch)) {
		memcpy(&patch, data, sizeof(patch));
		if (offsets[patch.where % 4] + patch.at + 8 <= rs_regions_size(made))
			apply(map, offsets, &patch);
	}
	rs_regions_free(made);
	munmap(map, SIZE);
	if (rs_regions_open(fd, &regions, NULL)) {
		close(fd);
		return 0;
	}
	for (uint32_t i = 0; i < rs_regions_count(regions); i++)
		check(regions, i);
	rs_regions_free(regions);
	return 0;
}
