/* SPDX-License-Identifier: MIT */
/*
 * Slices between two events of a task: "BEGIN..END", each a glob of events. A timeline holds their
 * records, which are taken step by step. Slices that overlap lie below each other, and those of one
 * task are nested: an end ends the latest slice of its task that is open. The idle tasks of vCPUs
 * are tasks of their own. An end without a begin is passed over, and a slice without an end lasts.
 *
 * What is deeper than RS_VIEWER_PAIR_ROWS shares the last row.
 *
 * Threads: any, under the lock of the timeline. Trust: records may be anything; what is open at
 * once is bounded.
 */
#ifndef RS_VIEWER_PAIRS_H
#define RS_VIEWER_PAIRS_H

#include "timeline/rs-trace-timeline.h"

G_BEGIN_DECLS

#define RS_VIEWER_PAIR_ROWS 64u
#define RS_VIEWER_PAIR_OPEN 65536u /* slices at once */

typedef struct _RsViewerPairs RsViewerPairs;

/* Splits "BEGIN..END". FALSE: it is not of that form. */
gboolean rs_viewer_pairs_split(const char *text, char **begin, char **end);

/* Keeps a reference to `timeline`. NULL: the text is not of that form. */
RsViewerPairs *rs_viewer_pairs_new(RsTraceTimeline *timeline, const char *text);
RsViewerPairs *rs_viewer_pairs_ref(RsViewerPairs *pairs);
/* NULL is accepted. */
void rs_viewer_pairs_unref(RsViewerPairs *pairs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RsViewerPairs, rs_viewer_pairs_unref)

/*
 * Takes up to `n` more rows of the timeline, which is locked, and returns how many. What may still
 * change its place is left, unless the timeline is `complete`.
 */
guint rs_viewer_pairs_step(RsViewerPairs *pairs, guint n, gboolean complete);

guint rs_viewer_pairs_n_rows(const RsViewerPairs *pairs);
/* Spans: slices have tags other than 0. */
const RsTraceSeries *rs_viewer_pairs_row(const RsViewerPairs *pairs, guint row);
/* Slices that have begun, and ends for which there was no begin. */
guint64 rs_viewer_pairs_count(const RsViewerPairs *pairs);
guint64 rs_viewer_pairs_unmatched(const RsViewerPairs *pairs);
/* Slices that share the last row with one that was open there. */
guint64 rs_viewer_pairs_shared(const RsViewerPairs *pairs);

typedef struct {
	guint64 from, until;               /* until G_MAXUINT64: it has not ended */
	const RsTraceTimelineClass *begin; /* the event it begins with; NULL: not known */
} RsViewerSlice;

/* What lies in that row at that moment. FALSE: nothing. */
gboolean rs_viewer_pairs_at(RsViewerPairs *pairs, guint row, guint64 ns, RsViewerSlice *slice);

G_END_DECLS

#endif
