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
			g_assert_cmpuint(region->header.section[k].offset % 65536, ==, 0);
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

static void test_bad_configs(void)
{
	static const struct rs_region_config bad[] = {
		{.vcpus = 0, .ring_bytes = 65536},
		{.vcpus = RS_MAX_CPUS + 1, .ring_bytes = 65536},
		{.vcpus = 1, .ring_bytes = 4096},
		{.vcpus = 1, .ring_bytes = 1ull << 60},
		{.vcpus = 1, .ring_bytes = 65536, .ring_page_size = 5000},
		{.vcpus = 1, .ring_bytes = 65536, .ring_mode = 9},
		{.vcpus = 1, .ring_bytes = 65536, .event_capacity = 1 << 20},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		RsTraceRegion *region = NULL;
		struct rs_error err = {0};

		g_assert_cmpint(rs_region_create(&bad[i], &region, &err), ==, -EINVAL);
		g_assert_null(region);
		g_assert_cmpstr(err.message, !=, "");
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/region/layout/create", test_create_and_open);
	g_test_add_func("/region/layout/order", test_host_pages_come_first);
	g_test_add_func("/region/layout/alignment", test_alignment);
	g_test_add_func("/region/layout/moved-table", test_moved_table);
	g_test_add_func("/region/layout/bad-config", test_bad_configs);
	return g_test_run();
}
