/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "region/regions.h"

#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct rs_region_config small_config(void)
{
	return (struct rs_region_config){.vcpus = 2, .ring_bytes = 64 << 10};
}

static void test_create_and_open(void)
{
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL, *seen = NULL;
	struct rs_error err = {0};
	int fd = -1;

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	g_assert_cmpuint(region->header.ring_pages, ==, 16);
	g_assert_cmpint(rs_region_reopen_readonly(region, &fd, &err), ==, 0);
	seen = rs_trace_region_open(fd, region->offset, FALSE, NULL);
	g_assert_nonnull(seen);
	g_assert_cmpmem(&seen->header, sizeof(seen->header), &region->header,
			sizeof(region->header));
	g_assert_true(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, seen->fd, 0) == MAP_FAILED);
	/* Nobody can shrink the memory under our mapping. */
	g_assert_cmpint(ftruncate(region->fd, 4096), ==, -1);
	rs_trace_region_free(seen);
	rs_trace_region_free(region);
}

static void test_host_pages_come_first(void)
{
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_region_create(&config, &region, &err), ==, 0);
	for (int i = 0; i < RS_SEC_COUNT; i++) {
		const struct rs_section *s = &region->header.section[i];

		if (s->size && i < RS_SEC_GUEST_INFO)
			g_assert_cmpuint(s->offset + s->size, <=, region->header.guest_offset);
		else if (s->size)
			g_assert_cmpuint(s->offset, >=, region->header.guest_offset);
	}
	rs_trace_region_free(region);
}

/* A guest with pages of 64 KiB can map each part, and protect the host's. */
static void test_alignment(void)
{
	static const struct rs_region_config configs[] = {
		{.vcpus = 1, .ring_bytes = 16384},
		{.vcpus = 3, .ring_bytes = 20000, .event_capacity = 100},
		{.vcpus = RS_MAX_CPUS, .ring_bytes = 16384},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(configs); i++) {
		RsTraceRegion *region = NULL;

		g_assert_cmpint(rs_region_create(&configs[i], &region, NULL), ==, 0);
		g_assert_cmpuint(region->header.guest_offset % 65536, ==, 0);
		g_assert_cmpuint(region->header.region_size % 65536, ==, 0);
		g_assert_cmpuint(region->size, ==, region->header.region_size);
		for (int k = 0; k < RS_SEC_COUNT; k++)
			g_assert_cmpuint(region->header.section[k].offset % 4096, ==, 0);
		rs_trace_region_free(region);
	}
}

/* A region that another version laid out, as we lay it out anew: where our table is, it says so. */
static void test_moved_table(void)
{
	struct rs_region_config config = {.vcpus = 2, .ring_bytes = 64 * 1024};
	RsTraceRegion *region = NULL;
	struct rs_region_header h, taken;

	g_assert_cmpint(rs_region_create(&config, &region, NULL), ==, 0);
	h = region->header;
	h.header_size = 200;
	h.section_offset = 4096;
	h.section_stride = 40;
	h.section_count = 70;
	memset(region->map, 0, region->header.guest_offset);
	rs_region_write(region->map, &h, RS_CONTROL_SELF_PATCH);
	g_assert_true(rs_trace_region_take_header(region->map, region->size, &taken, NULL));
	g_assert_cmpmem(taken.section, sizeof(taken.section), region->header.section,
			sizeof(region->header.section));
	rs_trace_region_free(region);
}

/* Lays out a header. Returns whether it can be, which is all that `err` may say too. */
static bool can_be(struct rs_region_config config, struct rs_region_header *header)
{
	struct rs_error err = {0};
	int ret = rs_region_lay_out(&config, header, &err);

	g_assert_true(ret == 0 || ret == -EINVAL);
	g_assert_cmpint(err.message[0] != 0, ==, ret != 0);
	return ret == 0;
}

static bool can_be_traced(uint32_t vcpus)
{
	struct rs_region_header h = {0};
	bool can = can_be((struct rs_region_config){.vcpus = vcpus, .ring_bytes = 16384}, &h);

	g_assert_cmpuint(h.ring_count, ==, can ? vcpus : 0);
	return can;
}

