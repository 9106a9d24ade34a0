/* SPDX-License-Identifier: MIT */
/*
 * A domain's XML of arbitrary bytes. What it says is bounded, whatever stands there. What is made
 * of it as a template is XML again, with our names and our device alone.
 */
#include "libvirt/domain_xml.h"
#include "libvirt/template.h"
#include "seed.h"

#include <stdlib.h>
#include <string.h>

#define FULL                                                                                       \
	"<domain type='kvm'><vcpu current='1'>4</vcpu><os><type arch='x86_64' "                    \
	"machine='q35'>hvm</type></os><devices><controller type='pci' index='0' "                  \
	"model='pcie-root'/><controller type='pci' index='1' model='pcie-root-port'><alias "       \
	"name='pci.1'/><address type='pci' domain='0x0000' bus='0x00' slot='0x01' "                \
	"function='0x0'/></controller><shmem name='ringside-a'><model "                            \
	"type='ivshmem-plain'/><size unit='M'>2</size><alias name='shmem0'/><address "             \
	"type='pci' bus='0x01' slot='0x00'/></shmem></devices></domain>"

static void rs_fuzz_seeds(void)
{
	static const char *const seeds[] = {
		FULL,
		"<domain><vcpu>1</vcpu><devices><shmem name='..'/></devices></domain>",
		"<domain><vcpu>1</vcpu><devices><shmem name='x'><size unit='GiB'> 1</size></shmem>",
		"<domain><vcpu>1</vcpu><devices><disk><address type='pci' slot='31'/></disk>",
		"<domain><vcpu>1</vcpu><os firmware='efi'><kernel/><loader stateless='yes'/></os>"
		"<devices><disk type='file'><source file='a'/><target bus='virtio'/></disk>"
		"<interface><mac/></interface><graphics port='1'/></devices></domain>",
		"<?xml version='1.0'?><!-- c --><domain><vcpu>&#49;</vcpu></domain>",
	};

	for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++)
		rs_fuzz_seed((const char[]){(char)('a' + i), 0}, seeds[i], strlen(seeds[i]));
}

static void check(const struct rs_domain_xml *xml)
{
	const struct rs_xml_bus *port = rs_domain_xml_empty_port(xml);

	if (!xml->cpus || xml->cpus > RS_XML_CPUS_MAX || !xml->type || !xml->arch || !xml->machine)
		abort();
	for (guint i = 0; i < xml->shmems->len; i++) {
		const struct rs_xml_shmem *shmem = xml->shmems->pdata[i];

		/* It becomes a file's name. */
		if (!*shmem->name || strchr(shmem->name, '/') || strlen(shmem->name) > 255 ||
		    shmem->size > 1ull << 40 || shmem->address.bus > 0xff)
			abort();
	}
	if ((port && port->index > 0xff) || rs_domain_xml_free_slot(xml) > 0x1e)
		abort();
	rs_domain_xml_is_express(xml);
	rs_domain_xml_ours(xml);
}

/* What is made of what was made is the same domain. */
static void check_made(const char *text, bool again)
{
	const struct rs_template_wish wish = {.name = "<n>",
					      .uuid = "u",
					      .memory_name = "ringside-u",
					      .memory_mib = 16,
					      .cpus = again ? 0 : 3};
	struct rs_domain_xml *xml = NULL;
	unsigned int ours = 0;
	char *out;

	if (rs_template_make(text, &wish, &out, NULL)) {
		if (again)
			abort();
		return;
	}
	if (rs_domain_xml_parse(out, &xml, NULL) || xml->cpus != 3)
		abort();
	for (guint i = 0; i < xml->shmems->len; i++) {
		const struct rs_xml_shmem *shmem = xml->shmems->pdata[i];

		ours += g_str_has_prefix(shmem->name, RS_SHMEM_PREFIX);
	}
	if (ours != 1 || strcmp(rs_domain_xml_ours(xml)->name, "ringside-u"))
		abort();
	rs_domain_xml_free(xml);
	if (!again)
		check_made(out, true);
	g_free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct rs_domain_xml *xml;
	struct rs_error err;

	memcpy(text, data, size);
	text[size] = '\0';
	if (!rs_domain_xml_parse(text, &xml, &err)) {
		check(xml);
		rs_domain_xml_free(xml);
	}
	check_made(text, false);
	free(text);
	return 0;
}
