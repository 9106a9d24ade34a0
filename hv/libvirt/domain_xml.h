/* SPDX-License-Identifier: MIT */
/*
 * What a domain's XML says that matters here: its machine, its memory that is shared with the host,
 * and where on PCI there is room. Any thread. The text is not trusted: sizes and numbers are
 * bounded, and what is odd is an error.
 */
#ifndef RS_HV_LIBVIRT_DOMAIN_XML_H
#define RS_HV_LIBVIRT_DOMAIN_XML_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

/* The names of the devices that are ours begin so. */
#define RS_SHMEM_PREFIX "ringside-"

/* The role of a device whose memory goes along when its domain is saved or migrated. */
#define RS_XML_MASTER "master"

#define RS_XML_CPUS_MAX 65536u
#define RS_XML_DEVICES_MAX 4096u /* of each kind */

struct rs_pci_address {
	bool known;
	uint32_t domain, bus, slot, function;
};

/* An ivshmem device of any name. */
struct rs_xml_shmem {
	char *name;    /* of the memory: /dev/shm/NAME */
	char *model;   /* "ivshmem-plain" …; NULL: none */
	char *role;    /* NULL: none */
	char *alias;   /* of the device in QEMU; NULL: unknown */
	uint64_t size; /* bytes; 0: not given */
	struct rs_pci_address address;
};

/* A PCI bus: its number in the XML, and what it is. */
struct rs_xml_bus {
	uint32_t index;
	char *model; /* "pci-root", "pcie-root-port" … */
	char *alias; /* NULL: unknown */
};

struct rs_domain_xml {
	char *type, *arch, *machine; /* "kvm", "x86_64", "pc-q35-7.2"; "" if not given */
	uint32_t cpus;               /* that it can have */
	bool acpi;                   /* without it, pc takes no devices while it runs */
	GPtrArray *shmems;           /* of struct rs_xml_shmem */
	GPtrArray *buses;            /* of struct rs_xml_bus */
	GArray *taken;               /* of struct rs_pci_address */
};

/* -EBADMSG: it is no XML of a domain. */
int rs_domain_xml_parse(const char *text, struct rs_domain_xml **out, struct rs_error *err);
void rs_domain_xml_free(struct rs_domain_xml *xml);

/* The first device whose memory is named as ours is; NULL: none. */
const struct rs_xml_shmem *rs_domain_xml_ours(const struct rs_domain_xml *xml);
/* The first pcie-root-port in which there is nothing; NULL: none. */
const struct rs_xml_bus *rs_domain_xml_empty_port(const struct rs_domain_xml *xml);
/* Whether its buses are those of PCI Express: nothing can be plugged into its root then. */
bool rs_domain_xml_is_express(const struct rs_domain_xml *xml);
/* A free slot of bus 0, from above; 0: none. */
uint32_t rs_domain_xml_free_slot(const struct rs_domain_xml *xml);

#endif
