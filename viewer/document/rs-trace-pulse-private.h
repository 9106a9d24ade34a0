/* SPDX-License-Identifier: MIT */
/*
 * Tells the main loop that threads have something new, 20 times a second at most, however often
 * they say it.
 */
#ifndef RS_TRACE_PULSE_PRIVATE_H
#define RS_TRACE_PULSE_PRIVATE_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct _RsTracePulse RsTracePulse;

/* `func` is called by the main context that is the thread's default. */
RsTracePulse *rs_trace_pulse_new(void (*func)(gpointer data), gpointer data);
RsTracePulse *rs_trace_pulse_ref(RsTracePulse *pulse);
/* Any thread. NULL is accepted. */
void rs_trace_pulse_unref(RsTracePulse *pulse);
/* Any thread: there is something new. */
void rs_trace_pulse_beat(RsTracePulse *pulse);
/* On the main loop's thread: nothing is called any more. */
void rs_trace_pulse_stop(RsTracePulse *pulse);

G_END_DECLS

#endif
