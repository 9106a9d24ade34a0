/* SPDX-License-Identifier: MIT */
/*
 * Places in a trace as a user writes them: 12.5 is the time that lines of the trace show, +3 lies
 * three seconds after its first record, -3 three seconds before its last. A number is of seconds,
 * or has a unit: s, ms, us, ns. Lines show microseconds, rounded, so a time of seconds with up to
 * six digits after the point lies half a microsecond earlier: what is shown with it is not before
 * it. Any thread.
 */
#ifndef RS_TRACE_TIME_H
#define RS_TRACE_TIME_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
	RS_TRACE_TIME_NONE,
	RS_TRACE_TIME_AT,
	RS_TRACE_TIME_AFTER_FIRST,
	RS_TRACE_TIME_BEFORE_LAST,
} RsTraceTimeKind;

typedef struct {
	RsTraceTimeKind kind;
	guint64 ns;
} RsTraceTime;

/* `text` NULL: NONE. FALSE: RS_TRACE_ERROR_SELECTION; `out` is left alone. */
gboolean rs_trace_time_parse(const char *text, RsTraceTime *out, GError **error);
/* Where it lies in a trace with these first and last records. NONE is `none`. */
guint64 rs_trace_time_resolve(RsTraceTime time, guint64 first, guint64 last, guint64 none);

G_END_DECLS

#endif
