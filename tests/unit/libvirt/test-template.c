/* SPDX-License-Identifier: MIT */
#include "libvirt/template.h"

#include "libvirt/domain_xml.h"
#include <errno.h>
#include <string.h>

#define OWN "ringside-run-1234-16M"
#define DOMAIN(rest)                                                                               \
	"<domain type='kvm' id='3'><name>web</name><uuid>1-1</uuid><vcpu>4</vcpu>" rest "</"       \
	"domain>"
#define OS(rest) "<os><type arch='x86_64' machine='pc'>hvm</type>" rest "</os>"
#define DEVICES(rest) DOMAIN(OS("") "<devices>" rest "</devices>")
#define DISK(type, device, rest)                                                                   \
	"<disk type='" type "' device='" device "'><source file='/a'/>" rest "</disk>"

static const struct rs_template_wish plain = {
	.name = "run", .uuid = "2-2", .memory_name = OWN, .memory_mib = 16};

static char *make(const char *text, const struct rs_template_wish *wish)
{
	struct rs_error err = {0};
	char *out = NULL;

	rs_template_make(text, wish, &out, &err);
	g_assert_cmpstr(err.message, ==, "");
	return out;
}

/* The template becomes what has each of `has`, and none of `lacks`. Both end with a NULL. */
static void check(const char *text, const struct rs_template_wish *wish, const char *const *has,
		  const char *const *lacks)
{
	g_autofree char *out = make(text, wish);

	for (; *has; has++)
		if (!strstr(out, *has))
			g_error("no %s in %s", *has, out);
	for (; *lacks; lacks++)
		if (strstr(out, *lacks))
			g_error("%s in %s", *lacks, out);
}

#define HAS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define LACKS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void refuses(const char *text, const struct rs_template_wish *wish, int code,
		    const char *why)
{
	struct rs_error err = {0};
	char *out = NULL;

	g_assert_cmpint(rs_template_make(text, wish, &out, &err), ==, -code);
	g_assert_null(out);
	if (!strstr(err.message, why))
		g_error("%s: not %s", err.message, why);
}

static void test_it_gets_names_of_its_own(void)
{
	check(DEVICES("<interface type='user'><mac address='52:54:00:1:2:3'/><target dev='v0'/>"
		      "<model type='e1000'/></interface>"),
	      &plain,
	      HAS("<name>run</name>", "<uuid>2-2</uuid>", "<domain type='kvm'>", "<vcpu>4</vcpu>",
		  "<model type='e1000'/>"),
	      LACKS("web", "1-1", "mac ", "v0", "id='3'"));
	check(DOMAIN("<sysinfo><system><entry name='uuid'>1-1</entry><entry name='sku'>s</entry>"
		     "</system></sysinfo><genid>1-1</genid>"),
	      &plain, HAS("<entry name='sku'>s</entry>", "<genid/>"), LACKS("1-1"));
}

static void test_it_ends_with_its_guest(void)
{
	struct rs_template_wish keeps = plain;

	check(DOMAIN("<on_reboot>restart</on_reboot><on_crash>coredump-restart</on_crash>"), &plain,
	      HAS("<on_reboot>destroy</on_reboot>", "<on_crash>destroy</on_crash>"),
	      LACKS("restart"));
	keeps.keep_crashed = true;
	check(DOMAIN(""), &keeps, HAS("<on_crash>preserve</on_crash>"), LACKS("crash>destroy"));
}

static void test_its_disks_are_not_written(void)
{
	check(DOMAIN("<devices>" DISK("file", "disk",
				      "<target bus='virtio'/>") "</devices>"
								"<features><acpi/></features>"),
	      &plain, HAS("<transient shareBacking='yes'/></disk>"), LACKS("<transient/>"));
	check(DEVICES(DISK("file", "disk", "<target bus='virtio'/>")), &plain,
	      HAS("<transient/></disk>"), LACKS("shareBacking"));
	check(DEVICES(DISK("file", "disk", "<target bus='ide'/><transient shareBacking='yes'/>")),
	      &plain, HAS("<transient/></disk>"), LACKS("shareBacking"));
	check(DEVICES("<disk><source file='/a'/><target bus='sata'/></disk>"), &plain,
	      HAS("<transient/></disk>"), LACKS("shareBacking"));
	check(DEVICES(DISK("file", "cdrom", "") DISK("block", "disk", "<readonly/>")), &plain,
	      HAS("cdrom", "block"), LACKS("transient"));
	check(DEVICES(DISK("file", "floppy", "")), &plain, HAS("<readonly/></disk>"),
	      LACKS("transient"));
	/* Those of a run that is over, which stand elsewhere. */
	check(DEVICES(DISK("file", "disk",
			   "<mirror><readonly/></mirror><backingStore><source/>"
			   "<readonly/></backingStore>")),
	      &plain, HAS("<transient/></disk>"), LACKS("mirror"));
	refuses(DEVICES(DISK("block", "disk", "")), &plain, ENOTSUP, "<readonly/>");
	refuses(DEVICES(DISK("network", "lun", "")), &plain, ENOTSUP, "<readonly/>");
	refuses(DEVICES("<memory model='nvdimm'/>"), &plain, ENOTSUP, "nvdimm");
}

static void test_its_firmware_leaves_nothing(void)
{
	refuses(DOMAIN("<os><loader type='pflash'>/x</loader></os>"), &plain, ENOTSUP, "stateless");
	refuses(DOMAIN("<os firmware='efi'/>"), &plain, ENOTSUP, "stateless");
	refuses(DOMAIN("<os><nvram>/x</nvram></os>"), &plain, ENOTSUP, "stateless");
	check(DOMAIN("<os firmware='efi'><loader stateless='yes'/></os>"), &plain,
	      HAS("stateless='yes'"), LACKS("nvram"));
}