static bool can_have_events(uint32_t events)
{
	struct rs_region_header h = {0};
	bool can = can_be((struct rs_region_config){.vcpus = 1,
						    .ring_bytes = 16384,
						    .event_capacity = events},
			  &h);

	g_assert_true(!can || h.event_capacity == (events ? events : 4096));
	g_assert_true(!can || h.section[RS_SEC_EVENT_CTL].count == h.event_capacity);
	return can;
}

static bool can_have_mode(uint32_t mode)
{
	struct rs_region_header h = {0};
	bool can = can_be(
		(struct rs_region_config){.vcpus = 1, .ring_bytes = 16384, .ring_mode = mode}, &h);

	g_assert_cmpuint(h.ring_mode, ==, can ? mode : 0);
	return can;
}

/* Pages of the ring; 0: it cannot be. */
static uint32_t pages_of(uint64_t ring_bytes, uint32_t page_size)
{
	struct rs_region_header h = {0};
	bool can = can_be((struct rs_region_config){.vcpus = 3,
						    .ring_bytes = ring_bytes,
						    .ring_page_size = page_size},
			  &h);

	if (!can)
		return 0;
	g_assert_cmpuint(h.ring_page_size, ==, page_size ? page_size : RS_RING_PAGE_MIN);
	g_assert_cmpuint(h.section[RS_SEC_RINGS].count, ==, 3 * h.ring_pages);
	g_assert_cmpuint(h.section[RS_SEC_RINGS].stride, ==, h.ring_page_size);
	return h.ring_pages;
}

static void test_limits(void)
{
	g_assert_false(can_be_traced(0));
	g_assert_true(can_be_traced(1));
	g_assert_true(can_be_traced(RS_MAX_CPUS));
	g_assert_false(can_be_traced(RS_MAX_CPUS + 1));
	g_assert_false(can_be_traced(UINT32_MAX));
	g_assert_true(can_have_events(0));
	g_assert_true(can_have_events(1));
	g_assert_true(can_have_events(RS_MAX_EVENTS));
	g_assert_false(can_have_events(RS_MAX_EVENTS + 1));
	g_assert_true(can_have_mode(RS_MODE_OVERWRITE));
	g_assert_true(can_have_mode(RS_MODE_DROP));
	for (uint32_t mode = 0; mode < 32; mode++)
		g_assert_true(can_have_mode(mode) ==
			      (mode == RS_MODE_OVERWRITE || mode == RS_MODE_DROP));
}

static void test_ring_limits(void)
{
	/* Of pages that the ring can have, the smallest, the largest, and the one by default. */
	static const uint32_t sizes[] = {RS_RING_PAGE_MIN, RS_RING_PAGE_MAX, 0};

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		const uint64_t page = sizes[i] ? sizes[i] : RS_RING_PAGE_MIN;

		g_assert_cmpuint(pages_of(0, sizes[i]), ==, 0);
		g_assert_cmpuint(pages_of(RS_RING_PAGES_MIN * page - 1, sizes[i]), ==, 0);
		g_assert_cmpuint(pages_of(RS_RING_PAGES_MIN * page, sizes[i]), ==,
				 RS_RING_PAGES_MIN);
		g_assert_cmpuint(pages_of(RS_RING_PAGES_MIN * page + 1, sizes[i]), ==,
				 2 * RS_RING_PAGES_MIN);
		g_assert_cmpuint(pages_of(RS_RING_PAGES_MAX * page, sizes[i]), ==,
				 RS_RING_PAGES_MAX);
		g_assert_cmpuint(pages_of(RS_RING_PAGES_MAX * page + 1, sizes[i]), ==, 0);
		g_assert_cmpuint(pages_of(UINT64_MAX / 2, sizes[i]), ==, 0);
	}
	g_assert_cmpuint(pages_of(1 << 20, RS_RING_PAGE_MIN / 2), ==, 0);
	g_assert_cmpuint(pages_of(1 << 20, RS_RING_PAGE_MIN + 1), ==, 0);
	g_assert_cmpuint(pages_of(1 << 20, RS_RING_PAGE_MAX - 1), ==, 0);
	g_assert_cmpuint(pages_of(1ull << 30, RS_RING_PAGE_MAX * 2), ==, 0);
	g_assert_cmpuint(pages_of(1 << 20, 3 * RS_RING_PAGE_MIN), ==, 0);
}

