/* SPDX-License-Identifier: MIT */
/* The kernel's events: probes come and go as the host asks. See kernel_event.h. */
#include "module.h"

#include "kernel_event.h"

#include <ringside/control.h>

extern struct rs_kernel_event __start_rs_kernel_events[], __stop_rs_kernel_events[];

#define each_kernel_event(e)                                                                       \
	for (struct rs_kernel_event *e = __start_rs_kernel_events; e < __stop_rs_kernel_events; e++)

static void take_tracepoint(struct tracepoint *tracepoint, void *data)
{
	each_kernel_event(e) if (!strcmp(e->tracepoint, tracepoint->name)) e->found = tracepoint;
}

void rs_kernel_events_find(void)
{
	for_each_kernel_tracepoint(take_tracepoint, NULL);
	each_kernel_event(e) if (!e->found)
		pr_info("this kernel has no tracepoint %s\n", e->tracepoint);
}

/* Bits of rs_event_state.called that count callbacks. */
#define CALLED 0xffffu

static bool is_wanted(const struct rs_event *event)
{
	return rs_event_control(event) & RS_EVENT_ENABLED || rs_load(&event->state.called) & CALLED;
}

/* True: a probe that is unregistered may still run. */
static bool set(struct rs_kernel_event *e, bool on)
{
	int err;

	if (!e->found || e->on == on)
		return false;
	if (on)
		err = tracepoint_probe_register(e->found, e->probe, NULL);
	else
		err = tracepoint_probe_unregister(e->found, e->probe, NULL);
	if (err)
		pr_warn("%s: probe cannot be %s: %d\n", e->tracepoint,
			on ? "registered" : "unregistered", err);
	else
		e->on = on;
	return !on;
}

void rs_kernel_events_follow(void)
{
	/* Of the last look; rs_event_generation says when a control word may have changed. */
	static u32 generation, changes;
	static bool looked;
	u32 now = rs_load_acquire(rs_load(&rs_event_generation));
	u32 here = rs_load_acquire(&rs_event_changes);

	if (looked && now == generation && here == changes)
		return;
	looked = true;
	generation = now;
	changes = here;
	each_kernel_event(e) set(e, is_wanted(e->event));
}

void rs_kernel_events_stop(void)
{
	bool any = false;

	each_kernel_event(e) any |= set(e, false);
	if (any)
		tracepoint_synchronize_unregister();
}
