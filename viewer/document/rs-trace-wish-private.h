/* SPDX-License-Identifier: MIT */
/*
 * Filters of a window as a selection. They are those of docs/filters.md, and mean what somebody who
 * looks at a list expects: "GLOB: EXPR" leaves only events that match the glob, and a glob alone,
 * "sched:*" or "sched:*:", all of their records.
 *
 * Any thread; no state. Trust: the texts are a user's.
 */
#ifndef RS_TRACE_WISH_PRIVATE_H
#define RS_TRACE_WISH_PRIVATE_H

#include "filter/rs-trace-selection.h"
#include "rs-trace-files-private.h"

G_BEGIN_DECLS

/* As rs_trace_selection_new(). `filters` NULL or empty: all records. */
RsTraceSelection *rs_trace_wish_select(const char *const *filters, GError **error);
/*
 * Files that can be sought tell their events by their index. So a field that none of them has is
 * told before any record is looked at. FALSE: RS_TRACE_ERROR_SELECTION, nothing can match. What is
 * wrong with the files is told when they are read.
 */
gboolean rs_trace_wish_learn(RsTraceSelection *selection, RsTraceFiles *files,
			     GCancellable *cancellable, GError **error);
/*
 * A glob alone as a filter that a selection takes, to be freed. NULL: the text is no glob alone.
 */
char *rs_trace_wish_glob(const char *text);

G_END_DECLS

#endif
