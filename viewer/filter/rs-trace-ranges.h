/* SPDX-License-Identifier: MIT */
/* Lists of numbers as a user writes them, such as 0-2,5. Any thread; a list does not change. */
#ifndef RS_TRACE_RANGES_H
#define RS_TRACE_RANGES_H

#include <glib.h>

G_BEGIN_DECLS

typedef struct _RsTraceRanges RsTraceRanges;

/*
 * Numbers and ranges with commas between them, each at most `max`. NULL: RS_TRACE_ERROR_SELECTION.
 */
RsTraceRanges *rs_trace_ranges_new(const char *text, guint32 max, GError **error);
/* Accepts NULL. */
void rs_trace_ranges_free(RsTraceRanges *ranges);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceRanges, rs_trace_ranges_free)

gboolean rs_trace_ranges_contain(const RsTraceRanges *ranges, guint32 number);

G_END_DECLS

#endif
