/* SPDX-License-Identifier: MIT */
/* Tables, and when there are colours. */
#include "cli/color.h"
#include "cli/table.h"

#include <pty.h>
#include <unistd.h>

static const char *const HEADS[] = {"NAME", ">N", "WHAT", NULL};

static void add_row(struct rs_cli_table *table, const char *name, const char *n, const char *what)
{
	rs_cli_table_add(table, name, RS_COLOR_GOOD);
	rs_cli_table_add(table, n, NULL);
	rs_cli_table_add(table, what, NULL);
}

static char *shown(struct rs_cli_table *table, unsigned width)
{
	GString *out = g_string_new(NULL);

	rs_cli_table_append(table, width, out);
	return g_string_free(out, FALSE);
}

static void test_columns(void)
{
	g_autoptr(rs_cli_table) table = rs_cli_table_new(HEADS, false);
	g_autofree char *empty = shown(table, 0), *full = NULL;

	g_assert_cmpstr(empty, ==, "NAME  N  WHAT\n");
	add_row(table, "a-name-of-more-than-16-characters", "7", "x");
	rs_cli_table_line(table,
			  "  a line that is longer than all of the row and counts for no width");
	add_row(table, "b", "12345", "");
	full = shown(table, 0);
	g_assert_cmpstr(full, ==,
			"NAME                                   N  WHAT\n"
			"a-name-of-more-than-16-characters      7  x\n"
			"  a line that is longer than all of the row and counts for no width\n"
			"b                                  12345  \n");
}

/* What a guest calls itself neither moves the cursor nor another column. */
static void test_hostile(void)
{
	g_autoptr(rs_cli_table) table = rs_cli_table_new(HEADS, true);
	g_autofree char *text = NULL;

	add_row(table, "\033[2J", "1", "\n\r\xff");
	add_row(table, "漢字", "2", "wide");
	text = shown(table, 0);
	g_assert_cmpstr(text, ==,
			"\033[1mNAME\033[0m     \033[1mN\033[0m  \033[1mWHAT\033[0m\n"
			"\033[32m\\x1b[2J\033[0m  1  \\x0a\\x0d\\xff\n"
			"\033[32m漢字\033[0m     2  wide\n");
}

static void test_cut(void)
{
	g_autoptr(rs_cli_table) table = rs_cli_table_new(HEADS, true);
	g_autofree char *text = NULL;

	add_row(table, "漢字", "1", "never seen");
	text = shown(table, 3);
	g_assert_cmpstr(text, ==, "\033[1mNAM\033[0m\n\033[32m漢\033[0m\n");
}

static bool colored(const char *when, int fd)
{
	bool color = false;

	g_assert_cmpint(rs_cli_color_take(&rs_verb_ps, when, fd, &color), ==, RS_CLI_OK);
	return color;
}

static void test_color(void)
{
	int master, slave;
	bool color;

	g_assert_cmpint(openpty(&master, &slave, NULL, NULL, NULL), ==, 0);
	g_unsetenv("NO_COLOR");
	g_setenv("TERM", "xterm", TRUE);
	g_assert_true(colored(NULL, slave));
	g_assert_true(colored("auto", slave));
	g_assert_false(colored("never", slave));
	g_assert_false(colored("auto", -1));
	g_assert_true(colored("always", -1));
	g_setenv("NO_COLOR", "", TRUE);
	g_assert_true(colored("auto", slave));
	g_setenv("NO_COLOR", "1", TRUE);
	g_assert_false(colored("auto", slave));
	g_assert_true(colored("always", slave));
	g_unsetenv("NO_COLOR");
	g_setenv("TERM", "dumb", TRUE);
	g_assert_false(colored("auto", slave));
	g_assert_cmpint(rs_cli_color_take(&rs_verb_ps, "green", slave, &color), ==, RS_CLI_USAGE);
	close(slave);
	close(master);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/cli/table/columns", test_columns);
	g_test_add_func("/cli/table/hostile", test_hostile);
	g_test_add_func("/cli/table/cut", test_cut);
	g_test_add_func("/cli/color", test_color);
	return g_test_run();
}
