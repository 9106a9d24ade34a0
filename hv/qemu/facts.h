/* SPDX-License-Identifier: MIT */
/*
 * What a QEMU that we have not started says about itself. Only hv/qemu. Thread: the monitor's.
 * Trust: the answers are hostile. Each member is checked for its type, and numbers for their range.
 */
#ifndef RS_HV_QEMU_FACTS_H
#define RS_HV_QEMU_FACTS_H

#include "qemu/qemu.h"
#include "target/monitor.h"

/* The label of the character device that our gdb stub has there. */
#define RS_QEMU_STUB "ringside-gdb"

struct rs_qemu_facts {
	enum rs_qemu_accel accel;
	uint32_t vcpus; /* that it may have, with those that can be plugged in */
	pid_t thread;   /* of a vCPU; 0: it names none */
	bool running;
	char *name;    /* the machine's; NULL: it has none */
	char *device;  /* of the trace regions, as people know it: its id, or its QOM path */
	char *memory;  /* path of its memory's file, as QEMU opened it */
	uint64_t size; /* of that memory, bytes */
	bool assigned; /* the guest has given it an address */
};

/*
 * `device`: id of the ivshmem device; NULL: the only one. Errors: -ENODEV there is none, or several
 * and none was named; -ENOTSUP its memory cannot be used, and why; -EPROTO an answer makes no
 * sense; others as rs_monitor_call().
 */
int rs_qemu_facts_find(struct rs_monitor *monitor, const char *device, struct rs_qemu_facts *out,
		       struct rs_error *err);
void rs_qemu_facts_clear(struct rs_qemu_facts *facts);

/* Whether a gdb stub is there that has RS_QEMU_STUB, and one of somebody else. */
int rs_qemu_facts_stub(struct rs_monitor *monitor, bool *ours, bool *other, struct rs_error *err);

/* A command of the monitor for people, and its answer, to be freed. -EREMOTEIO likewise. */
int rs_qemu_human(struct rs_monitor *monitor, const char *line, int timeout_ms, char **out,
		  struct rs_error *err);

#endif
