/* SPDX-License-Identifier: MIT */
#include "region/layout.h"

#include <glib/gstdio.h>
#include <rs-trace-region.h>
#include <string.h>
#include <unistd.h>

static struct rs_region_config small_config(void)
{
	return (struct rs_region_config){.vcpus = 2, .ring_bytes = 64 << 10};
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
	RsTraceRegion *region = NULL;
	struct rs_error err = {0};
	guint refused = 0;

	g_assert_cmpint(rs_region_create(&config, -1, &region, &err), ==, 0);
	for (size_t at = 0; at < sizeof(struct rs_region_header); at += 8) {
		for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
			struct rs_region_header h = region->header;

			memcpy((uint8_t *)&h + at, &words[i], 8);
			if (!rs_trace_region_check_header(&h, region->size, NULL)) {
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
	rs_trace_region_free(region);
}

static void test_guest_info(void)
{
	struct rs_region_config config = small_config();
	RsTraceRegion *region = NULL;
	struct rs_guest_info *shared, info;
	struct rs_error err = {0};
	GError *error = NULL;

	g_assert_cmpint(rs_region_create(&config, -1, &region, &err), ==, 0);
	g_assert_false(rs_trace_region_guest_info(region, &info, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_NO_AGENT);
	g_clear_error(&error);
	shared = rs_trace_region_section(region, RS_SEC_GUEST_INFO, NULL);
	memset(shared, 0xff, sizeof(*shared));
	shared->magic = RS_GUEST_MAGIC;
	g_assert_false(rs_trace_region_guest_info(region, &info, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_VERSION);
	g_clear_error(&error);
	shared->abi_major = RS_ABI_MAJOR;
	shared->session_id = region->header.session_id;
	g_assert_true(rs_trace_region_guest_info(region, &info, NULL));
	g_assert_cmpuint(info.cpu_count, ==, 2);
	g_assert_cmpuint(info.event_bytes, ==, region->header.section[RS_SEC_EVENTS].size);
	g_assert_cmpuint(strlen(info.name), <, sizeof(info.name));
	rs_trace_region_free(region);
}

static void test_no_region(void)
{
	static const char text[] = "no region";
	GError *error = NULL;
	char *path;
	int fd = g_file_open_tmp("region-XXXXXX", &path, NULL);

	g_assert_cmpint(write(fd, text, sizeof(text)), ==, sizeof(text));
	g_assert_null(rs_trace_region_open(fd, FALSE, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_REGION);
	g_clear_error(&error);
	g_assert_cmpint(ftruncate(fd, 1 << 20), ==, 0);
	g_assert_null(rs_trace_region_open(fd, FALSE, &error));
	g_assert_error(error, RS_TRACE_ERROR, RS_TRACE_ERROR_BAD_REGION);
	g_clear_error(&error);
	close(fd);
	g_unlink(path);
	g_free(path);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/decode/region/hostile", test_hostile_headers);
	g_test_add_func("/decode/region/guest-info", test_guest_info);
	g_test_add_func("/decode/region/none", test_no_region);
	return g_test_run();
}
