/* SPDX-License-Identifier: MIT */
/*
 * An event of the kernel becomes one of ours: a row of a table. A subsystem's events are a header
 * events_SYSTEM.h with an RS_TRACE_EVENT(system, name, …) for each, as ftrace has them, and a file
 * events_SYSTEM.c:
 *
 *	#include "kernel_event.h"
 *	#define RS_CREATE_TRACE_POINTS
 *	#include "events_sched.h"
 *	#include <trace/events/sched.h>
 *
 *	RS_KERNEL_EVENT(sched, sched_process_exit, (void *data, struct task_struct *p),
 *			(p->comm, p->pid, p->prio))
 *
 * The first pair of brackets is the prototype of the kernel's tracepoint `name`, with `data` in
 * front. The compiler checks it. The second has the arguments of ours, trace_SYSTEM_NAME().
 *
 * A probe runs in the context of its tracepoint, which may be any, with preemption disabled. It
 * does not sleep, takes no lock, and reads only memory that cannot fault. It is registered while
 * its event is on (events.c).
 */
#ifndef RS_KERNEL_EVENT_H
#define RS_KERNEL_EVENT_H

/* The tracepoint has done that. */
#define RS_PREEMPTION_IS_OFF

#include <linux/tracepoint.h>

#include <ringside/event.h>

struct rs_kernel_event {
	const char *tracepoint;
	struct rs_event *event;
	void *probe;
	struct tracepoint *found; /* NULL: this kernel has none of that name */
	bool on;                  /* the probe is registered */
};

#define RS_KERNEL_EVENT(system, name, proto, args)                                                 \
	static void rs_probe_##name proto                                                          \
	{                                                                                          \
		trace_##system##_##name args;                                                      \
	}                                                                                          \
	RS_KERNEL_EVENT_PROBE(system, name)

/* The same where the file has written the probe, rs_probe_NAME(), itself. */
#define RS_KERNEL_EVENT_PROBE(system, name)                                                        \
	static inline void rs_check_##name(void)                                                   \
	{                                                                                          \
		check_trace_callback_type_##name(rs_probe_##name);                                 \
	}                                                                                          \
	static struct rs_kernel_event rs_kernel_event_##name                                       \
		__attribute__((section("rs_kernel_events"), used, aligned(8))) = {                 \
			#name, &rs_event_##system##_##name, rs_probe_##name, NULL, false};

#endif
