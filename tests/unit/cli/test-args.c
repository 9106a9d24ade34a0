/* SPDX-License-Identifier: MIT */
#include "cli/args.h"
#include "cli/options.h"

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

static gboolean on_letters(const char *name, const char *value, gpointer data, GError **error)
{
	return TRUE;
}

static void test_a_value_may_be_joined_to_its_letter(void)
{
	static gboolean flag;
	static char *text;
	static gint64 number;
	static const GOptionEntry entries[] = {
		{"decimal", 'd', 0, G_OPTION_ARG_NONE, &flag, NULL, NULL},
		{"label", 'u', 0, G_OPTION_ARG_STRING, &text, NULL, NULL},
		{"number", 'n', 0, G_OPTION_ARG_INT64, &number, NULL, NULL},
		{"points", 't', 0, G_OPTION_ARG_CALLBACK, on_letters, NULL, NULL},
		{"stack", 0, 0, G_OPTION_ARG_INT64, &number, NULL, NULL},
		{0}};
	static const char *const cases[][2] = {
		{"v", "v"},
		{"-n5 x", "-n5 x"}, /* the verb's name is none */
		{"v -n5 x", "v -n 5 x"},
		{"v -n 5 x", "v -n 5 x"},
		{"v -tcin -dn10", "v -t cin -dn 10"},
		{"v -dn 10", "v -dn 10"},
		{"v -d -dd", "v -d -dd"},
		{"v -u -n5 -n5", "v -u -n5 -n 5"},
		{"v -h -x5 -5 - --number=5 --decimal", "v -h -x5 -5 - --number=5 --decimal"},
		{"v -t+ -- -n5", "v -t + -- -n5"},
		{"v -n", "v -n"},
		{"v --stack", "v --stack=16"}, /* its value may be left out */
		{"v --stack a:b", "v --stack=16 a:b"},
		{"v --stack 4 a:b", "v --stack 4 a:b"},
		{"v --stack=4 5", "v --stack=4 5"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_auto(GStrv) argv = g_strsplit(cases[i][0], " ", -1);
		g_autofree char **split =
			rs_cli_split_values(entries, (int)g_strv_length(argv), argv);
		g_autofree char *joined = g_strjoinv(" ", split);

		g_assert_cmpstr(joined, ==, cases[i][1]);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/args/sizes", test_sizes);
	g_test_add_func("/cli/args/no-sizes", test_no_sizes);
	g_test_add_func("/cli/args/a-value-may-be-joined-to-its-letter",
			test_a_value_may_be_joined_to_its_letter);
	g_test_add_func("/cli/args/demo", test_demo_is_looked_for);
	return g_test_run();
}
