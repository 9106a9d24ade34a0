/* SPDX-License-Identifier: MIT */
/*
 * Our own VMM: a rs_target on KVM. It boots a PVH ELF kernel on 1..RS_MAX_CPUS vCPUs. Each vCPU is
 * a thread of this process.
 *
 * The guest has:
 *   - RAM at [0, memory);
 *   - the trace regions at RS_VMM_REGION_GPA, with what the host writes read-only;
 *   - KVM's local APIC, I/O APIC and PIT; APIC ids are 0..vcpus-1, INIT/SIPI starts other CPUs;
 *   - the transmitter of a 16550 at port 0x3f8;
 *   - the request and doorbell ports of <ringside/hypercall.h>, and the same two as MMIO;
 *   - the reset ports 0x64 and 0xcf9.
 * All other ports and addresses read as ones. The guest's TSC is the host's if KVM supports it.
 *
 * Threads: as in target/target.h. The session's context is the thread-default context of the caller
 * of rs_vmm_create. A vCPU that waits for the session's answer, or for the console's reader, counts
 * as paused.
 */
#ifndef RS_HV_VMM_H
#define RS_HV_VMM_H

#include "target/target.h"

/* Guest-physical address of the trace regions: above all RAM and every device. */
#define RS_VMM_REGION_GPA 0x100000000ull

#define RS_VMM_MIN_MEMORY (1ull << 20)
#define RS_VMM_MAX_MEMORY (3ull << 30) /* the devices begin at 0xd0000000 */
#define RS_VMM_MAX_CMDLINE 8191u       /* bytes, with the word that names the region */

/* How text is written. */
enum rs_vmm_way {
	RS_VMM_ANY,        /* as the CPU and the agent allow; the others are for tests. Also, if
			    * RINGSIDE_GUEST_TEXT=stop is in our environment, */
	RS_VMM_STOP,       /* never while the guest runs */
	RS_VMM_BREAKPOINT, /* while it runs, a breakpoint first, if the agent allows that */
	RS_VMM_WORD,       /* while it runs, the word that holds a patch, whatever the CPU */
};

struct rs_vmm_config {
	const char *name;    /* for messages and threads; NULL: "guest" */
	const char *kernel;  /* path */
	const char *initrd;  /* path; may be NULL. Given to the guest as PVH module 0 */
	const char *cmdline; /* may be NULL. `ringside=0xGPA,0xSIZE` is put before it */
	uint64_t memory;     /* bytes, page multiple, RS_VMM_MIN_MEMORY..MAX */
	uint32_t vcpus;      /* 1..RS_MAX_CPUS */

	/* Memory of the trace regions, laid out (<ringside/directory.h>); -1: none. Borrowed. */
	int regions_fd;

	enum rs_vmm_way way;

	int serial_fd; /* where the serial console goes, borrowed; -1: nowhere */
};

/* 0 if /dev/kvm can be used here. Otherwise the error that rs_vmm_create would return. */
int rs_vmm_probe(struct rs_error *err);

/*
 * Creates the machine and loads the kernel. Copies strings. The caller sets (*out)->events, then
 * calls start. -EINVAL: a number is out of its range; -EPROTO: the trace regions are not laid out;
 * -ENOEXEC, -EINVAL, -ERANGE: the kernel (see vmm/elf.h); others are errors of /dev/kvm or the
 * system.
 */
int rs_vmm_create(const struct rs_vmm_config *config, struct rs_target **out, struct rs_error *err);

#endif
