/* SPDX-License-Identifier: MIT */
/*
 * Rows that are looked for among records. A row is known by its ring, its time in the timeline, its
 * class, and how many of that kind came before it. One thread at a time.
 */
#ifndef RS_TRACE_WANTED_PRIVATE_H
#define RS_TRACE_WANTED_PRIVATE_H

#include "document/rs-trace-row.h"
#include "filter/rs-trace-selection.h"
#include "rs-trace-heads-private.h"
#include "rs-trace-reader.h"
#include "timeline/rs-trace-timeline.h"

G_BEGIN_DECLS

typedef struct _RsTraceWanted RsTraceWanted;

/*
 * Locks the timeline. `selection`: what made it, which is taken over; NULL: it has all records.
 */
RsTraceWanted *rs_trace_wanted_new(const RsTraceTimeline *timeline, RsTraceSelection *selection,
				   const RsTraceTimelineRow *rows, guint n, gboolean with_details);
void rs_trace_wanted_free(RsTraceWanted *wanted);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsTraceWanted, rs_trace_wanted_free)

/* The time of the next row that was not found. FALSE: there is none. */
gboolean rs_trace_wanted_next(RsTraceWanted *wanted, guint64 *ns);
/* All were found. */
gboolean rs_trace_wanted_is_done(const RsTraceWanted *wanted);
/* The time of the last row. */
guint64 rs_trace_wanted_last(const RsTraceWanted *wanted);
/* Records come anew, from that time on: all that were not found are counted anew. */
void rs_trace_wanted_begin(RsTraceWanted *wanted);
/* The record that the reader handed out, and what its ring has by now. */
void rs_trace_wanted_take(RsTraceWanted *wanted, RsTraceReader *reader, const RsTraceRecord *record,
			  const RsTraceHead *head);
/* All records up to that time have come: rows before it will not be found. */
void rs_trace_wanted_pass(RsTraceWanted *wanted, guint64 ns);
/* Rows that were not found are to be looked for once more. FALSE: there are none. */
gboolean rs_trace_wanted_again(RsTraceWanted *wanted);
/* Of RsTraceRow, in the order in which they were asked for; NULL: not found. */
GPtrArray *rs_trace_wanted_end(RsTraceWanted *wanted);

G_END_DECLS

#endif
