/* SPDX-License-Identifier: MIT */
/*
 * A memory with a directory, as a guest in QEMU may have written all of it. Opening it either
 * fails, or gives regions that can be asked, mapped and laid out anew, and none of that changes
 * another one of them.
 */
#define _GNU_SOURCE
#include "seed.h"
#include "region/regions.h"

#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

static uint64_t session_id(const RsTraceRegion *region)
{
	return region ? ((const struct rs_region_header *)(void *)region->map)->session_id : 0;
}

/* `maps`: of every region that can be mapped. */
static void check(struct rs_regions *regions, uint32_t index, RsTraceRegion *const *maps)
{
	uint64_t ids[RS_MAX_REGIONS];
	RsTraceRegion *region;
	uint32_t owner;

	rs_regions_owner(regions, index, &owner);
	rs_regions_leave(regions, index);
	if (rs_regions_kind(regions, index) == RS_SOURCE_NONE)
		return;
	for (uint32_t i = 0; i < rs_regions_count(regions); i++)
		ids[i] = session_id(maps[i]);
	if (rs_regions_renew(regions, index, NULL))
		abort();
	for (uint32_t i = 0; i < rs_regions_count(regions); i++)
		if (i != index && session_id(maps[i]) != ids[i])
			abort();
	if (rs_regions_map(regions, index, &region, NULL))
		abort();
	/* A process takes the region, and it is left for it. */
	*rs_regions_claim_word(regions, index) = rs_regions_claim(regions, index, 7);
	if (!rs_regions_owner(regions, index, &owner) || owner != 7)
		abort();
	rs_regions_leave(regions, index);
	if (!rs_regions_owner(regions, index, &owner) || owner != RS_CLAIM_LEFT)
		abort();
	if (memcmp(&region->header, region->map, sizeof(region->header.magic)) ||
	    session_id(region) == ids[index])
		abort();
	rs_trace_region_free(region);
}

static void check_all(struct rs_regions *regions)
{
	RsTraceRegion *maps[RS_MAX_REGIONS];
	uint32_t count = rs_regions_count(regions);

	for (uint32_t i = 0; i < count; i++)
		if (rs_regions_map(regions, i, &maps[i], NULL))
			maps[i] = NULL;
	for (uint32_t i = 0; i < count; i++)
		check(regions, i, maps);
	for (uint32_t i = 0; i < count; i++)
		rs_trace_region_free(maps[i]);
}

/* The memory is made once, and each run begins with a copy of what it held then. */
struct page {
	size_t at;
	uint8_t bytes[4096];
};

static struct {
	int fd;
	uint8_t *map;
	uint64_t size, offsets[4];
	GArray *pages; /* those that are not zero */
} home;

static void make_home(void)
{
	static const uint8_t zero[4096];
	struct rs_regions *made = create();
	RsTraceRegion *region;

	home.fd = dup(rs_regions_fd(made));
	home.size = rs_regions_size(made);
	home.map = mmap(NULL, home.size, PROT_READ | PROT_WRITE, MAP_SHARED, home.fd, 0);
	if (home.map == MAP_FAILED)
		abort();
	for (uint32_t i = 0; i < 3; i++) {
		if (rs_regions_map(made, i, &region, NULL))
			abort();
		home.offsets[i + 1] = region->offset;
		rs_trace_region_free(region);
	}
	home.pages = g_array_new(FALSE, FALSE, sizeof(struct page));
	for (size_t at = 0; at < home.size; at += sizeof(zero)) {
		struct page page = {.at = at};

		if (!memcmp(home.map + at, zero, sizeof(zero)))
			continue;
		memcpy(page.bytes, home.map + at, sizeof(page.bytes));
		g_array_append_val(home.pages, page);
	}
	rs_regions_free(made);
}

static void restore_home(void)
{
	if (fallocate(home.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)home.size))
		abort();
	for (guint i = 0; i < home.pages->len; i++) {
		const struct page *page = &g_array_index(home.pages, struct page, i);

		memcpy(home.map + page->at, page->bytes, sizeof(page->bytes));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rs_regions *regions;
	struct patch patch;
	int fd;

	if (!home.map)
		make_home();
	restore_home();
	for (; size >= sizeof(patch); data += sizeof(patch), size -= sizeof(patch)) {
		memcpy(&patch, data, sizeof(patch));
		if (home.offsets[patch.where % 4] + patch.at + 8 <= home.size)
			apply(home.map, home.offsets, &patch);
	}
	fd = dup(home.fd);
	if (rs_regions_open(fd, &regions, NULL)) {
		close(fd);
		return 0;
	}
	check_all(regions);
	rs_regions_turned_away(regions);
	rs_regions_free(regions);
	return 0;
}
