/* SPDX-License-Identifier: MIT */
/*
 * The scale of a ruler of time: round steps, from a nanosecond to years, and what is written at
 * them. Any thread.
 */
#ifndef RS_TRACE_TICKS_H
#define RS_TRACE_TICKS_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct {
	guint64 step;  /* between ticks that have a label, in ns; never 0 */
	guint64 minor; /* between all ticks: a divisor of `step`, never 0 */
} RsTraceTicks;

/* The closest ticks of which no more than `most` are in a stretch of `range` ns. */
RsTraceTicks rs_trace_ticks_of(guint64 range, guint most);
/* The first tick that is not before `ns`; G_MAXUINT64: there is none. */
guint64 rs_trace_ticks_first(guint64 step, guint64 ns);

/*
 * Seconds since time 0 with as many digits as ticks of `step` differ by: "12.345 678 s". From a
 * minute on "1:02.5", from an hour on "1:00:02". Digits are in groups of three. `step` 1: all of
 * them.
 */
char *rs_trace_ticks_label(guint64 ns, guint64 step);
/* A stretch of time in the unit that suits it: "12.3 µs", "1.000 001 s", "2:05:00". */
char *rs_trace_ticks_duration(guint64 ns);

G_END_DECLS

#endif
