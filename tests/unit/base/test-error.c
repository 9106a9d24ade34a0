/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

static void test_set(void)
{
	struct rs_error err = {0};

	g_assert_cmpint(rs_error_set(&err, EINVAL, "bad %d", 7), ==, -EINVAL);
	g_assert_cmpint(err.code, ==, EINVAL);
	g_assert_cmpstr(err.message, ==, "bad 7");
	g_assert_cmpint(rs_error_set(NULL, EIO, "unseen"), ==, -EIO);
}

static void test_prefix(void)
{
	struct rs_error err = {0};

	rs_error_set(&err, ENOENT, "no such file");
	g_assert_cmpint(rs_error_prefix(&err, "guest '%s'", "a"), ==, -ENOENT);
	g_assert_cmpstr(err.message, ==, "guest 'a': no such file");
}

static void test_long_messages_are_cut(void)
{
	struct rs_error err = {0};
	char big[2000];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	rs_error_set(&err, EIO, "%s", big);
	g_assert_cmpuint(strlen(err.message), ==, sizeof(err.message) - 1);
	rs_error_prefix(&err, "%s", big);
	g_assert_cmpuint(strlen(err.message), ==, sizeof(err.message) - 1);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/base/error/set", test_set);
	g_test_add_func("/base/error/prefix", test_prefix);
	g_test_add_func("/base/error/long", test_long_messages_are_cut);
	return g_test_run();
}
