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

/* "é" has two bytes, of which the end of the message leaves one. */
static void test_cut_at_a_character(void)
{
	struct rs_error err = {0};
	g_autoptr(GString) big = g_string_new(NULL);

	while (big->len < sizeof(err.message))
		g_string_append(big, "é");
	rs_error_set(&err, EIO, "%s", big->str);
	g_assert_cmpuint(strlen(err.message), ==, sizeof(err.message) - 2);
	g_assert_true(g_utf8_validate(err.message, -1, NULL));
	rs_error_prefix(&err, "ab");
	g_assert_cmpuint(strlen(err.message), ==, sizeof(err.message) - 2);
	g_assert_true(g_utf8_validate(err.message, -1, NULL));
	/* One that is whole stays, whatever it is. */
	rs_error_set(&err, EIO, "\xc3");
	g_assert_cmpstr(err.message, ==, "\xc3");
}

static void test_trim(void)
{
	char whole[] = "aé", part[] = "a\xe2\x80", none[] = "", wrong[] = "a\x80";

	rs_error_trim(whole);
	g_assert_cmpstr(whole, ==, "aé");
	rs_error_trim(part);
	g_assert_cmpstr(part, ==, "a");
	rs_error_trim(none);
	g_assert_cmpstr(none, ==, "");
	rs_error_trim(wrong);
	g_assert_cmpstr(wrong, ==, "a\x80");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/base/error/set", test_set);
	g_test_add_func("/base/error/prefix", test_prefix);
	g_test_add_func("/base/error/long", test_long_messages_are_cut);
	g_test_add_func("/base/error/character", test_cut_at_a_character);
	g_test_add_func("/base/error/trim", test_trim);
	return g_test_run();
}
