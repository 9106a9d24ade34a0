/* SPDX-License-Identifier: MIT */
/*
 * Probes of the kernel's tracepoints that are no events of ours: what they see is looked at first.
 *
 * Thread: one task at a time, which may sleep.
 */
#ifndef RS_KERNEL_HOOK_H
#define RS_KERNEL_HOOK_H

#include <linux/types.h>

struct tracepoint;

struct rs_hook {
	const char *name; /* of the tracepoint */
	void *probe;      /* void (void *data, what the tracepoint passes ...) */
	/* hook.c's */
	struct tracepoint *tracepoint; /* NULL: this kernel has none of that name */
	bool on;                       /* the probe is registered */
};

void rs_hooks_find(struct rs_hook *hooks, u32 count);

/*
 * Registers the probe, or takes it down. It may still run then: whoever frees what it uses calls
 * tracepoint_synchronize_unregister() first. Returns whether it was taken down now.
 */
bool rs_hook_set(struct rs_hook *hook, bool on);

/* Whether any of them was taken down. */
bool rs_hooks_stop(struct rs_hook *hooks, u32 count);

#endif
