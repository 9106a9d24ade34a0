/* SPDX-License-Identifier: MIT */
/*
 * What a traced process maps of the memory that it shares with others: the directory, of which only
 * the claims are writable, and its own region, of which only the guest's part is. So a wild store
 * reaches neither the region of another process nor what the host has written.
 *
 * The test is the host, and runs itself as the traced process, which prints its maps.
 */
#include "region/regions.h"
#include "rs_hosted.h"

#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <ringside/directory.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REGIONS 3u

/* The mapped parts of the file as "FROM-TO MODE", offsets in the file. */
static int be_traced(const char *path)
{
	g_autofree char *maps = NULL;
	g_auto(GStrv) lines = NULL;

	if (rs_hosted_init("maps") || !rs_hosted_active() ||
	    !g_file_get_contents("/proc/self/maps", &maps, NULL, NULL))
		return 1;
	lines = g_strsplit(maps, "\n", 0);
	for (char **line = lines; *line; line++) {
		unsigned long from, to, offset;
		char mode[5];

		if (g_str_has_suffix(*line, path) &&
		    sscanf(*line, "%lx-%lx %4s %lx", &from, &to, mode, &offset) == 4)
			printf("%lx-%lx %s\n", offset, offset + (to - from), mode);
	}
	return 0;
}

static char *run_traced(const char *path)
{
	g_autofree char *exe = g_file_read_link("/proc/self/exe", NULL);
	g_auto(GStrv) envp = g_environ_setenv(g_get_environ(), "RINGSIDE_REGION", path, TRUE);
	const char *const argv[] = {exe, "--traced", path, NULL};
	char *said = NULL;
	gint status;

	g_assert_true(g_spawn_sync(NULL, (char **)(uintptr_t)argv, envp, G_SPAWN_DEFAULT, NULL,
				   NULL, &said, NULL, &status, NULL));
	g_assert_cmpint(status, ==, 0);
	return said;
}

/* The one region that was taken. */
static uint32_t taken(const struct rs_regions *regions)
{
	uint32_t found = 0, owner;

	for (uint32_t i = 1; i <= REGIONS; i++) {
		if (!rs_regions_owner(regions, i, &owner))
			continue;
		g_assert_cmpuint(found, ==, 0);
		found = i;
	}
	g_assert_cmpuint(found, >, 0);
	return found;
}

static void expect(const char *said, uint64_t from, uint64_t to, const char *mode)
{
	g_autofree char *line = g_strdup_printf(
		"%" G_GINT64_MODIFIER "x-%" G_GINT64_MODIFIER "x %s\n", from, to, mode);

	if (!strstr(said, line))
		g_error("no %s in %s", line, said);
}

static void test_maps(void)
{
	g_autofree char *dir = g_dir_make_tmp("rs-maps-XXXXXX", NULL), *said = NULL;
	g_autofree char *path = g_build_filename(dir, "memory", NULL);
	struct rs_region_config config = {.vcpus = 2, .ring_bytes = 64 * 1024};
	const struct rs_regions_run runs[] = {{&config, RS_SOURCE_KERNEL, 1},
					      {&config, RS_SOURCE_USER, REGIONS}};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), claims;
	struct rs_directory_entry entry;
	struct rs_region_header header;
	struct rs_regions *regions;
	struct rs_directory head;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(rs_regions_create(runs, G_N_ELEMENTS(runs), false, fd, &regions, NULL), ==,
			0);
	said = run_traced(path);

	g_assert_cmpint(pread(fd, &head, sizeof(head), 0), ==, sizeof(head));
	g_assert_cmpint(pread(fd, &entry, sizeof(entry),
			      (off_t)(head.entries_offset + taken(regions) * head.entry_stride)),
			==, sizeof(entry));
	g_assert_cmpint(pread(fd, &header, sizeof(header), (off_t)entry.offset), ==,
			sizeof(header));
	claims = head.claims_offset;
	expect(said, 0, claims, "r--s");
	expect(said, claims, claims + RS_ALIGN_UP((head.entry_count + 1) * 8ull, page), "rw-s");
	expect(said, entry.offset, entry.offset + header.guest_offset, "r--s");
	expect(said, entry.offset + header.guest_offset, entry.offset + entry.size, "rw-s");
	/* And nothing else. */
	{
		g_auto(GStrv) lines = g_strsplit(said, "\n", 0);

		g_assert_cmpuint(g_strv_length(lines), ==, 4 + 1);
	}
	rs_regions_free(regions);
	g_unlink(path);
	g_rmdir(dir);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--traced") == 0)
		return be_traced(argv[2]);
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/hosted/maps", test_maps);
	return g_test_run();
}
