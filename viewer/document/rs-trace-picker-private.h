/* SPDX-License-Identifier: MIT */
/*
 * A timeline of the records that match filters, found by a thread of its own with a reader of its
 * own. It goes on as long as the files grow. Calls here: the main thread.
 */
#ifndef RS_TRACE_PICKER_PRIVATE_H
#define RS_TRACE_PICKER_PRIVATE_H

#include "filter/rs-trace-selection.h"
#include "rs-trace-files-private.h"
#include "rs-trace-pulse-private.h"
#include "timeline/rs-trace-timeline.h"
#include "timeline/rs-trace-values.h"

G_BEGIN_DECLS

typedef struct _RsTracePicker RsTracePicker;

/*
 * `filters`: as rs_trace_wish_select() takes them. The search ends, too, when nobody else has the
 * timeline that it makes, after rs_trace_picker_begin(). NULL: RS_TRACE_ERROR_SELECTION, a filter
 * cannot be read.
 */
RsTracePicker *rs_trace_picker_new(const char *const *filters, RsTraceFiles *files,
				   RsTracePulse *pulse, GError **error);
/*
 * Before it begins: only records that match these filters as well, which can be read. NULL: no
 * more. And only those in whose line the text is; case does not matter in ASCII. NULL: whatever it
 * is.
 */
void rs_trace_picker_narrow(RsTracePicker *picker, const char *const *filters, const char *text);
/* Before it begins: it reads only while few others of the process do that wait as well. */
void rs_trace_picker_wait_turn(RsTracePicker *picker);
/*
 * Before it begins: what the field of that name has in records that match goes to `values`, to
 * which it keeps a reference. A record whose field is not there or is no number has none.
 */
void rs_trace_picker_read_values(RsTracePicker *picker, const char *field, RsTraceValues *values);
/*
 * After rs_trace_picker_narrow(): how many of the records that the filters leave have the ring and
 * time of a match and are before it. `index`: of the match in its ring. 0 too if a million matches
 * had to be told apart.
 */
guint64 rs_trace_picker_nth(RsTracePicker *picker, guint source, guint ring, guint64 index);
/* Begins the search. A new reference to its timeline. */
RsTraceTimeline *rs_trace_picker_begin(RsTracePicker *picker);
/* Ends the search, without waiting for its thread. NULL is accepted. */
void rs_trace_picker_free(RsTracePicker *picker);
/* Nobody else has its timeline. */
gboolean rs_trace_picker_is_alone(const RsTracePicker *picker);
/* A new selection of the same records. */
RsTraceSelection *rs_trace_picker_select(const RsTracePicker *picker);

/* The picker's. */
RsTraceTimeline *rs_trace_picker_timeline(const RsTracePicker *picker);
const char *const *rs_trace_picker_filters(const RsTracePicker *picker);
/* 0 to 1. */
double rs_trace_picker_progress(RsTracePicker *picker);
/*
 * Why nothing more matches, or nothing could, by what was read so far; the caller's. NULL: it does.
 * Of files that grow it may go away: a field that no event had comes with a later event.
 */
GError *rs_trace_picker_error(RsTracePicker *picker);

G_END_DECLS

#endif
