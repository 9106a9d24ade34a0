/* SPDX-License-Identifier: MIT */
#include "cli/args.h"

#include <errno.h>
#include <glib/gstdio.h>

static void test_sizes(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {
		{"0", 0},
		{"512", 512},
		{"1k", 1024},
		{"64K", 65536},
		{"16M", 16u << 20},
		{"3g", 3ull << 30},
		{"2T", 2ull << 40},
		{"010", 10},
		{"18446744073709551615", UINT64_MAX},
		{"16777215T", 16777215ull << 40},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rs_error err = {0};
		uint64_t bytes = 1;

		g_assert_cmpint(rs_cli_parse_size(cases[i].text, &bytes, &err), ==, 0);
		g_assert_cmpuint(bytes, ==, cases[i].bytes);
	}
}

static void test_no_sizes(void)
{
	static const char *const cases[] = {
		"",
		"K",
		"-1",
		" -1",
		" 1",
		"+1",
		"1 K",
		"1KB",
		"1Q",
		"0x10",
		"1.5",
		"1K ",
		"many",
		"1KK",
		"18446744073709551616",
		"1M1",
		"-64K",
		"99999999999999999999999",
		/* Fits, but not with its unit. */
		"16777216T",
		"18014398509481984K",
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rs_error err = {0};
		uint64_t bytes = 1;

		g_assert_cmpint(rs_cli_parse_size(cases[i], &bytes, &err), ==, -EINVAL);
		g_assert_nonnull(strstr(err.message, "no size"));
		g_assert_cmpuint(bytes, ==, 1);
	}
}

static void test_demo_is_looked_for(void)
{
	g_autofree char *dir = g_dir_make_tmp("ringside-cli-XXXXXX", NULL);
	g_autofree char *guest = g_build_filename(dir, "demo", NULL);
	g_autofree char *found = NULL;
	struct rs_error err = {0};

	g_assert_true(g_setenv("RINGSIDE_GUESTS", dir, TRUE));
	g_assert_cmpint(rs_cli_find_demo(&found, &err), <, 0);
	g_assert_nonnull(strstr(err.message, guest));
	g_assert_true(g_file_set_contents(guest, "x", 1, NULL));
	g_assert_cmpint(rs_cli_find_demo(&found, &err), ==, 0);
	g_assert_cmpstr(found, ==, guest);
	g_unlink(guest);
	g_rmdir(dir);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/args/sizes", test_sizes);
	g_test_add_func("/cli/args/no-sizes", test_no_sizes);
	g_test_add_func("/cli/args/demo", test_demo_is_looked_for);
	return g_test_run();
}
