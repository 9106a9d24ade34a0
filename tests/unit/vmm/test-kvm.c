/* SPDX-License-Identifier: MIT */
/* What a user is told where /dev/kvm cannot be used, and what a terminal may see. */
#define _GNU_SOURCE
#include "vmm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

static void expect(const char *device, int ret, const char *words)
{
	struct rs_error err = {0};

	g_assert_cmpint(rs_kvm_open(device, &err), ==, ret);
	g_assert_nonnull(strstr(err.message, words));
	g_assert_nonnull(strstr(err.message, device));
}

static void test_missing(void)
{
	expect("/nonexistent/kvm", -ENOENT, "is missing");
}

static void test_not_kvm(void)
{
	expect("/dev/null", -ENOTTY, "is not KVM");
}

static void test_permission(void)
{
	g_autofree char *path = g_strdup("/tmp/rs-kvm-XXXXXX");
	int fd = g_mkstemp(path);
	bool root = geteuid() == 0;

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(fchmod(fd, 0), ==, 0);
	if (root)
		g_assert_cmpint(seteuid(65534), ==, 0);
	expect(path, -EACCES, "no permission to use");
	if (root)
		g_assert_cmpint(seteuid(0), ==, 0);
	close(fd);
	g_unlink(path);
}

static void test_escape(void)
{
	const struct {
		const char *in, *out;
	} cases[] = {{"plain\ttext\n", "plain\ttext\n"},
		     {"line\r\n", "line\n"},
		     {"over\rwritten", "over\\x0dwritten"},
		     {"\033[31m", "\\x1b[31m"},
		     {"\xc2\x9b", "\\xc2\\x9b"},
		     {"\xff\xc3", "\\xff\\xc3"},
		     {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		     {"\xe2\x80\xae", "\\xe2\\x80\\xae"},
		     {"\x7f", "\\x7f"}};
	size_t size;
	char *text;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		text = rs_serial_escape(cases[i].in, strlen(cases[i].in), &size);
		g_assert_cmpstr(text, ==, cases[i].out);
		g_assert_cmpuint(size, ==, strlen(text));
		g_free(text);
	}
	text = rs_serial_escape("a\0b", 3, &size);
	g_assert_cmpstr(text, ==, "a\\x00b");
	g_free(text);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vmm/kvm/missing", test_missing);
	g_test_add_func("/vmm/kvm/not-kvm", test_not_kvm);
	g_test_add_func("/vmm/kvm/permission", test_permission);
	g_test_add_func("/vmm/serial/escape", test_escape);
	return g_test_run();
}
