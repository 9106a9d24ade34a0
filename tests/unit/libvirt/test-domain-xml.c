/* SPDX-License-Identifier: MIT */
#include "libvirt/domain_xml.h"

#include <errno.h>
#include <string.h>

#define DOMAIN(devices)                                                                            \
	"<domain type='kvm' id='3'><name>web</name><vcpu placement='static' current='2'>4</vcpu>"  \
	"<os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os><devices>" devices            \
	"</devices></domain>"
#define ROOT                                                                                       \
	"<controller type='pci' index='0' model='pcie-root'><alias name='pcie.0'/></controller>"
#define PORT(n)                                                                                    \
	"<controller type='pci' index='" n "' model='pcie-root-port'><alias name='pci." n          \
	"'/><address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x" n             \
	"'/></controller>"
#define AT(bus, slot)                                                                              \
	"<address type='pci' domain='0x0000' bus='" bus "' slot='" slot "' function='0x0'/>"
#define SHMEM(name, rest) "<shmem name='" name "'><model type='ivshmem-plain'/>" rest "</shmem>"

static struct rs_domain_xml *parse(const char *text)
{
	struct rs_domain_xml *xml = NULL;
	struct rs_error err = {0};

	g_assert_cmpint(rs_domain_xml_parse(text, &xml, &err), ==, 0);
	return xml;
}

static void test_what_the_machine_is(void)
{
	struct rs_domain_xml *xml = parse(DOMAIN(ROOT));

	g_assert_cmpstr(xml->type, ==, "kvm");
	g_assert_cmpstr(xml->arch, ==, "x86_64");
	g_assert_cmpstr(xml->machine, ==, "pc-q35-7.2");
	g_assert_cmpuint(xml->cpus, ==, 4);
	g_assert_true(rs_domain_xml_is_express(xml));
	g_assert_null(rs_domain_xml_ours(xml));
	rs_domain_xml_free(xml);
}

static void test_our_device_is_told_by_its_name(void)
{
	struct rs_domain_xml *xml =
		parse(DOMAIN(SHMEM("lookingglass", "<size unit='M'>32</size>") SHMEM(
			"ringside-web-1-16M",
			"<size unit='M'>16</size><alias name='shmem1'/>" AT("0x05", "0x00"))));
	const struct rs_xml_shmem *ours = rs_domain_xml_ours(xml);

	g_assert_nonnull(ours);
	g_assert_cmpstr(ours->name, ==, "ringside-web-1-16M");
	g_assert_cmpstr(ours->model, ==, "ivshmem-plain");
	g_assert_null(ours->role);
	g_assert_cmpstr(ours->alias, ==, "shmem1");
	g_assert_cmpuint(ours->size, ==, 16u << 20);
	g_assert_true(ours->address.known);
	g_assert_cmpuint(ours->address.bus, ==, 5);
	rs_domain_xml_free(xml);
}

static void test_a_device_has_a_role(void)
{
	struct rs_domain_xml *xml = parse(DOMAIN("<shmem name='ringside-a' role='master'/>"));

	g_assert_cmpstr(rs_domain_xml_ours(xml)->role, ==, RS_XML_MASTER);
	rs_domain_xml_free(xml);
}

static void test_an_empty_port_has_no_device_behind_it(void)
{
	struct rs_domain_xml *xml =
		parse(DOMAIN(ROOT PORT("1") PORT("2") SHMEM("x", AT("0x01", "0x00"))));
	const struct rs_xml_bus *port = rs_domain_xml_empty_port(xml);

	g_assert_nonnull(port);
	g_assert_cmpuint(port->index, ==, 2);
	g_assert_cmpstr(port->alias, ==, "pci.2");
	rs_domain_xml_free(xml);
	xml = parse(DOMAIN(ROOT PORT("1") SHMEM("x", AT("0x01", "0x00"))));
	g_assert_null(rs_domain_xml_empty_port(xml));
	rs_domain_xml_free(xml);
}

