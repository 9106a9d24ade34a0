/* SPDX-License-Identifier: MIT */
/*
 * Times and numbers as people read them: moments of a trace, how long something took, and how many
 * there are. All parts of a window write them by these functions, so that they look the same in
 * each.
 *
 * Any thread. Any number is safe. Texts are to be freed.
 */
#ifndef RS_VIEWER_TIME_H
#define RS_VIEWER_TIME_H

#include <glib.h>

G_BEGIN_DECLS

typedef enum {
	RS_VIEWER_TIME_SECONDS, /* since the trace's time 0: "12.345678901" */
	RS_VIEWER_TIME_WALL,    /* of the day, where this program runs: "14:03:07.345678901" */
} RsViewerTimeStyle;

/*
 * A moment. `wall`: ns since 1970 of the trace's time 0, as rs_trace_document_wall_time() has it.
 * If that is 0, or out of the calendar, the style is SECONDS.
 */
char *rs_viewer_time_moment(guint64 ns, RsViewerTimeStyle style, guint64 wall);
/* The day too: "2026-11-24 14:03:07.345678901 +0100". NULL: it is not known. */
char *rs_viewer_time_date(guint64 ns, guint64 wall);
/*
 * How long: "0 ns", "12.345 µs", "1.500 ms", "2.000 s", "3 min 05.250 s", "27 h 03 min 05 s".
 * Digits that are not shown are cut, so that nothing looks longer than it was.
 */
char *rs_viewer_time_duration(guint64 ns);
/* From one moment to another: likewise, with "+" or "−" before it. */
char *rs_viewer_time_difference(guint64 from, guint64 until);
/* How many: "49,770", in groups of three digits, as the locale has them, or else with commas. */
char *rs_viewer_number(guint64 n);

G_END_DECLS

#endif
