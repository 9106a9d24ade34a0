/* SPDX-License-Identifier: MIT */
/* Which CPUs fetch an aligned word whole, as their vendors document it. */
#include "target/fetch.h"

#include <glib.h>
#include <string.h>

static void test_vendors(void)
{
	static const char *const others[] = {
		"GenuineIntel", "CentaurHauls", "  Shanghai  ", "AuthenticAM", "", "authenticamd"};

	g_assert_true(rs_fetch_vendor_is_whole("AuthenticAMD"));
	g_assert_true(rs_fetch_vendor_is_whole("HygonGenuine"));
	/* As CPUID has it, without an end. */
	g_assert_true(rs_fetch_vendor_is_whole("AuthenticAMDxyz"));
	for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
		g_assert_false(rs_fetch_vendor_is_whole(others[i]));
}

/* The words of leaf 0 are put together in the right order. */
static void test_this_cpu(void)
{
	g_autofree char *cpus = NULL;

	g_assert_true(g_file_get_contents("/proc/cpuinfo", &cpus, NULL, NULL));
	g_assert_cmpint(rs_fetch_is_whole(), ==,
			strstr(cpus, "AuthenticAMD") || strstr(cpus, "HygonGenuine"));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/fetch/vendors", test_vendors);
	g_test_add_func("/fetch/this-cpu", test_this_cpu);
	return g_test_run();
}
