/* SPDX-License-Identifier: MIT */
/* The messages if /dev/kvm cannot be used, and the escapes of serial output. */
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

static void test_limit(void)
{
	struct rs_error err = {0};

	g_assert_cmpint(rs_kvm_check_vcpus(288, 288, &err), ==, 0);
	g_assert_cmpint(rs_kvm_check_vcpus(0, 1024, &err), ==, 0);
	g_assert_cmpint(rs_kvm_check_vcpus(288, 289, &err), ==, -EINVAL);
	g_assert_nonnull(strstr(err.message, "289 vCPUs"));
	g_assert_nonnull(strstr(err.message, "288"));
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

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/vmm/kvm/missing", test_missing);
	g_test_add_func("/vmm/kvm/limit", test_limit);
	g_test_add_func("/vmm/kvm/not-kvm", test_not_kvm);
	g_test_add_func("/vmm/kvm/permission", test_permission);
	return g_test_run();
}
