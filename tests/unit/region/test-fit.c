/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "region/fit.h"
#include "region/regions.h"

#include <errno.h>
#include <ringside/control.h>
#include <ringside/ring.h>
#include <sys/mman.h>
#include <unistd.h>

static int fit(uint64_t kib, uint32_t vcpus, uint64_t ring_bytes, uint32_t users,
	       struct rs_fit *out)
{
	const struct rs_fit_wish wish = {
		.size = kib << 10, .vcpus = vcpus, .ring_bytes = ring_bytes, .users = users};
	struct rs_error err = {0};
	int ret = rs_region_fit(&wish, out, &err);

	g_assert_cmpint(!*err.message, ==, !ret);
	return ret;
}

/* Lays it out in a file of that size, as a session does, and opens it again. */
static void check_real(uint64_t size, const struct rs_fit *fit)
{
	const struct rs_regions_run runs[] = {
		{&fit->main, RS_SOURCE_KERNEL, 1},
		{&fit->user, RS_SOURCE_USER, fit->users},
	};
	int fd = memfd_create("fit", MFD_CLOEXEC), kept = dup(fd);
	struct rs_regions *regions = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(ftruncate(fd, (off_t)size), ==, 0);
	/* What lay there is gone, and the size stays. */
	g_assert_cmpint(pwrite(fd, "old", 3, (off_t)size - 3), ==, 3);
	g_assert_cmpint(rs_regions_create_in(fd, size, runs, 2, &regions, &err), ==, 0);
	g_assert_cmpuint(rs_regions_size(regions), ==, size);
	g_assert_cmpint(lseek(kept, 0, SEEK_END), ==, (off_t)size);
	rs_regions_free(regions);
	g_assert_cmpint(rs_regions_open(kept, &regions, &err), ==, 0);
	for (uint32_t i = 0; i <= fit->users; i++) {
		RsTraceRegion *region = NULL;

		g_assert_cmpint(rs_regions_map(regions, i, &region, &err), ==, 0);
		g_assert_cmpuint(region->header.ring_count, ==, fit->main.vcpus);
		rs_trace_region_free(region);
	}
	rs_regions_free(regions);
}

static void test_sizes(void)
{
	static const uint32_t vcpus[] = {1, 2, 3, 4, 8, 16, 64, 255};
	uint64_t before = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(vcpus); i++) {
		before = 0;
		for (uint64_t kib = 1024; kib <= 1u << 19; kib *= 2) {
			struct rs_fit got;

			if (fit(kib, vcpus[i], 0, RS_FIT_USERS_DEFAULT, &got)) {
				g_assert_cmpuint(before, ==, 0); /* more memory is never worse */
				continue;
			}
			g_assert_cmpuint(got.main.ring_bytes, >=, before);
			before = got.main.ring_bytes;
			check_real(kib << 10, &got);
		}
		g_assert_cmpuint(before, ==, 1u << 20);
	}
}

/* Rings that may grow take the room for that twice, whatever they have at first. */
static void test_room_to_grow(void)
{
	struct rs_fit_wish wish = {
		.size = 16u << 20, .vcpus = 2, .ring_max = 2u << 20, .users = RS_FIT_USERS_DEFAULT};
	struct rs_region_header header;
	struct rs_error err = {0};
	struct rs_fit got;

	g_assert_cmpint(rs_region_fit(&wish, &got, &err), ==, 0);
	g_assert_cmpuint(got.main.ring_bytes, ==, 1u << 20);
	g_assert_cmpuint(got.main.ring_max, ==, 2u << 20);
	g_assert_cmpuint(got.user.ring_max, ==, 0);
	check_real(wish.size, &got);
	g_assert_cmpint(rs_region_lay_out(&got.main, &header, &err), ==, 0);
	g_assert_cmpuint(header.ring_room, ==, 512);
	g_assert_cmpuint(rs_region_rings_size(&header), ==, 2u * ((1u << 20) + 2 * (2u << 20)));
	/* An older agent finds each ring where it always was. */
	g_assert_cmpuint(rs_region_place_offset(&header, 1, 0), ==, 1u << 20);
	/* The places of changes lie behind, one after the other, and end with the section. */
	g_assert_cmpuint(rs_region_place_offset(&header, 0, 2), ==, 2u << 20);
	g_assert_cmpuint(rs_region_place_offset(&header, 0, 1), ==, 4u << 20);
	g_assert_cmpuint(rs_region_place_offset(&header, 1, 2), ==, 6u << 20);
	g_assert_cmpuint(rs_region_place_offset(&header, 1, 3) + (2u << 20), ==,
			 rs_region_rings_size(&header));
	wish.ring_max = 8u << 20;
	g_assert_cmpint(rs_region_fit(&wish, &got, &err), ==, -ENOSPC);
	wish.ring_max = 1u << 30;
	g_assert_cmpint(rs_region_fit(&wish, &got, &err), ==, -EINVAL);
}

