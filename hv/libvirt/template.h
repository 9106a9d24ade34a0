/* SPDX-License-Identifier: MIT */
/*
 * Makes the XML of one run's domain out of a template: any domain's XML. Domains of one template
 * run beside each other, and write to nothing that is somebody else's. Any thread. The text is not
 * trusted.
 *
 * What must be unique is replaced, or left to libvirt: name, UUID, MAC addresses, ports of
 * displays, paths of channels, the CID of vsock. Disks lose what was written when the domain ends:
 * libvirt lays a <transient/> file over each. Where the guest resets or panics, the domain ends. It
 * has one serial port, which leads nowhere until somebody takes it (qemu/adopt.h), and a device
 * for traces. All else stays as it is: host devices, shared folders and QEMU's arguments are the
 * user's.
 */
#ifndef RS_HV_LIBVIRT_TEMPLATE_H
#define RS_HV_LIBVIRT_TEMPLATE_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

/* libvirt's alias of the serial port's character device. */
#define RS_TEMPLATE_CONSOLE "charserial0"

struct rs_template_wish {
	const char *name, *uuid; /* of the domain */
	/* The device for traces: the name of its memory, and MiB, a power of two. */
	const char *memory_name;
	uint64_t memory_mib;
	/* In place of the template's own: */
	uint32_t cpus;      /* 0: its own */
	uint64_t memory;    /* bytes, in whole KiB; 0: its own */
	const char *append; /* of the kernel that it boots directly; NULL: its own */
	bool keep_crashed;  /* a guest that resets or panics stays, paused */
};

/*
 * *out is to be freed by g_free(). -EBADMSG: it is no domain's XML, or its parts contradict each
 * other. -ENOTSUP: such a domain would leave something behind, or cannot be traced; the message
 * says why.
 */
int rs_template_make(const char *text, const struct rs_template_wish *wish, char **out,
		     struct rs_error *err);

/* How many vCPUs its domain will have. Errors: as rs_domain_xml_parse(). */
int rs_template_cpus(const char *text, uint32_t *out, struct rs_error *err);

#endif