static void test_its_consoles_are_ours(void)
{
	check(DEVICES("<serial type='file'><source path='/s'/></serial><console type='pty'/>"
		      "<parallel type='dev'/><channel type='unix'><source path='/c'/>"
		      "<target type='virtio' name='org.qemu.guest_agent.0'/></channel>"
		      "<channel type='file'><source path='/f'/></channel>"
		      "<graphics type='vnc' port='5901' listen='::1'><listen type='address'/>"
		      "</graphics><vsock><cid auto='no' address='3'/></vsock>"),
	      &plain,
	      HAS("<serial type='null'><target port='0'/></serial>", "org.qemu.guest_agent.0",
		  "<graphics type='vnc' listen='::1' autoport='yes'>", "<cid auto='yes'/>"),
	      LACKS("'/s'", "'/c'", "'/f'", "console", "parallel", "5901", "address='3'"));
}

static void test_it_has_one_device_for_traces(void)
{
	g_autofree char *out = make(DOMAIN(OS("") "<devices><shmem name='ringside-a'/></devices>"
						  "<devices><shmem name='b'/></devices>"),
				    &plain);
	struct rs_domain_xml *xml;

	g_assert_cmpint(rs_domain_xml_parse(out, &xml, NULL), ==, 0);
	g_assert_cmpuint(xml->shmems->len, ==, 2);
	g_assert_cmpstr(rs_domain_xml_ours(xml)->name, ==, OWN);
	g_assert_cmpuint(rs_domain_xml_ours(xml)->size, ==, 16u << 20);
	g_assert_false(rs_domain_xml_ours(xml)->address.known);
	rs_domain_xml_free(xml);
	check(DOMAIN(""), &plain, HAS("<devices><serial", OWN), LACKS("<address"));
	/* On PCI Express libvirt would choose a bad place. */
	check(DOMAIN("<os><type machine='q35'/></os>"), &plain, HAS("bus='0x00' slot='0x1e'"),
	      LACKS("ringside-a"));
	check(DOMAIN("<os><type machine='pc-q35-7.2'/></os><devices>"
		     "<controller type='pci' index='2' model='pcie-root-port'/></devices>"),
	      &plain, HAS("bus='0x02' slot='0x00'"), LACKS("ringside-a"));
}

static void test_options_replace_what_it_says(void)
{
	struct rs_template_wish wish = plain;

	wish.cpus = 3;
	wish.memory = 96u << 20;
	wish.append = "a <&'> b";
	check(DOMAIN("<memory>1</memory><currentMemory>1</currentMemory><cpu><topology cores='4'/>"
		     "<model>x</model></cpu>" OS("<kernel>/k</kernel><cmdline>old</cmdline>")),
	      &wish,
	      HAS("<vcpu>3</vcpu>", "<memory unit='KiB'>98304</memory>", "<model>x</model>",
		  "<cmdline>a &lt;&amp;&apos;&gt; b</cmdline></os>"),
	      LACKS("topology", "old", "currentMemory", "<vcpu>4"));
	refuses(DOMAIN(OS("")), &wish, EINVAL, "boots no <kernel>");
	refuses(DOMAIN(""), &wish, EINVAL, "boots no <kernel>");
}

static void test_text_stays_text(void)
{
	check(DOMAIN("<title>&lt;a&gt; &amp; <![CDATA[<b>]]></title><!-- <devices> -->"), &plain,
	      HAS("<title>&lt;a&gt; &amp; &lt;b&gt;</title>"), LACKS("<b>", "<!--"));
	check(DEVICES("<x y='&quot;&apos;&lt;'/>"), &plain, HAS("<x y='&quot;&apos;&lt;'/>"),
	      LACKS("y='\""));
}

static void test_what_is_no_template(void)
{
	GString *deep = g_string_new("<domain><vcpu>1</vcpu>");

	refuses("", &plain, EBADMSG, "");
	refuses("<network/>", &plain, EBADMSG, "not a <domain>");
	refuses("<domain>", &plain, EBADMSG, "");
	refuses("<domain><vcpu>0x</vcpu></domain>", &plain, EBADMSG, "number");
	refuses(DEVICES("<shmem/>"), &plain, EBADMSG, "name");
	refuses(DOMAIN("<os><type arch='aarch64'/></os>"), &plain, ENOTSUP, "aarch64");
	refuses(DOMAIN("<os><type machine='microvm'/></os>"), &plain, ENOTSUP, "no PCI bus");
	for (int i = 0; i < 100; i++)
		g_string_append(deep, "<a>");
	refuses(deep->str, &plain, EBADMSG, "too deeply");
	g_string_free(deep, TRUE);
}

static void test_how_many_vcpus(void)
{
	uint32_t cpus = 0;

	g_assert_cmpint(rs_template_cpus(DOMAIN(""), &cpus, NULL), ==, 0);
	g_assert_cmpuint(cpus, ==, 4);
	g_assert_cmpint(rs_template_cpus("<domain/>", &cpus, NULL), ==, -EBADMSG);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/template/names", test_it_gets_names_of_its_own);
	g_test_add_func("/template/ends", test_it_ends_with_its_guest);
	g_test_add_func("/template/disks", test_its_disks_are_not_written);
	g_test_add_func("/template/firmware", test_its_firmware_leaves_nothing);
	g_test_add_func("/template/consoles", test_its_consoles_are_ours);
	g_test_add_func("/template/device", test_it_has_one_device_for_traces);
	g_test_add_func("/template/options", test_options_replace_what_it_says);
	g_test_add_func("/template/text", test_text_stays_text);
	g_test_add_func("/template/none", test_what_is_no_template);
	g_test_add_func("/template/cpus", test_how_many_vcpus);
	return g_test_run();
}
