/* SPDX-License-Identifier: MIT */
/*
 * Reads rows of timelines from the files, on a thread of its own with a reader of its own. The
 * newest request comes first. Rows near each other are read without a seek in between.
 *
 * Calls here: the main thread.
 */
#ifndef RS_TRACE_FETCHER_PRIVATE_H
#define RS_TRACE_FETCHER_PRIVATE_H

#include "document/rs-trace-row.h"
#include "filter/rs-trace-selection.h"
#include "rs-trace-files-private.h"
#include "timeline/rs-trace-timeline.h"

G_BEGIN_DECLS

typedef struct _RsTraceFetcher RsTraceFetcher;

RsTraceFetcher *rs_trace_fetcher_new(RsTraceFiles *files);
/* Ends the thread, without waiting for it; requests fail. NULL is accepted. */
void rs_trace_fetcher_free(RsTraceFetcher *fetcher);

/*
 * `task` returns a GPtrArray of RsTraceRow in order of `rows`, NULL for those that cannot be read.
 * `selection`: what the timeline was made by; NULL: it has all records. Takes it and `task` over.
 */
void rs_trace_fetcher_read(RsTraceFetcher *fetcher, GTask *task, const RsTraceTimeline *timeline,
			   RsTraceSelection *selection, const RsTraceTimelineRow *rows, guint n,
			   gboolean with_details);

G_END_DECLS

#endif