/* What QEMU offers: 1 or 2 MiB behind a port, 4 MiB where no port is. */
static void test_small_bars(void)
{
	struct rs_fit got;

	g_assert_cmpint(fit(1024, 2, 0, RS_FIT_USERS_DEFAULT, &got), ==, 0);
	g_assert_cmpuint(got.main.ring_bytes, >=, 128u << 10);
	g_assert_cmpint(fit(1024, 8, 0, RS_FIT_USERS_DEFAULT, &got), ==, 0);
	g_assert_cmpint(fit(2048, 4, 0, RS_FIT_USERS_DEFAULT, &got), ==, 0);
	g_assert_cmpuint(got.main.desc_bytes, >=, 256u << 10);
	g_assert_cmpuint(got.users, >=, 1);
	g_assert_cmpint(fit(4096, 2, 0, RS_FIT_USERS_DEFAULT, &got), ==, 0);
	g_assert_cmpuint(got.users, ==, 4);
	g_assert_cmpuint(got.main.ring_bytes, >=, 512u << 10);
}

static void test_wishes(void)
{
	struct rs_fit got;

	/* Rings that somebody asks for go before tables and processes. */
	g_assert_cmpint(fit(2048, 2, 512u << 10, RS_FIT_USERS_DEFAULT, &got), ==, 0);
	g_assert_cmpuint(got.main.ring_bytes, ==, 512u << 10);
	check_real(2048u << 10, &got);
	g_assert_cmpint(fit(8192, 2, 0, 0, &got), ==, 0);
	g_assert_cmpuint(got.users, ==, 0);
	g_assert_cmpint(fit(16384, 2, 0, 16, &got), ==, 0);
	g_assert_cmpuint(got.users, ==, 16);
	check_real(16384u << 10, &got);
	g_assert_cmpint(fit(1 << 18, 2, 16u << 20, RS_FIT_USERS_DEFAULT, &got), ==, 0);
	g_assert_cmpuint(got.main.ring_bytes, ==, 16u << 20);
}

static void test_too_small(void)
{
	struct rs_fit got = {.users = 77};

	g_assert_cmpint(fit(960, 1, 0, RS_FIT_USERS_DEFAULT, &got), ==, -ENOSPC);
	g_assert_cmpint(fit(0, 1, 0, RS_FIT_USERS_DEFAULT, &got), ==, -ENOSPC);
	g_assert_cmpint(fit(1024, 255, 0, RS_FIT_USERS_DEFAULT, &got), ==, -ENOSPC);
	g_assert_cmpint(fit(1024, 2, 1u << 20, RS_FIT_USERS_DEFAULT, &got), ==, -ENOSPC);
	g_assert_cmpint(fit(1024, 2, 0, 16, &got), ==, -ENOSPC);
	g_assert_cmpint(fit(1024, 0, 0, RS_FIT_USERS_DEFAULT, &got), ==, -EINVAL);
	g_assert_cmpint(fit(1 << 20, RS_MAX_CPUS + 1, 0, RS_FIT_USERS_DEFAULT, &got), ==, -EINVAL);
	g_assert_cmpint(fit(1 << 20, 1, 0, RS_MAX_REGIONS, &got), ==, -EINVAL);
	g_assert_cmpint(fit(1 << 20, 1, 5, RS_FIT_USERS_DEFAULT, &got), ==, -EINVAL);
	g_assert_cmpuint(got.users, ==, 77);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/region/fit/room-to-grow", test_room_to_grow);
	g_test_add_func("/region/fit/sizes", test_sizes);
	g_test_add_func("/region/fit/small-bars", test_small_bars);
	g_test_add_func("/region/fit/wishes", test_wishes);
	g_test_add_func("/region/fit/too-small", test_too_small);
	return g_test_run();
}
