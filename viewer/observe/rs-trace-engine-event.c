/* SPDX-License-Identifier: MIT */
#include "rs-trace-engine-event.h"

#include <string.h>

#define SIGNALS 5u /* kinds of them */

static const char *const names[RS_UTRACE_EVENTS] = {
	"quiesce",     "reap",          "clone",        "exec",   "exit",
	"death",       "syscall_entry", "syscall_exit", "signal", "signal_ign",
	"signal_stop", "signal_term",   "signal_core",  "jctl",
};

const char *rs_trace_engine_event_name(guint event)
{
	return event < RS_UTRACE_EVENTS ? names[event] : NULL;
}

gboolean rs_trace_engine_event_is_signal(guint event)
{
	return event >= RS_UTRACE_EVENT_SIGNAL && event < RS_UTRACE_EVENT_SIGNAL + SIGNALS;
}

guint32 rs_trace_engine_event_mask(const char *name)
{
	if (!strcmp(name, "syscall"))
		return RS_UTRACE_EVENT_SYSCALL;
	if (!strcmp(name, "signal_all"))
		return RS_UTRACE_EVENT_SIGNAL_ALL;
	for (guint i = 0; i < RS_UTRACE_EVENTS; i++)
		if (!strcmp(name, names[i]))
			return 1u << i;
	return 0;
}
