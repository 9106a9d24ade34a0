/* SPDX-License-Identifier: MIT */
#include "machine/domain.h"

#include <errno.h>

#define UUID "3f1c5a0e-1111-4222-8333-444455556666"

static void test_a_way_names_its_domain(void)
{
	static const struct {
		const char *via, *name;
	} cases[] = {
		{"libvirt:qemu:///system#" UUID "#web1", "web1"},
		{"libvirt:qemu+unix:///system?socket=/a#" UUID "#a#b c", "a#b c"},
		{"libvirt:#" UUID "#x", "x"},
		{"libvirt:qemu:///system#" UUID, "domain"},
		{"libvirt:qemu:///system#1#web1", "domain"},
		{"qmp:/a#" UUID "#web1", "domain"},
		{"", "domain"},
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *name = rs_machine_domain_name(cases[i].via);

		g_assert_cmpstr(name, ==, cases[i].name);
	}
}

static void test_what_leads_nowhere_is_refused(void)
{
	struct rs_monitor *monitor = NULL;
	struct rs_error err = {0};
	struct rs_machine_device device = {0};
	GArray *pids = NULL;

	g_assert_cmpint(rs_machine_open_domain("libvirt:x", NULL, &monitor, &pids, &device, &err),
			==, -EINVAL);
	g_assert_null(monitor);
	g_assert_null(device.alias);
}

/* Renamed, by another socket: it is one. Another user's daemon has domains of its own. */
static void test_one_domain_has_many_ways(void)
{
	static const char uuid[] = "12345678-1234-1234-1234-123456789abc";
	static const struct {
		const char *one, *other, *other_uuid;
		bool same;
	} cases[] = {
		{"qemu:///system", "qemu:///system", uuid, true},
		{"qemu:///system", "qemu+unix:///system?socket=/tmp/x", uuid, true},
		{"qemu:///system", "qemu:///session", uuid, false},
		{"qemu:///system", "qemu:///system", "12345678-1234-1234-1234-123456789abd", false},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *one =
			g_strdup_printf(RS_VIA_DOMAIN "%s#%s#web1", cases[i].one, uuid);
		g_autofree char *other = g_strdup_printf(RS_VIA_DOMAIN "%s#%s#web2", cases[i].other,
							 cases[i].other_uuid);

		g_assert_cmpint(rs_machine_same_domain(one, other), ==, cases[i].same);
	}
	g_assert_false(rs_machine_same_domain("shm:/dev/shm/x", "shm:/dev/shm/x"));
}

static void test_only_domains_of_qemu_are_found(void)
{
	struct rs_error err = {0};
	char *via = NULL, *called = NULL;
	int ret = rs_machine_find_domain("test:///default", "test", &via, &called, &err);

	/* Without libvirt there is none at all. */
	g_assert_true(ret == -ENOTSUP || ret == -ENOPKG);
	g_assert_null(via);
	g_assert_null(called);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/machine-domain/name", test_a_way_names_its_domain);
	g_test_add_func("/machine-domain/nowhere", test_what_leads_nowhere_is_refused);
	g_test_add_func("/machine-domain/same", test_one_domain_has_many_ways);
	g_test_add_func("/machine-domain/qemu", test_only_domains_of_qemu_are_found);
	return g_test_run();
}
