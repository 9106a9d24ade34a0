/* SPDX-License-Identifier: MIT */
/*
 * Turns of who reads a whole trace for a lane: a view may ask for many lanes at once. So many have
 * one at a time in the process; the others wait.
 *
 * Threads: any but the main one, as it waits.
 */
#ifndef RS_TRACE_TURN_PRIVATE_H
#define RS_TRACE_TURN_PRIVATE_H

#include <glib.h>

G_BEGIN_DECLS

#define RS_TRACE_TURNS 2u

/* Whether a turn is no longer wanted. It is asked some ten times a second. */
typedef gboolean (*RsTraceTurnFunc)(gconstpointer data);

/* FALSE: it is no longer wanted. TRUE: rs_trace_turn_end() ends it. */
gboolean rs_trace_turn_begin(RsTraceTurnFunc is_over, gconstpointer data);
void rs_trace_turn_end(void);

G_END_DECLS

#endif
