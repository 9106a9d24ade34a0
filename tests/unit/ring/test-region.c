/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "ring/region.h"

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
	struct rs_region *region = NULL, *seen = NULL;
	struct rs_error err = {0};
	int fd = -1;

	g_assert_cmpint(rs_region_create(&config, -1, &region, &err), ==, 0);
	g_assert_cmpuint(region->header.ring_pages, ==, 16);
	g_assert_cmpint(rs_region_reopen_readonly(region, &fd, &err), ==, 0);
	g_assert_cmpint(rs_region_open(fd, false, &seen, &err), ==, 0);
	g_assert_cmpmem(&seen->header, sizeof(seen->header), &region->header,
			sizeof(region->header));
	g_assert_true(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, seen->fd, 0) == MAP_FAILED);
	/* Nobody can pull the memory from under us. */
	g_assert_cmpint(ftruncate(region->fd, 4096), ==, -1);
	rs_region_destroy(seen);
	rs_region_destroy(region);
}

static void test_host_pages_come_first(void)
{
	struct rs_region_config config = small_config();
	struct rs_region *region = NULL;
	struct rs_error err = {0};

	config.power_of_two = true;
	g_assert_cmpint(rs_region_create(&config, -1, &region, &err), ==, 0);
	g_assert_cmpuint(region->size & (region->size - 1), ==, 0);
	for (int i = 0; i < RS_SEC_COUNT; i++) {
		const struct rs_section *s = &region->header.section[i];

		if (s->size && i < RS_SEC_GUEST_INFO)
			g_assert_cmpuint(s->offset + s->size, <=, region->header.guest_offset);
		else if (s->size)
			g_assert_cmpuint(s->offset, >=, region->header.guest_offset);
	}
	rs_region_destroy(region);
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
		struct rs_region *region = NULL;
		struct rs_error err = {0};

		g_assert_cmpint(rs_region_create(&bad[i], -1, &region, &err), ==, -EINVAL);
		g_assert_null(region);
		g_assert_cmpstr(err.message, !=, "");
	}
}

/* Any 8-byte word of the header set to nonsense: refused, or harmless to every access after it. */
static void test_hostile_headers(void)
{
	static const uint64_t words[] = {0,
					 1,
					 0xffffffffffffffff,
					 0x8000000000000000,
					 4095,
					 0xfffffffffffff000,
					 0x0000000100000000};
	struct rs_region_config config = small_config();
	struct rs_region *region = NULL;
	struct rs_error err = {0};
	guint refused = 0;

	g_assert_cmpint(rs_region_create(&config, -1, &region, &err), ==, 0);
	for (size_t at = 0; at < sizeof(struct rs_region_header); at += 8) {
		for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
			struct rs_region_header h = region->header;

			memcpy((uint8_t *)&h + at, &words[i], 8);
			if (rs_region_check_header(&h, region->size, &err)) {
				refused++;
				continue;
			}
			for (int s = 0; s < RS_SEC_COUNT; s++)
				if (h.section[s].size)
					g_assert_cmpuint(h.section[s].offset + h.section[s].size,
							 <=, region->size);
		}
	}
	g_assert_cmpuint(refused, >, 50);
	rs_region_destroy(region);
}

static void test_guest_info(void)
{
	struct rs_region_config config = small_config();
	struct rs_region *region = NULL;
	struct rs_guest_info *shared, info;
	struct rs_error err = {0};

	g_assert_cmpint(rs_region_create(&config, -1, &region, &err), ==, 0);
	g_assert_cmpint(rs_region_guest_info(region, &info, &err), ==, -EAGAIN);
	shared = rs_region_section(region, RS_SEC_GUEST_INFO, NULL);
	memset(shared, 0xff, sizeof(*shared));
	shared->magic = RS_GUEST_MAGIC;
	g_assert_cmpint(rs_region_guest_info(region, &info, &err), ==, -EPROTO);
	shared->abi_major = RS_ABI_MAJOR;
	shared->session_id = region->header.session_id;
	g_assert_cmpint(rs_region_guest_info(region, &info, &err), ==, 0);
	g_assert_cmpuint(info.cpu_count, ==, 2);
	g_assert_cmpuint(info.event_bytes, ==, region->header.section[RS_SEC_EVENTS].size);
	g_assert_cmpuint(strlen(info.name), <, sizeof(info.name));
	rs_region_destroy(region);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/ring/region/create", test_create_and_open);
	g_test_add_func("/ring/region/order", test_host_pages_come_first);
	g_test_add_func("/ring/region/bad-config", test_bad_configs);
	g_test_add_func("/ring/region/hostile", test_hostile_headers);
	g_test_add_func("/ring/region/guest-info", test_guest_info);
	return g_test_run();
}