static void test_a_free_slot_of_bus_0(void)
{
	GString *devices = g_string_new(NULL);
	g_autofree char *text = NULL;
	struct rs_domain_xml *xml = parse(DOMAIN(SHMEM("x", AT("0x00", "0x1e"))));

	g_assert_cmpuint(rs_domain_xml_free_slot(xml), ==, 0x1d);
	rs_domain_xml_free(xml);
	for (int slot = 0; slot < 0x20; slot++)
		g_string_append_printf(devices,
				       "<disk><address type='pci' bus='0x00' slot='0x%02x'/>"
				       "</disk>",
				       slot);
	text = g_strdup_printf("<domain><vcpu>1</vcpu><devices>%s</devices></domain>",
			       devices->str);
	xml = parse(text);
	g_assert_cmpuint(rs_domain_xml_free_slot(xml), ==, 0);
	rs_domain_xml_free(xml);
	g_string_free(devices, TRUE);
}

static void test_sizes_have_units(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} cases[] = {{"<size>4096</size>", 4096},
		     {"<size unit='bytes'>1</size>", 1},
		     {"<size unit='KiB'>4</size>", 4096},
		     {"<size unit='MB'>2</size>", 2000000},
		     {"<size unit='G'> 1\n</size>", 1u << 30},
		     {"", 0}};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *text =
			g_strdup_printf("<domain><vcpu>1</vcpu><devices><shmem name='ringside-x'>"
					"%s</shmem></devices></domain>",
					cases[i].text);
		struct rs_domain_xml *xml = parse(text);

		g_assert_cmpuint(rs_domain_xml_ours(xml)->size, ==, cases[i].bytes);
		rs_domain_xml_free(xml);
	}
}

static void test_odd_text_is_an_error(void)
{
	static const char *const cases[] = {
		"",
		"no XML",
		"<domain>",
		"<network><vcpu>1</vcpu></network>",
		"<domain><name>x</name></domain>",
		"<domain><vcpu>many</vcpu></domain>",
		"<domain><vcpu>-1</vcpu></domain>",
		"<domain><vcpu>65537</vcpu></domain>",
		"<domain><vcpu>1<type/></vcpu></domain>",
		DOMAIN(SHMEM("", "")),
		DOMAIN(SHMEM("a/b", "")),
		DOMAIN(SHMEM("..", "")),
		DOMAIN("<shmem/>"),
		DOMAIN(SHMEM("x", "<size unit='acre'>1</size>")),
		DOMAIN(SHMEM("x", "<size unit='G'>1025</size>")),
		DOMAIN(SHMEM("x", AT("0x100", "0x00"))),
		DOMAIN(SHMEM("x", AT("0x00", "0x20"))),
		DOMAIN("<controller type='pci' index='256' model='pci-bridge'/>"),
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct rs_domain_xml *xml = NULL;
		struct rs_error err = {0};

		g_test_message("%s", cases[i]);
		g_assert_cmpint(rs_domain_xml_parse(cases[i], &xml, &err), ==, -EBADMSG);
		g_assert_null(xml);
		g_assert_true(g_str_has_prefix(err.message, "the domain's XML: "));
	}
}

static void test_nesting_is_bounded(void)
{
	GString *text = g_string_new("<domain><vcpu>1</vcpu>");
	struct rs_domain_xml *xml;

	for (int i = 0; i < 1000; i++)
		g_string_append(text, "<a>");
	g_assert_cmpint(rs_domain_xml_parse(text->str, &xml, NULL), ==, -EBADMSG);
	g_string_free(text, TRUE);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/domain-xml/machine", test_what_the_machine_is);
	g_test_add_func("/domain-xml/ours", test_our_device_is_told_by_its_name);
	g_test_add_func("/domain-xml/role", test_a_device_has_a_role);
	g_test_add_func("/domain-xml/port", test_an_empty_port_has_no_device_behind_it);
	g_test_add_func("/domain-xml/slot", test_a_free_slot_of_bus_0);
	g_test_add_func("/domain-xml/sizes", test_sizes_have_units);
	g_test_add_func("/domain-xml/odd", test_odd_text_is_an_error);
	g_test_add_func("/domain-xml/nesting", test_nesting_is_bounded);
	return g_test_run();
}