/* What was asked for is there, and nothing lies in something else. */
static void test_sections(void)
{
	const struct rs_region_config config = {.vcpus = 17,
						.ring_bytes = 16384,
						.ring_mode = RS_MODE_DROP,
						.filter_bytes = 65537,
						.desc_bytes = 65535,
						.hcall_channel = 1,
						.hcall_addr = 2,
						.doorbell_channel = 3,
						.doorbell_addr = 4,
						.origin_ns = 5};
	struct rs_region_header h;
	uint64_t end = 0;

	g_assert_true(can_be(config, &h));
	for (int i = 0; i < RS_SEC_COUNT; i++) {
		const struct rs_section *s = &h.section[i];

		if (!s->size)
			continue;
		if (i == RS_SEC_FIRST_GUEST)
			end = RS_ALIGN_UP(end, (uint64_t)RS_REGION_ALIGN);
		g_assert_cmpuint(s->offset, ==, end);
		g_assert_cmpuint(s->size, >=, (uint64_t)s->stride * s->count);
		g_assert_cmpuint(s->size - (uint64_t)s->stride * s->count, <, RS_SECTION_ALIGN);
		end += s->size;
	}
	g_assert_cmpuint(h.guest_offset % RS_REGION_ALIGN, ==, 0);
	g_assert_cmpuint(h.region_size, ==, RS_ALIGN_UP(end, (uint64_t)RS_REGION_ALIGN));
	g_assert_cmpuint(h.section[RS_SEC_FILTERS].size, ==, 69632);
	g_assert_cmpuint(h.section[RS_SEC_EVENTS].size, ==, 65536);
	g_assert_cmpuint(h.section[RS_SEC_REQUEST].count, ==, 17);
	g_assert_cmpuint(h.section[RS_SEC_RESPONSE].count, ==, 17);
	g_assert_cmpuint(h.hcall_channel, ==, 1);
	g_assert_cmpuint(h.hcall_addr, ==, 2);
	g_assert_cmpuint(h.doorbell_channel, ==, 3);
	g_assert_cmpuint(h.doorbell_addr, ==, 4);
	g_assert_cmpuint(h.origin_ns, ==, 5);
	/* Fewer CPUs have more requests than one each. */
	g_assert_true(can_be((struct rs_region_config){.vcpus = 1, .ring_bytes = 16384}, &h));
	g_assert_cmpuint(h.section[RS_SEC_REQUEST].count, ==, 16);
	g_assert_cmpuint(h.section[RS_SEC_RESPONSE].count, ==, 16);
	/* Time 0 is now. */
	g_assert_cmpuint(h.origin_ns / 1000, <=, (uint64_t)g_get_monotonic_time());
	g_assert_cmpuint(h.origin_ns, >, 0);
}

static void test_round_up(void)
{
	g_assert_cmpuint(rs_region_round_up(0), ==, 1);
	for (int i = 1; i < 63; i++) {
		g_assert_cmpuint(rs_region_round_up(1ull << i), ==, 1ull << i);
		g_assert_cmpuint(rs_region_round_up((1ull << i) + 1), ==, 1ull << (i + 1));
	}
}

static void test_nothing_made(void)
{
	const struct rs_region_config bad = {.vcpus = 0, .ring_bytes = 65536};
	RsTraceRegion *region = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_region_create(&bad, &region, &err), ==, -EINVAL);
	g_assert_null(region);
	g_assert_cmpstr(err.message, !=, "");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/region/layout/create", test_create_and_open);
	g_test_add_func("/region/layout/order", test_host_pages_come_first);
	g_test_add_func("/region/layout/alignment", test_alignment);
	g_test_add_func("/region/layout/moved-table", test_moved_table);
	g_test_add_func("/region/layout/limits", test_limits);
	g_test_add_func("/region/layout/ring-limits", test_ring_limits);
	g_test_add_func("/region/layout/sections", test_sections);
	g_test_add_func("/region/layout/round-up", test_round_up);
	g_test_add_func("/region/layout/nothing-made", test_nothing_made);
	return g_test_run();
}
