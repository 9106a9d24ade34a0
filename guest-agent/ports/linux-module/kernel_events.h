/* SPDX-License-Identifier: MIT */
/*
 * Events of the kernel's own tracepoints. They are made from the kernel's trace/events/ headers
 * (kernel_stages.h), so they have the system, name and fields that ftrace shows, whichever kernel
 * the module is compiled for. A probe hangs on a tracepoint while its event is on.
 *
 * Thread: one task of the module calls all of these, and may sleep in them. Probes run wherever the
 * kernel's tracepoints do.
 */
#ifndef RS_KERNEL_EVENTS_H
#define RS_KERNEL_EVENTS_H

#include <ringside/agent.h>

struct tracepoint;

/* A field as the kernel's header describes it. */
struct rs_kernel_field {
	const char *name; /* NULL: the end of the list */
	const char *type; /* of the field, or of its elements */
	u16 offset;
	u16 size;
	u16 elem_size;
	u16 elem_count;
	u8 kind;  /* RS_KIND_* */
	u8 flags; /* RS_FIELD_* */
};

struct rs_kernel_event {
	struct rs_event *event;
	const char *system;
	const char *name; /* of the tracepoint, too */
	void *probe;
	const struct rs_kernel_field *(*fields)(void);
	const char *printed; /* whose notes tell how it is printed: kernel_print.h */
	u32 entry_size;      /* bytes of the record's fixed part */
	/* kernel_events.c's */
	struct tracepoint *tracepoint; /* NULL: this kernel has none of that name */
	struct rs_event_info *info;
	bool on; /* the probe is registered */
};

/* Finds the kernel's tracepoints, and describes the events of those that are there. 0 or -errno. */
int rs_kernel_events_find(void);
/*
 * While there is a region: registers the providers of the events, as rs_agent_register(). If there
 * is no room for the raw tracepoints (kernel_raw.h), they stay away.
 */
int rs_kernel_events_register(void);
void rs_kernel_events_unregister(void);
/* Registers and unregisters probes, as the control words ask for it. */
void rs_kernel_events_follow(void);
/* No probe is registered, nor on its way, once this returns. */
void rs_kernel_events_stop(void);
/* How many events are on: probe, site and all. Any task may ask, while the module is there. */
u32 rs_kernel_events_on(void);
/* Once they are not registered any more. */
void rs_kernel_events_free(void);

#endif
