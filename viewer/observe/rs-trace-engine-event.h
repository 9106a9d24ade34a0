/* SPDX-License-Identifier: MIT */
/*
 * The events at which an engine can stop a thread, by name. Their numbers are those of
 * ringside/engine.h. Any thread.
 */
#ifndef RS_TRACE_ENGINE_EVENT_H
#define RS_TRACE_ENGINE_EVENT_H

#include <glib.h>
#include <ringside/engine.h>

G_BEGIN_DECLS

/* "syscall_entry"; NULL: there is no such event. `event` may be any number of a guest. */
const char *rs_trace_engine_event_name(guint event);
gboolean rs_trace_engine_event_is_signal(guint event);
/*
 * The mask of the events that a name stands for, bit n for event n: "syscall_entry", or several:
 * "syscall", "signal_all". 0: there is no such event.
 */
guint32 rs_trace_engine_event_mask(const char *name);

G_END_DECLS

#endif
